"""The branches' door with real git behind it: what the forge names may never have come here."""

from pathlib import Path

import pytest

from bmad_autopilot.engine.delivery.real_lines import RealLines
from bmad_autopilot.github.git import Git
from tests.engine.autopilot.piloting import run_git

NOWHERE = "ab" * 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    run_git(tmp_path, "init", "--quiet", "--initial-branch=main")
    for name in ("one", "two"):
        who = ("-c", "user.name=O", "-c", "user.email=o@example.invalid")
        run_git(tmp_path, *who, "commit", "--quiet", "--allow-empty", "--message", name)
    return tmp_path


def lines(folder: Path) -> RealLines:
    return RealLines(Git(str(folder)), "origin", "board.yaml", lambda tree: tree, frozenset())


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
