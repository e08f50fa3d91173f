"""What must hold after a delivery, whatever happened on the way: judged by what the simulated GitHub has seen."""

from collections import Counter

from bmad_autopilot.github.forge import COPILOT, PullState
from bmad_autopilot.sim.github.records import GitHubEffect
from tests.real.delivery_bench import DeliveryBench

DISPUTED = "matter of taste"


def check_delivered(bench: DeliveryBench, epics: int, stories: int) -> None:
    check_pulls(bench, epics)
    check_threads(bench)
    check_merges(bench, epics)
    check_branches(bench, epics)
    check_base(bench, epics, stories)
    check_environments(bench)


def check_pulls(bench: DeliveryBench, epics: int) -> None:
    """One for each epic, and each merged."""
    opened = Counter(one.data["head_ref"] for one in bench.effects("open-pull"))
    assert opened == {f"feature/epic-{number}": 1 for number in range(1, epics + 1)}
    assert {pull.state for pull in bench.model.pulls.values()} == {PullState.MERGED}


def check_threads(bench: DeliveryBench) -> None:
    """One reply to each thread of Copilot's; we resolve only what a commit on the head has answered."""
    threads = {one.id: one for pull in bench.model.pulls.values() for one in pull.threads}
    assert all(one.comments[0].author.login == COPILOT for one in threads.values())
    assert Counter(one.data["thread"] for one in bench.effects("reply")) == dict.fromkeys(threads, 1)
    disputed = {name for name, one in threads.items() if DISPUTED in one.comments[0].body}
    resolved = {one.data["thread"]: one.data["head"] for one in bench.effects("resolve")}
    assert resolved.keys() == threads.keys() - disputed
    for name, head in resolved.items():
        reply = threads[name].comments[1].body
        commit = reply.removeprefix("Done in ").partition(".")[0]
        whole = bench.refs._try("rev-parse", commit)
        assert reply.startswith("Done in "), reply
        assert bench.refs.contains(head, whole)
        assert reply.count("@") == 0
    assert all(threads[name].comments[1].body.startswith("Left as it is") for name in disputed)


def check_merges(bench: DeliveryBench, epics: int) -> None:
    """Green, answered, approved for just this content, the base in it, and the tree that was tested."""
    merges = bench.effects("merge", by=None)
    assert sorted(one.data["number"] for one in merges) == list(range(1, epics + 1))
    for one in merges:
        assert one.by == "dev"
        found = {name: one.data[name] for name in ("rollup", "unresolved", "objections", "same_tree", "held_base")}
        assert found == {
            "rollup": "SUCCESS",
            "unresolved": 0,
            "objections": (),
            "same_tree": True,
            "held_base": True,
        }
        assert one.data["base_ref"] == "main"
        assert is_approved(bench, one), one


def is_approved(bench: DeliveryBench, merge: GitHubEffect) -> bool:
    """By a person, for this head or for one that differs from it by the base alone."""
    pull = bench.model.pulls[merge.data["number"]]
    for review in pull.reviews:
        if review.state == "APPROVED" and bench.refs.contains(pull.head, review.commit):
            since = bench.refs._git("log", "--first-parent", "--format=%s", f"{review.commit}..{pull.head}")
            if all(
                subject.startswith(("Take main into ", "Take feature/epic-1 into "))
                for subject in since.splitlines()
            ):
                return True
    return False


def check_branches(bench: DeliveryBench, epics: int) -> None:
    """Nothing was forced, and nothing is left there."""
    assert not [one for one in bench.effects("push", by=None) if one.data["forced"]]
    assert list(bench.refs.branches()) == ["main"]
    assert bench.git("branch", "--format=%(refname:short)").split() == ["main"]
    assert bench.git("status", "--porcelain") == ""


def check_base(bench: DeliveryBench, epics: int, stories: int) -> None:
    """All of it is done there, and each step is found again by its trailer."""
    main = bench.refs.head_of("main")
    board = bench.board_on(main)
    for number in range(1, epics + 1):
        assert f"  epic-{number}: done\n" in board
    assert board.count(": done\n") == epics * (stories + 1), board
    for one in bench.effects("merge", by=None):
        steps = bench.message(one.data["merged"])
        base = one.data["base"]
        ours = bench.refs._git(
            "log",
            "--format=%(trailers:key=Autopilot-Step,valueonly)",
            "--committer=bmad",
            f"{base}..{one.data['head']}",
        )
        wanted = {line for line in ours.splitlines() if line}
        assert len(wanted) >= stories
        assert all(f"Autopilot-Step: {step}\n" in f"{steps}\n" for step in wanted), (wanted, steps)


def check_environments(bench: DeliveryBench) -> None:
    """No agent had what opens the forge."""
    for environment in bench.environments():
        assert "simulated" not in environment.values()
        assert not environment.keys() & {"GH_TOKEN", "GITHUB_TOKEN", "SSH_AUTH_SOCK"}
        assert environment["GH_CONFIG_DIR"] != str(bench.folder / "gh")
        assert "fake-ssh" not in environment["GIT_SSH_COMMAND"]
