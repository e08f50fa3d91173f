"""The delivery side of git's door."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import AutopilotError, ConflictError
from bmad_autopilot.git.branches import MAX_NAMED_PATHS, Branches, move_branch, switch_branch
from bmad_autopilot.git.commits import commit_paths
from bmad_autopilot.git.git import Git, GitError
from bmad_autopilot.git.history import base_branch
from tests.support.repositories import USER, Repository, make_origin, make_repository


@pytest.fixture
def bare(repository: Repository, tmp_path: Path) -> Path:
    return make_origin(repository, tmp_path / "origin.git")


@pytest.fixture
def branches(repository: Repository) -> Branches:
    return Branches(repository.git)


def ours(repository: Repository) -> str:
    return commit_paths(repository.git, [], "Ours", {}, identity=USER)


def test_remotes_and_where_they_lie(repository: Repository, branches: Branches, tmp_path: Path) -> None:
    assert (branches.remotes(), branches.remote_url()) == ([], "")
    repository.run("remote", "add", "origin", str(tmp_path))
    assert (branches.remotes(), branches.remote_url()) == (["origin"], str(tmp_path))


def test_the_remote_is_asked_for_its_own_branch_and_that_is_remembered(
    repository: Repository, branches: Branches, bare: Path
) -> None:
    repository.run("push", "--quiet", "origin", "main", "main:trunk/all")
    repository.run("--git-dir", str(bare), "symbolic-ref", "HEAD", "refs/heads/trunk/all")
    assert branches.base_branch("develop") == "develop"
    assert base_branch(repository.git, None) == "main"  # as far as one can tell from here
    assert branches.base_branch(None) == "trunk/all"
    assert base_branch(repository.git, None) == "trunk/all"
    bare.rename(bare.with_name("away"))
    assert branches.base_branch(None) == "trunk/all"


def test_the_base_branch_of_a_remote_without_any(repository: Repository, branches: Branches, bare: Path) -> None:
    repository.run("--git-dir", str(bare), "update-ref", "-d", "refs/heads/main")
    assert branches.base_branch(None) == "main"
    repository.run("branch", "--move", "main", "topic")
    assert branches.base_branch(None) is None


def test_the_base_branch_without_a_remote(repository: Repository, branches: Branches) -> None:
    repository.run("branch", "--move", "main", "master")
    assert branches.base_branch(None) == "master"


def test_a_branch_there_and_back(repository: Repository, branches: Branches, bare: Path) -> None:
    head = repository.head
    branches.push("feature/epic-1", head, "")
    assert branches.heads("feature/epic-1") == branches.fetch("feature/epic-1") == {"feature/epic-1": head}
    branches.delete("feature/epic-1", head)
    assert branches.fetch("feature/epic-1") == {"feature/epic-1": ""}


def test_what_a_history_holds(repository: Repository, branches: Branches) -> None:
    first = repository.head
    second = repository.commit()
    assert branches.contains(second, first)
    assert not branches.contains(first, second)
    assert not branches.contains(second, "f" * 40)  # never fetched
    with pytest.raises(GitError):
        branches.contains("f" * 40, second)
    assert branches.tree_of(second) == repository.tree(second)
    assert (branches.branch_head("main"), branches.branch_head("none")) == (second, "")


def test_foreign_commits_are_told_from_ours(repository: Repository, branches: Branches) -> None:
    start = repository.head
    base = repository.commit("On the base")
    repository.run("switch", "--quiet", "--create", "topic")
    ours(repository)
    foreign = repository.commit("A person's")
    ours(repository)
    assert [found.sha for found in branches.foreign_commits(base, "HEAD")] == [foreign]
    assert [found.sha for found in branches.foreign_commits(start, "HEAD")] == [foreign, base]
    assert [found.sha for found in branches.foreign_commits(start, "HEAD", base)] == [foreign]


def test_a_squash_is_the_heads_tree_on_its_base(repository: Repository, branches: Branches) -> None:
    base = repository.head
    repository.write("a", "1\n")
    repository.commit()
    repository.write("b", "1\n")
    head = repository.commit()
    made = branches.squash(base, head, "Epic 1\n\nAutopilot-Step: x\nAutopilot-Step: y\n", USER)
    assert repository.tree(made) == repository.tree(head)
    assert repository.run("show", "-s", "--format=%P %an", made) == f"{base} {USER.name}"
    assert repository.run("show", "-s", "--format=%(trailers)", made).count("Autopilot-Step") == 2
    with pytest.raises(ConflictError):
        branches.squash(head, base, "x", USER)


def in_conflict(repository: Repository, branches: Branches, name: str) -> str:
    """Two sides of one file, ours pushed and checked out nowhere; the base's head."""
    repository.write(name, "0\n")
    start = repository.commit()
    repository.run("switch", "--quiet", "--create", "feature/epic-1")
    repository.write(name, "ours\n")
    branches.push("feature/epic-1", repository.commit(), "")
    repository.run("switch", "--quiet", "--detach", start)
    repository.write(name, "theirs\n")
    base = repository.commit()
    repository.run("push", "--quiet", "origin", f"{base}:refs/heads/main")
    return base


