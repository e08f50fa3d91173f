"""A lane's worktree: on its branch, beside the checkout, found again, and nothing else touched."""

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import AutopilotError, ConflictError
from bmad_autopilot.git.git import GitError
from bmad_autopilot.git.worktrees import create
from tests.support.repositories import make_repository
from tests.support.worktree_projects import BRANCH, EPIC, WorktreeProject, contents, git_dir, worktree_repository


def test_a_new_branch_begins_at_the_commit(sample: WorktreeProject) -> None:
    start = sample.start
    sample.repository.write("later", "x\n")
    sample.repository.commit("Later")
    made = sample.make(commit=start)
    assert made.folder == str(sample.folder / EPIC)
    assert made.is_new
    assert worktree_repository(made).head == sample.start
    assert worktree_repository(made).status() == []
    assert sample.registered_worktrees() == {made.folder: BRANCH}
    assert sample.is_untouched()
    assert "[branch" not in sample.repository.read(".git/config").decode()


def test_a_branch_that_exists_is_taken_as_it_is(sample: WorktreeProject) -> None:
    sample.repository.run("branch", BRANCH)
    before = sample.start
    sample.repository.commit("Later")
    assert worktree_repository(sample.make(commit="main")).head == before


def test_records_stay_in_the_main_checkout(sample: WorktreeProject) -> None:
    made = sample.make()
    assert made.root.path == str(sample.top)
    assert made.root.checkout == made.folder
    assert made.root.state_folder == f"{sample.top}/.git/bmad-autopilot"
    assert not (Path(made.folder) / "_bmad-output").exists()


def test_a_project_in_a_sub_folder(tmp_path: Path) -> None:
    sample = WorktreeProject(tmp_path, "apps/web")
    made = sample.make()
    assert made.root.path == str(sample.top / "apps/web")
    assert made.root.checkout == f"{made.folder}/apps/web"
    assert Path(made.root.checkout, "src/app.py").is_file()
    assert Path(made.root.checkout, ".claude/skills/bmad-dev-story/SKILL.md").is_file()
    assert worktree_repository(made).status() == []


def test_found_again_with_all_that_was_done_there(sample: WorktreeProject) -> None:
    made = sample.make()
    work = worktree_repository(made)
    work.write("src/app.py", "print(1)\n")
    work.write("new", "x\n")
    again = sample.make()
    assert again == made._replace(is_new=False)
    assert work.status() == [" M src/app.py", "?? new"]
    assert sample.worktrees().find(EPIC) == made.root
    assert sample.worktrees().find("epic-2") is None


@pytest.mark.real
def test_moved_by_its_owner_it_is_still_the_lanes(sample: WorktreeProject) -> None:
    made = sample.make()
    elsewhere = str(sample.top.parent / "elsewhere")
    sample.repository.run("worktree", "move", made.folder, elsewhere)
    assert sample.make().folder == elsewhere
    assert sample.worktrees(folder="../others").create(EPIC, BRANCH, "main").folder == elsewhere
    shutil.rmtree(elsewhere)
    assert sample.make().folder == made.folder


def test_another_branch_in_it_is_an_error(sample: WorktreeProject) -> None:
    made = sample.make()
    worktree_repository(made).run("switch", "--quiet", "--create", "mine")
    with pytest.raises(ConflictError, match="another branch") as caught:
        sample.make()
    assert (caught.value.found, caught.value.expected) == ("mine", BRANCH)
    assert worktree_repository(made).run("branch", "--show-current") == "mine"


def test_what_stands_in_the_way_is_left_alone(sample: WorktreeProject) -> None:
    sample.folder.mkdir()
    (sample.folder / "file").write_text("mine")
    (sample.folder / "link").symlink_to(sample.top / "src")
    (sample.folder / "folder/sub").mkdir(parents=True)
    (sample.folder / "folder/sub/file").write_text("mine")
    make_repository(sample.folder / "repository")
    sample.repository.run("worktree", "add", "--quiet", "-b", "mine", str(sample.folder / "worktree"))
    (sample.folder / "worktree/mine").write_text("mine")
    before = contents(sample.folder)
    for epic, what in (
        ("file", "no folder"),
        ("link", "no folder"),
        ("folder", "not made by bmad"),
        ("repository", "another repository"),
        ("worktree", "not made by bmad"),
    ):
        with pytest.raises(ConflictError, match=f"{what}.* worktree of {epic} belongs") as caught:
            sample.make(epic, f"feature/{epic}")
        assert "[worktrees] folder" in str(caught.value)
    assert contents(sample.folder) == before


def test_an_empty_folder_is_not_in_the_way(sample: WorktreeProject) -> None:
    (sample.folder / EPIC).mkdir(parents=True)
    assert worktree_repository(sample.make()).status() == []


