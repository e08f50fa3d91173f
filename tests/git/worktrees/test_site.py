"""Every epic has a folder of its own, whatever it is called."""

import os
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.git.worktrees.site import worktree_name, worktrees_folder
from bmad_autopilot.project.root import WorkTree

KEYS = st.one_of(
    st.text(min_size=1, max_size=100),
    st.text("abAB0.-_/ ", min_size=1, max_size=6),
    st.sampled_from(["epic-1", "Epic-1", "EPIC-1", "epic-1 ", "épic-1", "e\u0301pic-1", "..", ".", "-1", "CON"]),
)


@given(KEYS, KEYS)
@example("epic-7a", "epic-7A")
@example("straße", "STRASSE")
@example("x" * 100, "x" * 101)
@example("1", worktree_name("A"))
def test_no_two_epics_share_a_folder(one: str, other: str) -> None:
    assert (worktree_name(one).casefold() == worktree_name(other).casefold()) == (one == other)


@given(KEYS, st.sampled_from([".", "apps/web"]))
def test_a_name_is_one_plain_part_of_a_path(epic: str, part: str) -> None:
    name = worktree_name(epic, part)
    assert 0 < len(name) <= 60
    assert name.isascii()
    assert name[0].isalnum()
    assert os.path.basename(os.path.normpath(f"/x/{name}")) == name
    assert name[-1] != "."


def test_usual_keys_stay_as_they_are() -> None:
    assert [worktree_name(key) for key in ("epic-1", "epic-2.5", "epic-7a")] == ["epic-1", "epic-2.5", "epic-7a"]


def test_projects_of_one_repository_do_not_share_a_folder() -> None:
    assert len({worktree_name("epic-1", part) for part in (".", "apps/web", "apps-web", "apps/Web")}) == 4


@pytest.mark.parametrize("setting", [".", "./inside", "../work/inside", ".git/worktrees", "../work"])
def test_never_inside_the_checkout(tmp_path: Path, setting: str) -> None:
    top = tmp_path / "work"
    tree = WorkTree(str(top), f"{top}/.git", f"{top}/.git")
    with pytest.raises(AutopilotError, match="inside the checkout"):
        worktrees_folder(tree, setting)


def test_beside_it_or_where_the_settings_say(tmp_path: Path, home: Path) -> None:
    top = tmp_path / "work"
    tree = WorkTree(str(top), f"{top}/.git", f"{top}/.git")
    assert worktrees_folder(tree, None) == f"{top}.worktrees"
    assert worktrees_folder(tree, "../lanes") == f"{tmp_path}/lanes"
    assert worktrees_folder(tree, "~/lanes") == os.path.realpath(home / "lanes")
