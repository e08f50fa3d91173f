"""Worktrees of lanes, found by their marks without any git."""

import os
import shutil
from pathlib import Path

import pytest

from bmad_autopilot.git.worktrees.marker import LaneWorktree, checked_out_branch, list_lane_worktrees
from bmad_autopilot.project.root import find_root
from tests.support.worktree_projects import BRANCH, EPIC, WorktreeProject


def found(sample: WorktreeProject) -> list[LaneWorktree]:
    return list_lane_worktrees(find_root(str(sample.project)))


@pytest.mark.parametrize("part", [".", "apps/shop"])
def test_ours_with_their_branches_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, part: str
) -> None:
    sample = WorktreeProject(tmp_path, part)
    assert found(sample) == []
    made = Path(sample.worktrees().create(EPIC, BRANCH, "main").folder)
    sample.repository.run("worktree", "add", "--quiet", "-b", "own", str(tmp_path / "a person's"))
    monkeypatch.setenv("PATH", "")  # nothing can be started
    inside = os.path.normpath(made / part)
    assert found(sample) == [LaneWorktree(EPIC, inside, BRANCH)]
    assert list_lane_worktrees(find_root(inside)) == found(sample)
    assert (checked_out_branch(inside), checked_out_branch(str(sample.project))) == (BRANCH, "main")
    other = sample.top / "another" / "project"
    other.mkdir(parents=True)
    assert list_lane_worktrees(find_root(str(sample.project))._replace(path=str(other))) == []


def test_one_that_was_taken_away_or_stands_on_no_branch(tmp_path: Path) -> None:
    sample = WorktreeProject(tmp_path)
    made = Path(sample.worktrees().create(EPIC, BRANCH, "main").folder)
    sample.repository.run("-C", str(made), "switch", "--quiet", "--detach")
    assert found(sample) == [LaneWorktree(EPIC, str(made), "")]
    shutil.rmtree(made)
    assert found(sample) == []


def test_what_git_keeps_of_it_may_be_broken(tmp_path: Path) -> None:
    sample = WorktreeProject(tmp_path)
    sample.worktrees().create(EPIC, BRANCH, "main")
    (admin,) = (sample.top / ".git" / "worktrees").iterdir()
    (admin / "HEAD").write_bytes(b"\xff\xfe")
    assert [one.branch for one in found(sample)] == [""]
    (admin / "gitdir").unlink()
    assert found(sample) == []
    (admin / "bmad-autopilot-worktree.json").write_text("{")
    assert found(sample) == []


def test_without_a_repository_there_are_none(tmp_path: Path) -> None:
    assert list_lane_worktrees(find_root(str(tmp_path))) == []
    assert checked_out_branch(str(tmp_path)) == ""