def test_a_branch_in_the_main_checkout_stays_there(sample: WorktreeProject) -> None:
    with pytest.raises(ConflictError, match="checked out in the main checkout") as caught:
        sample.make(branch="main")
    assert str(caught.value.location) == str(sample.top)
    assert sample.is_untouched()
    assert sample.registered_worktrees() == {}


def test_a_branch_in_another_work_tree_is_told_with_the_place(sample: WorktreeProject) -> None:
    other = str(sample.top.parent / "other")
    sample.repository.run("worktree", "add", "--quiet", "-b", BRANCH, other)
    with pytest.raises(ConflictError, match="another work tree") as caught:
        sample.make()
    assert str(caught.value.location) == other
    shutil.rmtree(other)
    with pytest.raises(ConflictError) as caught:
        sample.make()
    assert caught.value.hint == "git worktree prune"


def test_no_branchs_name(sample: WorktreeProject) -> None:
    for branch in ("", "-b", "a..b", "a b", "x.lock", "a\nb"):
        with pytest.raises(GitError, match="no branch's name"):
            sample.make(branch=branch)


@pytest.mark.real
def test_no_such_commit_leaves_nothing(sample: WorktreeProject) -> None:
    for commit in ("nothing", "f" * 40, "--detach"):
        with pytest.raises(AutopilotError):
            sample.make(commit=commit)
    assert sample.registered_worktrees() == {}
    assert sample.repository.run("branch", "--list", BRANCH) == ""
    assert sample.make().is_new


def test_deleted_by_hand_it_is_made_anew(sample: WorktreeProject) -> None:
    made = sample.make()
    work = worktree_repository(made)
    work.write("new", "x\n")
    head = work.commit()
    shutil.rmtree(made.folder)
    assert worktree_repository(sample.make()).head == head
    assert sample.registered_worktrees() == {made.folder: BRANCH}


@pytest.mark.real
def test_gone_and_locked_it_is_waited_for(sample: WorktreeProject) -> None:
    made = sample.make()
    sample.repository.run("worktree", "lock", "--reason", "on a stick", made.folder)
    assert sample.make().folder == made.folder
    shutil.move(made.folder, f"{made.folder}-away")
    with pytest.raises(ConflictError, match="on a stick"):
        sample.make()
    shutil.move(f"{made.folder}-away", made.folder)
    assert worktree_repository(sample.make()).status() == []


def test_without_its_git_file_its_files_are_kept(sample: WorktreeProject) -> None:
    made = sample.make()
    Path(made.folder, "mine").write_text("x")
    os.unlink(f"{made.folder}/.git")
    with pytest.raises(ConflictError, match="git worktree repair"):
        sample.make()
    assert not sample.worktrees().remove(EPIC).is_gone
    assert Path(made.folder, "mine").read_text() == "x"


