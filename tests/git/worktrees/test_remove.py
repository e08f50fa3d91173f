"""A worktree goes when nothing goes with it; else it stays, and the reason is told."""

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bmad_autopilot.git.worktrees import site
from bmad_autopilot.git.worktrees.create import CreatedWorktree
from bmad_autopilot.io.files import hold_lock
from tests.support.repositories import Repository
from tests.support.worktree_projects import BRANCH, EPIC, WorktreeProject, contents, git_dir, worktree_repository

SKILL = ".claude/skills/bmad-dev-story/SKILL.md"


def test_a_clean_one_goes_and_its_branch_stays(sample: WorktreeProject) -> None:
    made = sample.make()
    work = worktree_repository(made)
    work.write("new", "x\n")
    head = work.commit()
    gone = sample.worktrees().remove(EPIC)
    assert gone.is_gone
    assert gone.folder == made.folder
    assert not os.path.lexists(made.folder)
    assert sample.registered_worktrees() == {}
    assert sample.repository.run("rev-parse", BRANCH) == head
    assert list(sample.folder.iterdir()) == []
    assert sample.is_untouched()


def test_build_output_and_state_files_may_go(sample: WorktreeProject) -> None:
    made = sample.make()
    for name in ("build/out", ".claude/skills/__pycache__/x", "_bmad-output/.runs/x", ".env.test"):
        worktree_repository(made).write(name, "x")
    assert sample.worktrees().remove(EPIC).is_gone


def _changed(work: Repository) -> None:
    work.write("readme.txt", "changed\n")


def _staged(work: Repository) -> None:
    work.write("staged", "x")
    work.run("add", "staged")


def _deleted(work: Repository) -> None:
    (work.path / "readme.txt").unlink()


def _untracked(work: Repository) -> None:
    work.write("lies/about", "x")


def _merging(work: Repository) -> None:
    work.write(str(git_dir_of(work) / "MERGE_HEAD"), f"{work.head}\n")


def _detached(work: Repository) -> None:
    work.run("switch", "--quiet", "--detach")
    work.commit("On no branch")


def _edited_copy(work: Repository) -> None:
    work.write(SKILL, "edited there\n")


def _new_beside_copies(work: Repository) -> None:
    work.write(".claude/skills/mine/SKILL.md", "made there\n")


def _locked(work: Repository) -> None:
    work.run("worktree", "lock", "--reason", "mine", str(work.path))


def git_dir_of(work: Repository) -> Path:
    return Path(work.run("rev-parse", "--absolute-git-dir"))


DIRT: dict[Callable[[Repository], None], str] = {
    _changed: "not committed: readme.txt",
    _staged: "not committed: staged",
    _deleted: "not committed: readme.txt",
    _untracked: "neither committed nor ignored: lies/about",
    _merging: "a merge is under way",
    _detached: "commits that are on no branch",
    _edited_copy: f"differ from the main checkout's: {SKILL}",
    _new_beside_copies: ".claude/skills/mine/SKILL.md",
    _locked: "locked it: mine",
}


def test_dirty_ones_stay(sample: WorktreeProject) -> None:
    for number, (dirty, reason) in enumerate(DIRT.items()):
        made = sample.make(f"epic-{number}", f"feature/epic-{number}")
        dirty(worktree_repository(made))
        before = contents(Path(made.folder))
        kept = sample.worktrees().remove(f"epic-{number}")
        assert not kept.is_gone, dirty
        assert reason in kept.reason
        assert contents(Path(made.folder)) == before


def test_secrets_that_were_edited_there_stay(sample: WorktreeProject) -> None:
    worktrees = sample.worktrees(copy=(".env*",))
    made = worktrees.create(EPIC, BRANCH, "main")
    worktree_repository(made).write(".env", "KEY=mine\n")
    assert ".env" in worktrees.remove(EPIC).reason
    sample.repository.write(".env", "KEY=mine\n")  # now the main checkout has it as well
    assert worktrees.remove(EPIC).is_gone


@pytest.mark.real
def test_a_commit_that_a_branch_or_a_ref_of_ours_holds_is_not_lost(sample: WorktreeProject) -> None:
    made = sample.make()
    _detached(worktree_repository(made))
    sample.repository.run("update-ref", "refs/autopilot/saved/x", worktree_repository(made).head)
    assert sample.worktrees().remove(EPIC).is_gone


def test_delivered_and_its_branch_deleted(sample: WorktreeProject) -> None:
    """A delivery keeps the commits under a ref of ours and deletes the branch."""
    made = sample.make()
    work = worktree_repository(made)
    work.write("new", "x\n")
    head = work.commit()
    sample.repository.run("update-ref", "-d", f"refs/heads/{BRANCH}", head)
    assert "branch is gone" in sample.worktrees().remove(EPIC).reason
    sample.repository.run("update-ref", "refs/autopilot/delivered/x", head)
    work.write("new", "changed\n")
    assert "new" in sample.worktrees().remove(EPIC).reason
    work.write("new", "x\n")
    assert sample.worktrees().remove(EPIC).is_gone


