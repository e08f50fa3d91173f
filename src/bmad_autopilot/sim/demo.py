"""The demo's script: an epic from backlog to a merged pull request, with a kill, a question and a review."""

import os
from typing import NamedTuple

from ..agents.attempt import AttemptState, attempt_state, read_call_spec, read_result
from ..agents.shim import attempt_files
from ..agents.verdicts import read_verdict
from ..board.sprint_status import read_board
from ..core.errors import EXIT_HUMAN, AutopilotError
from ..core.statuses import DONE
from ..engine.delivery.git_branches import DELIVERED
from ..git.git import Git
from ..runs.layout import AttemptLocation, find_attempts, runs_folder
from .demo_stage import STORIES, DemoStage, wait_while_running
from .sample import BOARD, story_keys

# Checks after the demo, read from the project itself: the board, git and the records of the calls.

# 1-1 has one more dev and review call after changes were requested, 1-3 one more dev call after the answer.
CALLS = {
    "1-1": {"create-story": 1, "dev": 2, "code-review": 2},
    "1-2": {"create-story": 1, "dev": 1, "code-review": 1},
    "1-3": {"create-story": 1, "dev": 2, "code-review": 1},
    "epic-1.pr": {"fix-issues": 1},
}


BRANCH = f"{DELIVERED}feature/epic-1"


class DemoFacts(NamedTuple):
    stories: int
    commits: int
    calls: int
    dollars: float


def is_call_running(root: str, story: str, step: str) -> bool:
    """Whether an agent is running this step and has printed its first event."""
    for location in find_attempts(runs_folder(root)):
        if attempt_state(location.folder) is AttemptState.RUNNING and _has_events(location):
            spec = read_call_spec(location.folder)
            return (spec.story, spec.step) == (story, step)
    return False


def _has_events(location: AttemptLocation) -> bool:
    events = f"{location.folder}/{attempt_files.EVENTS}"
    return os.path.exists(events) and os.path.getsize(events) > 0


def check_demo(root: str, stories: int) -> DemoFacts:
    """Check the first epic; raises AutopilotError naming the first difference."""
    keys = story_keys(1, stories)
    _check_board(root, keys)
    calls, dollars = _check_calls(root)
    return DemoFacts(len(keys), _check_commits(root, keys), calls, dollars)


def _check_board(root: str, keys: list[str]) -> None:
    rows = read_board(os.path.join(root, BOARD)).rows
    for key in (*keys, "epic-1"):
        _require_equal(f"{key} on the board", rows[key].meaning, DONE)


def _check_commits(root: str, keys: list[str]) -> int:
    """The branch has one commit per story, one for the review round, one for the epic and one for the fix round.
    The base branch, here and on the remote, has them squashed into one."""
    git = Git(root)
    made = git.ask("log", "--format=%s", "--reverse", BRANCH, "--not", "main").text.splitlines()
    expected = [
        f"Story {keys[0]}: round 1, changes requested",
        *(f"Story {key}" for key in keys),
        "Close epic-1",
        "Mend what was found in the pull request of epic-1, round 1",
    ]
    _require_equal("the commits", made, expected)
    _require_equal(
        "the base branch", git.ask("log", "--format=%s", "main").text.splitlines()[0], "Epic 1: Accounts (#1)"
    )
    _require_equal("what was merged", git.ask("diff", "--name-only", "main", BRANCH).text, "")
    heads = git.ask("for-each-ref", "--format=%(objectname)", "refs/heads/main", "refs/remotes/origin/main")
    _require_equal("whether the remote has it", len(set(heads.text.splitlines())), 1)
    _require_equal("what is not committed", git.ask("status", "--porcelain").text, "")
    return len(made)


