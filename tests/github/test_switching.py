"""Switching and moving branches loses nothing that is not committed."""

import os
import shutil
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import AutopilotError, ConflictError
from bmad_autopilot.github.git import Git, GitError
from bmad_autopilot.github.switching import move_branch, switch
from tests.github.repositories import Repository, make_repository


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A commit that no branch holds: a file changed, one new, one gone, a folder in a file's place."""
    repository = make_repository(tmp_path_factory.mktemp("ahead") / "work")
    repository.write("gone", "x\n")
    repository.write("place", "a file\n")
    start = repository.commit("Before")
    (repository.path / "gone").unlink()
    (repository.path / "place").unlink()
    repository.write("place/in", "x\n")
    repository.write("readme.txt", "new\n")
    repository.write("new/file", "x\n")
    made = repository.commit("Ahead")
    repository.run("reset", "--quiet", "--hard", start)
    return repository.path, made


@pytest.fixture
def ahead(repository: Repository, template: tuple[Path, str]) -> str:
    shutil.copytree(template[0], repository.path, dirs_exist_ok=True)
    return template[1]


def test_a_new_branch_begins_where_it_is_told(repository: Repository, ahead: str) -> None:
    repository.write("lies about", "mine\n")
    switch(repository.git, "feature/epic-1", ahead)
    assert repository.run("branch", "--show-current") == "feature/epic-1"
    assert repository.head == ahead
    assert repository.status() == ["?? lies about"]
    switch(repository.git, "main", None)
    switch(repository.git, "feature/epic-1", "main")  # it exists: where it begins is no question any more
    assert repository.head == ahead


def test_on_the_branch_already_nothing_is_asked(repository: Repository) -> None:
    repository.write("readme.txt", "changed\n")
    switch(repository.git, "main", None)
    assert repository.read("readme.txt") == b"changed\n"


def test_no_such_branch(repository: Repository) -> None:
    for start in (None, "f" * 40, "nothing"):
        with pytest.raises(GitError):
            switch(repository.git, "feature/x", start)
    assert repository.run("branch", "--list", "feature/x") == ""


@pytest.mark.parametrize("staged", [False, True])
def test_changed_files_stop_it(repository: Repository, ahead: str, staged: bool) -> None:
    repository.write("gone", "changed\n")
    if staged:
        repository.run("add", "gone")
    with pytest.raises(ConflictError, match="gone"):
        switch(repository.git, "feature/x", ahead)
    with pytest.raises(ConflictError, match="gone"):
        move_branch(repository.git, "main", ahead, repository.head)
    assert repository.read("gone") == b"changed\n"


@pytest.mark.parametrize("is_ignored", [False, True])
def test_untracked_files_in_the_way_stop_it(repository: Repository, ahead: str, is_ignored: bool) -> None:
    head = repository.head
    if is_ignored:
        repository.write(".git/info/exclude", "new\n")
    for name in ("new/file/deep", "new/file", "new"):
        repository.write(name, "mine\n")
        with pytest.raises(ConflictError, match="new"):
            switch(repository.git, "feature/x", ahead)
        with pytest.raises(ConflictError, match="new"):
            move_branch(repository.git, "main", ahead, head)
        assert (repository.head, repository.read(name)) == (head, b"mine\n")
        (shutil.rmtree if name != "new" else os.unlink)(repository.path / "new")


def test_a_folder_of_tracked_files_is_not_in_the_way(repository: Repository, ahead: str) -> None:
    start = repository.head
    repository.run("switch", "--quiet", "--detach", ahead)
    switch(repository.git, "main", None)
    assert (repository.head, repository.status()) == (start, [])


def test_an_operation_under_way_stops_it(repository: Repository, ahead: str) -> None:
    repository.write(".git/MERGE_HEAD", f"{ahead}\n")
    with pytest.raises(AutopilotError, match="merge is under way"):
        switch(repository.git, "feature/x", ahead)


def test_a_branch_checked_out_elsewhere_is_named(repository: Repository, tmp_path: Path) -> None:
    repository.run("worktree", "add", "--quiet", "-b", "lane", str(tmp_path / "lane"))
    with pytest.raises(ConflictError, match=str(tmp_path / "lane")):
        switch(repository.git, "lane", None)


def test_a_branch_moves_with_its_files(repository: Repository, ahead: str) -> None:
    start = repository.head
    repository.write("lies about", "mine\n")
    os.utime(repository.path / "readme.txt", (1, 1))  # touched, not changed
    move_branch(repository.git, "main", ahead, start)
    assert (repository.head, repository.status()) == (ahead, ["?? lies about"])
    assert repository.read("new/file") == b"x\n"
    assert not (repository.path / "gone").exists()


def test_a_move_that_was_cut_short_is_ended(repository: Repository, ahead: str) -> None:
    start = repository.head
    repository.run("update-index", "-q", "--refresh")
    repository.run("read-tree", "-m", "-u", start, ahead)
    os.utime(repository.path / "readme.txt", (1, 1))
    move_branch(repository.git, "main", ahead, start)
    assert (repository.head, repository.status()) == (ahead, [])


def test_a_branch_moves_in_the_work_tree_that_has_it(repository: Repository, ahead: str, tmp_path: Path) -> None:
    start = repository.head
    repository.run("worktree", "add", "--quiet", "-b", "lane", str(tmp_path / "lane"))
    move_branch(repository.git, "lane", ahead, start)
    lane = Repository(tmp_path / "lane")
    assert (lane.head, lane.status(), repository.head) == (ahead, [], start)


def test_a_branch_that_nobody_has_checked_out_just_moves(repository: Repository, ahead: str) -> None:
    start = repository.head
    move_branch(repository.git, "other", start, "")
    move_branch(repository.git, "other", ahead, start)
    assert repository.run("rev-parse", "other") == ahead
    assert repository.head == start


def test_a_branch_that_has_moved_meanwhile_stays(repository: Repository, ahead: str) -> None:
    start = repository.head
    moved = repository.commit("A person's")
    with pytest.raises(ConflictError):
        move_branch(repository.git, "main", ahead, start)
    repository.run("branch", "other")
    with pytest.raises(ConflictError):
        move_branch(repository.git, "other", ahead, start)
    assert (repository.head, repository.run("rev-parse", "other"), repository.status()) == (moved, moved, [])


def test_a_branch_never_moves_away_from_its_commits(repository: Repository, ahead: str) -> None:
    start = repository.head
    move_branch(repository.git, "main", ahead, start)
    with pytest.raises(ConflictError, match="lose commits"):
        move_branch(repository.git, "main", start, ahead)


def test_the_folder_may_be_any_in_the_work_tree(repository: Repository, ahead: str) -> None:
    start = repository.head
    repository.write("deep/er/x", "1\n")
    move_branch(Git(str(repository.path / "deep/er")), "main", ahead, start)
    assert repository.head == ahead