def test_an_agent_at_work_keeps_it(sample: WorktreeProject) -> None:
    made = sample.make()
    sample.busy.add(made.folder)
    assert "agent" in sample.worktrees().remove(EPIC).reason
    sample.busy.clear()
    assert sample.worktrees().remove(EPIC).is_gone


def test_one_that_is_not_there_is_gone(sample: WorktreeProject) -> None:
    assert sample.worktrees().remove("epic-9").is_gone


def test_folders_that_nobody_may_write_to(sample: WorktreeProject) -> None:
    made = sample.make()
    worktree_repository(made).write("build/cache/file", "x").parent.chmod(0o500)
    assert sample.worktrees().remove(EPIC).is_gone
    assert list(sample.folder.iterdir()) == []


@pytest.mark.real
def test_links_are_not_followed_out(sample: WorktreeProject, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "file").write_text("x")
    made = sample.make()
    worktree_repository(made).write("build/x", "x")
    Path(made.folder, "build/out").symlink_to(mine)
    assert sample.worktrees().remove(EPIC).is_gone
    assert (mine / "file").read_text() == "x"


def test_prune_forgets_ours_and_no_one_elses(sample: WorktreeProject) -> None:
    made = sample.make()
    other = sample.top.parent / "on-another-disk"
    sample.repository.run("worktree", "add", "--quiet", "-b", "other", str(other))
    (sample.folder / ".bmad-removed-epic-3-1/sub").mkdir(parents=True)
    shutil.rmtree(made.folder)
    shutil.rmtree(other)
    assert sample.worktrees().prune() == [EPIC]
    assert sample.registered_worktrees() == {str(other): "other"}
    assert list(sample.folder.iterdir()) == []


@pytest.mark.real
def test_prune_keeps_away_from_one_in_the_making(sample: WorktreeProject) -> None:
    made = sample.make()
    shutil.rmtree(made.folder)
    with hold_lock(f"{sample.top}/.git/bmad-autopilot/worktrees/{EPIC}.lock"):
        assert sample.worktrees().prune() == []
    assert sample.worktrees().prune() == [EPIC]


@pytest.mark.real
def test_tidy_keeps_those_in_use_and_tells_of_the_rest(sample: WorktreeProject) -> None:
    made: list[CreatedWorktree] = [sample.make(f"epic-{n}", f"feature/epic-{n}") for n in range(3)]
    _untracked(worktree_repository(made[1]))
    other = str(sample.folder / "of-a-person")
    sample.repository.run("worktree", "add", "--quiet", "-b", "other", other)
    done = sample.worktrees().remove_unused({"epic-0"})
    assert [(one.epic, one.is_gone) for one in done] == [("epic-1", False), ("epic-2", True)]
    assert sample.registered_worktrees() == {
        made[0].folder: made[0].branch,
        made[1].folder: made[1].branch,
        other: "other",
    }


def test_kept_where_the_settings_say_so(sample: WorktreeProject) -> None:
    sample.make()
    done = sample.worktrees(keep=True).remove_unused(())
    assert [one.reason for one in done] == ["`worktrees.keep` is set"]


@pytest.mark.real
def test_of_two_projects_each_tidies_its_own(tmp_path: Path) -> None:
    sample = WorktreeProject(tmp_path, "apps/web")
    sample.make()
    sample.repository.write("apps/shop/_bmad/bmm/config.yaml", "x: 1\n")
    sample.repository.commit()
    sample.project = sample.top / "apps/shop"
    assert sample.worktrees().remove_unused(()) == []
    assert sample.make(branch="feature/shop-1").folder != str(sample.folder / EPIC)
    assert len(sample.registered_worktrees()) == 2


@pytest.mark.real
def test_a_mark_lost_with_the_state_folder_is_no_loss(sample: WorktreeProject) -> None:
    made = sample.make()
    shutil.rmtree(sample.top / ".git/bmad-autopilot")
    assert (git_dir(made) / "bmad-autopilot-worktree.json").is_file()
    assert sample.worktrees().find(EPIC) == made.root
    assert sample.worktrees().remove(EPIC).is_gone


def test_what_the_disk_does_not_let_go_stays_with_the_reason(
    sample: WorktreeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = sample.make()

    def busy(folder: str) -> str:
        raise OSError(errno.EBUSY, "Device or resource busy", folder)

    monkeypatch.setattr(site, "set_aside", busy)
    (kept,) = sample.worktrees().remove_unused(())
    assert "Device or resource busy" in kept.reason
    assert kept.folder == made.folder
    monkeypatch.undo()
    assert sample.worktrees().remove(EPIC).is_gone