def _check_calls(root: str) -> tuple[int, float]:
    """Every call was made once, including the one whose supervisor was killed, and each has a cost."""
    found: dict[str, dict[str, int]] = {}
    dollars = 0.0
    locations = [
        location
        for location in find_attempts(runs_folder(root))
        if attempt_state(location.folder) is not AttemptState.NEW
    ]
    for location in locations:
        spec, result, verdict = (
            read_call_spec(location.folder),
            read_result(location.folder),
            read_verdict(location.folder),
        )
        _require_equal(f"the end of {location.name}", (result.by, result.exit) if result else None, ("exit", 0))
        _require_equal(f"whether {location.name} has a price", bool(verdict and verdict.spend.dollars), True)
        dollars += verdict.spend.dollars or 0.0 if verdict else 0.0
        steps = found.setdefault("-".join(spec.story.split("-")[:2]), {})
        steps[spec.step] = steps.get(spec.step, 0) + 1
    _require_equal("the agent calls", found, CALLS)
    return len(locations), dollars


def _require_equal(what: str, found: object, expected: object) -> None:
    if found != expected:
        raise AutopilotError(
            f"the demo went wrong: {what}", found=str(found) or "(nothing)", expected=str(expected)
        )


AUTOPILOT, REHEARSE = ("autopilot", "1"), ("--rehearse",)


def run_demo(stage: DemoStage) -> None:
    _show_project(stage)
    _run_and_kill(stage, story_keys(1, STORIES)[1])
    _adopt(stage)
    _answer(stage)
    _show_result(stage)
    _show_totals(stage, check_demo(stage.root, STORIES))


def _show_project(stage: DemoStage) -> None:
    stage.introduce(
        "A small project planned with BMAD, made on the spot: two epics of three stories each, nothing built yet. "
        "Git, files and processes are real. The agent is a script: it costs nothing (its prices are made up). "
        "GitHub is played too, with its CI, Copilot and a maintainer: nothing leaves this machine."
    )
    stage.introduce("1. Where are we, and what comes next?")
    stage.bmad("status")


def _run_and_kill(stage: DemoStage, second: str) -> None:
    stage.introduce(
        "2. Take epic 1 to a merged pull request. Each story is written down (create-story), built (dev), put to "
        "the project's own tests (checks) and reviewed by a fresh agent (code-review). The reviewer of 1-1 will "
        "ask for changes: a second round."
    )
    run = stage.start_bmad(*AUTOPILOT, hidden=REHEARSE)
    wait_while_running(run, lambda: is_call_running(stage.root, second, "dev"), f"the dev call of {second}")
    stage.kill(run, "3. Now the run is killed, while an agent is at work on 1-2.")


def _adopt(stage: DemoStage) -> None:
    stage.say(
        "That agent works on. The same command takes its call over, so dev is not started a second time. Later "
        "the agent of 1-3 has a question, and the run waits for you."
    )
    stage.bmad(*AUTOPILOT, exit_code=EXIT_HUMAN, hidden=REHEARSE)


def _answer(stage: DemoStage) -> None:
    stage.introduce(
        "4. You answer with the second option, and it goes on where it stood. Then the epic is delivered: its "
        "branch is pushed, a pull request opened. A check fails there, and Copilot has a point. An agent mends "
        "it, the review thread is answered and resolved, the maintainer approves what is green, and it is merged "
        "just as it was tested."
    )
    stage.bmad("answer", "1-3", "2")
    stage.bmad(*AUTOPILOT, hidden=REHEARSE)


def _show_result(stage: DemoStage) -> None:
    stage.introduce(
        "5. Where are we now, and what has the base branch got? One commit, with the name of every step in it."
    )
    stage.bmad("status")
    stage.git("log", "--max-count=1")


def _show_totals(stage: DemoStage, facts: DemoFacts) -> None:
    stage.say(
        f"Checked on the board, in git and in the record of each call: {facts.stories} stories done, one pull "
        f"request merged from {facts.commits} commits, {facts.calls} agent calls and none of them twice, "
        f"${facts.dollars:.2f} in made-up prices."
    )