def test_the_steps_for_a_person_can_be_typed(
    repository: Repository, branches: Branches, bare: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = "it's $(odd) name"
    monkeypatch.setenv("PATH", f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}")
    base = in_conflict(repository, branches, name)
    steps = branches.conflict_steps("feature/epic-1", "main", [name])
    fetch, switch, merge, resolve, *rest, resume = steps.split("\n")
    for step in (fetch, switch):
        subprocess.run(["sh", "-c", step], cwd=repository.path, check=True, capture_output=True)
    merged = subprocess.run(["sh", "-c", merge], cwd=repository.path, capture_output=True, check=False)
    assert (merged.returncode, b"CONFLICT" in merged.stdout) == (1, True)
    assert resolve.startswith("# ")
    repository.write(name, "both\n")
    for step in rest:
        subprocess.run(["sh", "-c", step], cwd=repository.path, check=True, capture_output=True)
    assert branches.heads("feature/epic-1") == {"feature/epic-1": repository.head}
    assert branches.contains(repository.head, base)
    assert merge == "bmad merge-driver run -- git merge origin/main"
    assert resume == "bmad autopilot --continue"


def test_the_steps_lead_into_the_worktree_that_has_the_branch(
    repository: Repository, branches: Branches, bare: Path, tmp_path: Path
) -> None:
    """git refuses to switch to it anywhere else."""
    in_conflict(repository, branches, "file")
    lane = tmp_path / "it's a lane"
    repository.run("worktree", "add", "--quiet", str(lane), "feature/epic-1")
    steps = Branches(Git(str(lane))).conflict_steps("feature/epic-1", "main", ["file"]).split("\n")
    there = "\n".join((*steps[:2], "git branch --show-current", *steps[-2:-1], "pwd"))
    typed = subprocess.run(["sh", "-c", there], cwd=repository.path, check=True, capture_output=True, text=True)
    assert typed.stdout.split("\n")[0] == "feature/epic-1"
    assert typed.stdout.rstrip().split("\n")[-1] == str(repository.path)


def test_the_steps_name_no_path_that_cannot_be_typed(branches: Branches) -> None:
    many = branches.conflict_steps("b", "main", [*(f"f{n}" for n in range(MAX_NAMED_PATHS)), "more"])
    odd = branches.conflict_steps("b", "main", ["a\nrm -rf x", "\udcff"])
    for steps in (many, odd):
        assert "git add --update" in steps
        assert "rm" not in steps


# Switching and moving branches loses nothing that is not committed.


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
    switch_branch(repository.git, "feature/epic-1", ahead)
    assert repository.run("branch", "--show-current") == "feature/epic-1"
    assert repository.head == ahead
    assert repository.status() == ["?? lies about"]
    switch_branch(repository.git, "main", None)
    switch_branch(repository.git, "feature/epic-1", "main")  # it exists: where it begins is no question any more
    assert repository.head == ahead


def test_on_the_branch_already_nothing_is_asked(repository: Repository) -> None:
    repository.write("readme.txt", "changed\n")
    switch_branch(repository.git, "main", None)
    assert repository.read("readme.txt") == b"changed\n"


def test_no_such_branch(repository: Repository) -> None:
    for start in (None, "f" * 40, "nothing"):
        with pytest.raises(GitError):
            switch_branch(repository.git, "feature/x", start)
    assert repository.run("branch", "--list", "feature/x") == ""


@pytest.mark.parametrize("staged", [False, True])
def test_changed_files_stop_it(repository: Repository, ahead: str, staged: bool) -> None:
    repository.write("gone", "changed\n")
    if staged:
        repository.run("add", "gone")
    with pytest.raises(ConflictError, match="gone"):
        switch_branch(repository.git, "feature/x", ahead)
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
            switch_branch(repository.git, "feature/x", ahead)
        with pytest.raises(ConflictError, match="new"):
            move_branch(repository.git, "main", ahead, head)
        assert (repository.head, repository.read(name)) == (head, b"mine\n")
        (shutil.rmtree if name != "new" else os.unlink)(repository.path / "new")


def test_a_folder_of_tracked_files_is_not_in_the_way(repository: Repository, ahead: str) -> None:
    start = repository.head
    repository.run("switch", "--quiet", "--detach", ahead)
    switch_branch(repository.git, "main", None)
    assert (repository.head, repository.status()) == (start, [])


def test_an_operation_under_way_stops_it(repository: Repository, ahead: str) -> None:
    repository.write(".git/MERGE_HEAD", f"{ahead}\n")
    with pytest.raises(AutopilotError, match="merge is under way"):
        switch_branch(repository.git, "feature/x", ahead)


def test_a_branch_checked_out_elsewhere_is_named(repository: Repository, tmp_path: Path) -> None:
    repository.run("worktree", "add", "--quiet", "-b", "lane", str(tmp_path / "lane"))
    with pytest.raises(ConflictError, match=str(tmp_path / "lane")):
        switch_branch(repository.git, "lane", None)


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
