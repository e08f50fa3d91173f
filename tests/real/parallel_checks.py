"""What must hold after lanes were driven beside each other, however often somebody was killed on the way."""

import re
from collections import Counter

from bmad_autopilot.github.forge import PullState
from bmad_autopilot.sim.sample import story_keys
from tests.real.parallel_bench import ParallelBench

STEPS = 3  # calls of a story: create-story, dev, code-review


def check_flown(bench: ParallelBench, epics: int, stories: int) -> None:
    check_once(bench, epics)
    check_board(bench, epics, stories)
    check_commits(bench, epics, stories)
    check_left(bench)
    check_calls(bench, epics, stories)


def check_once(bench: ParallelBench, epics: int) -> None:
    """One pull request for each epic, merged once: green, approved, with the base in it, as it was tested."""
    opened = Counter(one.data["head_ref"] for one in bench.effects("open-pull"))
    assert opened == {f"feature/epic-{number}": 1 for number in range(1, epics + 1)}
    assert {pull.state for pull in bench.model.pulls.values()} == {PullState.MERGED}
    merges = bench.effects("merge", by=None)
    assert Counter(one.data["number"] for one in merges) == dict.fromkeys(range(1, epics + 1), 1)
    for one in merges:
        found = [one.data[name] for name in ("rollup", "unresolved", "same_tree", "held_base", "base_ref")]
        assert found == ["SUCCESS", 0, True, True, "main"], found
    assert not [one for one in bench.effects("push", by=None) if one.data["forced"]]


def check_board(bench: ParallelBench, epics: int, stories: int) -> None:
    """After each merge the base's board has exactly the merged epics done."""
    done = 0
    for one in bench.effects("merge", by=None):
        done += 1
        board = bench.board_on(one.data["merged"])
        assert board.count(": done\n") == done * (stories + 1), board
        assert len(re.findall(r"^  epic-\d+: done$", board, re.MULTILINE)) == done
    assert done == epics


def check_commits(bench: ParallelBench, epics: int, stories: int) -> None:
    """Each story's step is named by one commit of the base, once, and its code is there."""
    main = bench.refs.head_of("main")
    log = bench.refs._git("log", "--format=%(trailers:key=Autopilot-Step,valueonly)", main)
    steps = Counter(line for line in log.splitlines() if line and not line.startswith("base/"))
    assert set(steps.values()) == {1}, steps
    assert len(steps) >= epics * stories
    for key in story_keys(epics, stories):
        name = key.split("-", 2)[2].replace("-", "_")
        assert bench.refs.read(main, f"src/ledger/{name}.py") is not None, name


def check_left(bench: ParallelBench) -> None:
    assert list(bench.refs.branches()) == ["main"]
    assert bench.git("branch", "--format=%(refname:short)") == "main"
    assert bench.worktrees() == []
    assert bench.git("status", "--porcelain") == ""


def check_calls(bench: ParallelBench, epics: int, stories: int) -> None:
    """Each step of each story was called once: whoever was killed before found the agent at work, or what it had
    left. Killed between the note and the agent's start, the same call is noted again."""
    entries = bench.entries()
    runs = Counter(one.lane for one in entries if one.kind == "run")
    assert runs == {f"epic-{number}": 1 for number in range(1, epics + 1)}
    noted = {
        (*map(one.data.get, ("story", "step", "number", "attempt")),) for one in entries if one.kind == "call"
    }
    calls = Counter((story, step) for story, step, _, _ in noted)
    assert set(calls.values()) == {1}, [one for one in calls.items() if one[1] > 1]
    assert len(calls) == epics * stories * STEPS
    assert len(bench.environments()) == len(calls)  # one process for each
