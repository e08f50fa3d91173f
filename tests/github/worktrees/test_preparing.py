"""The project's commands for a new worktree: once, to their end, without a shell."""

from pathlib import Path

import pytest

from bmad_autopilot.core.errors import AutopilotError
from tests.github.worktrees.sites import BRANCH, EPIC, Sample


def test_each_in_order_once_in_the_projects_folder(tmp_path: Path) -> None:
    sample = Sample(tmp_path, "apps/web")
    worktrees = sample.worktrees(post_create=("touch build-1", "touch 'a b;c' $HOME"))
    made = worktrees.make(EPIC, BRANCH, "main")
    assert [words for words, _ in sample.ran] == [["touch", "build-1"], ["touch", "a b;c", "$HOME"]]
    assert {folder for _, folder in sample.ran} == {made.root.checkout}
    assert Path(made.root.checkout, "$HOME").exists()
    worktrees.make(EPIC, BRANCH, "main")
    assert len(sample.ran) == 2


def test_one_that_failed_is_told_and_run_again(sample: Sample) -> None:
    worktrees = sample.worktrees(post_create=("sh -c 'echo one; echo two >&2; test -e build/ok'",))
    for _ in range(2):
        with pytest.raises(AutopilotError, match="exit code 1 in the worktree of epic-1") as caught:
            worktrees.make(EPIC, BRANCH, "main")
        assert "    two" in caught.value.message
        assert caught.value.place is not None
        assert Path(caught.value.place.file).read_text() == "one\ntwo\n"
    (sample.folder / EPIC / "build").mkdir()
    (sample.folder / EPIC / "build/ok").touch()
    assert not worktrees.make(EPIC, BRANCH, "main").is_new
    worktrees.make(EPIC, BRANCH, "main")
    assert len(sample.ran) == 3


@pytest.mark.real
def test_other_commands_are_run_too(sample: Sample) -> None:
    sample.worktrees(post_create=("true",)).make(EPIC, BRANCH, "main")
    sample.worktrees(post_create=("true", "mkdir build")).make(EPIC, BRANCH, "main")
    assert len(sample.ran) == 3
    assert sample.worktrees().remove(EPIC).is_gone
