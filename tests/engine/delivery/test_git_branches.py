"""The branches' door with real git behind it: what the forge names may never have come here."""

from pathlib import Path

import pytest

from bmad_autopilot.engine.delivery.git_branches import GitBranches
from bmad_autopilot.git.git import Git
from bmad_autopilot.git.history import AUTOPILOT_IDENTITY, GitIdentity
from tests.support.autopilot_runs import run_git

NOWHERE = "ab" * 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run_git(tmp_path, "init", "--quiet", "--initial-branch=main")
    for name in ("one", "two"):
        who = ("-c", "user.name=O", "-c", "user.email=o@example.invalid")
        run_git(tmp_path, *who, "commit", "--quiet", "--allow-empty", "--message", name)
    return tmp_path


def lines(folder: Path) -> GitBranches:
    return GitBranches(Git(str(folder)), "origin", "board.yaml", lambda tree: tree, frozenset())


def test_of_a_commit_that_never_came_here_nothing_is_known_and_nothing_breaks(folder: Path) -> None:
    """Somebody has updated the branch below on the forge, merged it there, and deleted it."""
    head = run_git(folder, "rev-parse", "HEAD")
    door = lines(folder)
    assert door.fork_point(head, NOWHERE) == ""
    assert not door.contains(NOWHERE, head)
    assert not door.contains(head, NOWHERE)


def test_what_is_here_is_told(folder: Path) -> None:
    head, before = run_git(folder, "rev-parse", "HEAD", "HEAD~1").split()
    door = lines(folder)
    assert door.fork_point(head, before) == before
    assert door.contains(head, before)
    assert not door.contains(before, head)


def board(status: str) -> str:
    return f"development_status:\n  1-1-a: {status}\n  1-2-b: backlog\n"


def set_row(folder: Path, start: str, status: str, who: GitIdentity) -> str:
    """In a commit that no branch holds."""
    run_git(folder, "switch", "--quiet", "--detach", start)
    (folder / "board.yaml").write_text(board(status))
    run_git(folder, "add", "board.yaml")
    named = ("-c", f"user.name={who.name}", "-c", f"user.email={who.email}")
    run_git(folder, *named, "commit", "--quiet", "--message", f"Set it to {status}")
    return run_git(folder, "rev-parse", "HEAD")


PERSON = GitIdentity("A Person", "person@example.invalid")


@pytest.mark.parametrize(("who", "stands"), [(PERSON, "ready-for-dev"), (AUTOPILOT_IDENTITY, "done")])
def test_what_a_person_set_on_the_base_stands_in_our_own_merges(
    folder: Path, who: GitIdentity, stands: str
) -> None:
    start = set_row(folder, "main", "review", AUTOPILOT_IDENTITY)
    head, other = set_row(folder, start, "done", AUTOPILOT_IDENTITY), set_row(folder, start, "ready-for-dev", who)
    taken = lines(folder).merge_commits(head, other, "", "epic-1/1", "Take the base in")
    assert taken.semantic == ("board.yaml",)
    assert run_git(folder, "show", f"{taken.sha}:board.yaml") == board(stands).rstrip()
