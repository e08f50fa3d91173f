"""Branches in memory do what real git does behind the same door."""

from random import Random

import pytest

from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.sim.faults import CrashPlan
from bmad_autopilot.sim.github.records import GitHubFault, GitHubFaults, SimRepository
from bmad_autopilot.sim.memory.branches import MemoryBranches
from bmad_autopilot.sim.memory.git import board_rows, with_row_status
from bmad_autopilot.sim.memory.world import Hub, MemoryWorld
from bmad_autopilot.sim.sample import BOARD, sample_files

BRANCH = "feature/epic-1"


class Bench:
    def __init__(self) -> None:
        self.world = MemoryWorld(sample_files(1, 2), Random(1), CrashPlan(Random(1)))
        self.faults = GitHubFaults()
        self.hub = Hub(self.world, Random(1), self.faults, SimRepository())
        self.lines = MemoryBranches(self.world, self.hub, "run-1", "epic-1.pr-1", ())
        self.start = self.lines.head("main")
        self.lines.switch(BRANCH, self.start)

    def commit(self, path: str, data: bytes) -> str:
        self.world.git.write(path, data)
        return self.world.git.commit_paths([path], f"Change {path}", "")

    def theirs(self, edits: dict[str, bytes | None], branch: str = "main") -> str:
        head = self.hub.refs.head_of(branch)
        sha = self.hub.refs.commit(head, edits, "Theirs", "bob")
        self.hub.refs.set(branch, sha)
        return sha


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_a_switch_brings_the_files_and_refuses_to_lose_any(bench: Bench) -> None:
    head = bench.commit("new.py", b"new\n")
    bench.lines.switch("main", "")
    assert "new.py" not in bench.world.git.files
    assert (bench.lines.head(BRANCH), bench.lines.checkout_problem("main", bench.start)) == (head, "")
    bench.world.git.write("half.py", b"half\n")
    assert "half.py" in bench.lines.checkout_problem("main", bench.start)
    with pytest.raises(ConflictError):
        bench.lines.check_out(BRANCH)
    assert bench.world.git.branch == "main"


def test_a_push_goes_forward_from_what_it_expects_and_nowhere_else(bench: Bench) -> None:
    head = bench.commit("new.py", b"new\n")
    bench.lines.push(BRANCH, head, "")
    assert bench.lines.remote_heads(BRANCH) == {BRANCH: head}
    bench.lines.push(BRANCH, head, head)
    theirs = bench.theirs({"theirs.py": b"theirs\n"}, BRANCH)
    further = bench.commit("more.py", b"more\n")
    with pytest.raises(ForgeError) as moved:
        bench.lines.push(BRANCH, further, head)
    assert moved.value.kind is ForgeErrorKind.REFUSED
    with pytest.raises(ConflictError):
        bench.lines.push(BRANCH, further, theirs)
    assert bench.lines.remote_heads(BRANCH) == {BRANCH: theirs}


@pytest.mark.parametrize(
    ("fault", "is_there"), [(GitHubFault.LOST, True), (GitHubFault.TIMEOUT, False), (GitHubFault.LIMIT, False)]
)
def test_a_push_whose_answer_is_lost_has_happened(bench: Bench, fault: GitHubFault, is_there: bool) -> None:
    bench.faults.script("push", [fault])
    with pytest.raises(ForgeError):
        bench.lines.push(BRANCH, bench.start, "")
    assert bool(bench.hub.refs.head_of(BRANCH)) is is_there


def test_boards_are_merged_by_their_rows(bench: Bench) -> None:
    board = bench.world.board
    first, second = [key for key, row in board_rows(board).items() if key.startswith("1-")]
    ours = bench.commit(BOARD, with_row_status(board, first, "done"))
    theirs = bench.theirs({BOARD: with_row_status(board, second, "review"), "b.txt": b"b\n"})
    taken = bench.lines.merge_commits(ours, theirs, "", theirs, "Take main in")
    rows = board_rows(bench.hub.refs.files(taken.sha)[BOARD])
    assert (rows[first].meaning, rows[second].meaning, taken.semantic) == ("done", "review", (BOARD,))
    assert bench.lines.contains(taken.sha, ours)
    assert bench.lines.contains(taken.sha, theirs)


def test_what_a_squash_hides_is_no_conflict(bench: Bench) -> None:
    """An epic on another one whose commits came into the base as one."""
    below = bench.commit("shared.py", b"one\n")
    own = bench.commit("shared.py", b"one\ntwo\n")
    squashed = bench.hub.refs.squash(bench.start, below, "Epic 0").sha
    assert bench.lines.merge_commits(own, squashed, "", squashed, "Take main in").conflicts == ("shared.py",)
    taken = bench.lines.merge_commits(own, squashed, below, squashed, "Take main in")
    assert bench.hub.refs.files(taken.sha)["shared.py"] == b"one\ntwo\n"


def test_a_branch_that_is_over_is_left_for_the_base(bench: Bench) -> None:
    bench.commit("new.py", b"new\n")
    there = bench.theirs({"theirs.py": b"theirs\n"})
    bench.lines.delete_merged(BRANCH, "main")
    assert (bench.lines.head(BRANCH), bench.lines.checkout_problem("main", there)) == ("", "")
