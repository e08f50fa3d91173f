"""Worktrees with the real parts: the checks' way to run a command, the agents' lock."""

import os
from pathlib import Path

import pytest

from bmad_autopilot.agents import worktree_lock
from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.engine.worktrees import worktrees_of
from bmad_autopilot.github.worktrees.worktrees import Worktrees
from bmad_autopilot.project.config import Commands, Config, WorktreeSettings
from bmad_autopilot.project.root import find_root
from tests.github.worktrees.sites import BRANCH, EPIC, Sample

PLAIN = {"PATH": os.environ["PATH"], "OURS": "kept out of nothing"}


def of(folder: Path, **parts: object) -> Worktrees:
    return worktrees_of(find_root(str(folder)), Config(**parts), PLAIN)  # type: ignore[arg-type]


def test_commands_run_without_a_shell_and_with_the_checks_environment(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    settings = WorktreeSettings(post_create=("sh -c 'echo $OURS > build-env'", "touch $OURS"))
    made = of(sample.top, worktrees=settings).make(EPIC, BRANCH, "main")
    assert Path(made.folder, "build-env").read_text() == "kept out of nothing\n"
    assert Path(made.folder, "$OURS").exists()


@pytest.mark.real
def test_the_install_command_where_nothing_else_is_said(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    commands = Commands(install="echo a > build-1 && echo b > build-2")
    made = of(sample.top, commands=commands).make(EPIC, BRANCH, "main")
    assert Path(made.folder, "build-2").read_text() == "b\n"
    none = of(sample.top, commands=commands, worktrees=WorktreeSettings(post_create=()))
    assert not Path(none.make("epic-2", "feature/2", "main").folder, "build-1").exists()


@pytest.mark.real
def test_a_failure_is_told_with_its_last_lines(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    settings = WorktreeSettings(post_create=("sh -c 'echo no such package; exit 3'",))
    with pytest.raises(AutopilotError, match="exit code 3") as caught:
        of(sample.top, worktrees=settings).make(EPIC, BRANCH, "main")
    assert "no such package" in caught.value.message
    assert caught.value.place is not None
    assert "no such package" in Path(caught.value.place.file).read_text()


def test_a_folder_that_an_agents_lock_is_held_in_stays(tmp_path: Path) -> None:
    sample = Sample(tmp_path)
    worktrees = of(sample.top)
    made = worktrees.make(EPIC, BRANCH, "main")
    fd = worktree_lock.take(made.folder, str(tmp_path / "attempt-1"))
    try:
        assert "agent" in worktrees.remove(EPIC).reason
    finally:
        os.close(fd)
    assert worktrees.remove(EPIC).is_gone