def test_too_little_room_is_told_before_anything_is_made(
    sample: WorktreeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(create, "RESERVE", 1 << 60)
    with pytest.raises(AutopilotError, match="not enough room") as caught:
        sample.make()
    assert "MB free" in str(caught.value.found)
    assert sample.registered_worktrees() == {}
    assert sample.repository.run("branch", "--list", BRANCH) == ""


def test_room_is_reckoned_from_what_is_there(sample: WorktreeProject) -> None:
    sample.repository.write("big", b"x" * 100_000)
    sample.repository.write("build/out", b"x" * 500_000)
    sample.repository.run("add", "big")
    assert 100_000 < create.tracked_bytes(sample.repository.git) < 101_000


def test_a_full_disk_leaves_nothing_and_names_the_lane(
    sample: WorktreeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(git: object, held: int) -> list[str]:
        Path(sample.folder, EPIC, "half").write_text("x")
        raise GitError("git reset: unable to write file src/app.py: No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(create, "check_out", full)
        with pytest.raises(AutopilotError, match=r"epic-1: .*No space left"):
            sample.make()
    assert list(sample.folder.iterdir()) == []
    assert sample.registered_worktrees() == {}
    assert sample.repository.run("branch", "--list", BRANCH) == ""
    assert sample.make().is_new


def test_what_appears_in_the_way_meanwhile_is_left_alone(
    sample: WorktreeProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = sample.folder / EPIC / "mine"

    def appear(*_: object) -> None:
        mine.parent.mkdir()
        mine.write_text("x")

    monkeypatch.setattr(create, "refuse_full", appear)
    with pytest.raises(AutopilotError, match="already exists"):
        sample.make()
    assert mine.read_text() == "x"
    assert sample.registered_worktrees() == {}


def test_a_parent_that_cannot_be_written(sample: WorktreeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    sample.folder.write_text("a file")
    with pytest.raises(AutopilotError, match="no worktree can be made here") as caught:
        sample.make()
    assert "[worktrees] folder" in str(caught.value.hint)
    elsewhere = sample.top.parent / "lanes"
    assert sample.worktrees(folder="../lanes").create(EPIC, BRANCH, "main").folder == str(elsewhere / EPIC)


@pytest.mark.real
def test_keys_that_differ_in_capitals_have_their_own(sample: WorktreeProject) -> None:
    folders = [sample.make(epic, f"feature/{n}").folder for n, epic in enumerate(("epic-7a", "epic-7A", "../x"))]
    assert len({folder.casefold() for folder in folders}) == 3
    assert all(os.path.dirname(folder) == str(sample.folder) for folder in folders)


@pytest.mark.real
def test_a_sparse_checkout_stays_sparse(sample: WorktreeProject) -> None:
    sample.repository.write("docs/big", "x\n")
    sample.repository.commit()
    sample.repository.run("sparse-checkout", "set", "--cone", "src")
    made = sample.make()
    assert not Path(made.folder, "docs").exists()
    assert worktree_repository(made).status() == []
    assert sample.worktrees().remove(EPIC).is_gone


@pytest.mark.real
def test_several_lanes_at_once(sample: WorktreeProject) -> None:
    with ThreadPoolExecutor(4) as pool:
        numbers = range(4)
        made = list(pool.map(lambda n: sample.make(f"epic-{n}", f"feature/epic-{n}"), numbers))
        again = list(pool.map(lambda _: sample.make("epic-9", "feature/epic-9").folder, numbers))
    assert sample.registered_worktrees() == {one.folder: one.branch for one in made} | {again[0]: "feature/epic-9"}
    assert len(set(again)) == 1
    assert all(worktree_repository(one).status() == [] for one in made)


def test_what_runs_in_the_repository_does_not_run_with_us(sample: WorktreeProject) -> None:
    hook = sample.repository.write(".git/hooks/post-checkout", "#!/bin/sh\ntouch hooked\n")
    hook.chmod(0o755)
    assert not Path(sample.make().folder, "hooked").exists()


@pytest.mark.real
def test_a_torn_mark_is_no_mark(sample: WorktreeProject) -> None:
    made = sample.make()
    mark = git_dir(made) / "bmad-autopilot-worktree.json"
    for torn in (b"", b"{", b"[]", b'{"version": 1, "epic": 3}', b"\xff", b"[" * 100_000):
        mark.write_bytes(torn)
        with pytest.raises(ConflictError, match="not made by bmad"):
            sample.make()
        assert sample.worktrees().remove_unused(()) == []


# The project's commands for a new worktree: once, to their end, without a shell.


def test_each_in_order_once_in_the_projects_folder(tmp_path: Path) -> None:
    sample = WorktreeProject(tmp_path, "apps/web")
    worktrees = sample.worktrees(post_create=("touch build-1", "touch 'a b;c' $HOME"))
    made = worktrees.create(EPIC, BRANCH, "main")
    assert [words for words, _ in sample.ran] == [["touch", "build-1"], ["touch", "a b;c", "$HOME"]]
    assert {folder for _, folder in sample.ran} == {made.root.checkout}
    assert Path(made.root.checkout, "$HOME").exists()
    worktrees.create(EPIC, BRANCH, "main")
    assert len(sample.ran) == 2


def test_one_that_failed_is_told_and_run_again(sample: WorktreeProject) -> None:
    worktrees = sample.worktrees(post_create=("sh -c 'echo one; echo two >&2; test -e build/ok'",))
    for _ in range(2):
        with pytest.raises(AutopilotError, match="exit code 1 in the worktree of epic-1") as caught:
            worktrees.create(EPIC, BRANCH, "main")
        assert "    two" in caught.value.message
        assert caught.value.location is not None
        assert Path(caught.value.location.file).read_text() == "one\ntwo\n"
    (sample.folder / EPIC / "build").mkdir()
    (sample.folder / EPIC / "build/ok").touch()
    assert not worktrees.create(EPIC, BRANCH, "main").is_new
    worktrees.create(EPIC, BRANCH, "main")
    assert len(sample.ran) == 3


@pytest.mark.real
def test_other_commands_are_run_too(sample: WorktreeProject) -> None:
    sample.worktrees(post_create=("true",)).create(EPIC, BRANCH, "main")
    sample.worktrees(post_create=("true", "mkdir build")).create(EPIC, BRANCH, "main")
    assert len(sample.ran) == 3
    assert sample.worktrees().remove(EPIC).is_gone
