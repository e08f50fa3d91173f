import subprocess
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.git.git import Git, GitError
from bmad_autopilot.git.history import GitIdentity
from bmad_autopilot.git.worktree_state import Operation, WorktreeState, precondition_error, read_worktree_state
from tests.support.repositories import ODD_NAMES, USER, Repository, make_repository


def refused(ground: WorktreeState, branch: str | None = None) -> AutopilotError:
    error = precondition_error(ground, branch=branch)
    assert error is not None
    return error


def test_firm_ground(repository: Repository) -> None:
    ground = read_worktree_state(repository.git)
    assert ground == WorktreeState(str(repository.path), head=repository.head, branch="main", identity=USER)
    assert precondition_error(ground) is None
    assert precondition_error(ground, branch="main") is None


def test_what_lies_about_is_told_and_is_no_refusal(repository: Repository) -> None:
    for name in ("staged", "changed", "gone", "renamed"):
        repository.write(name, f"{name}\n")
    repository.write(".gitignore", "*.log\n")
    repository.commit()
    repository.write("staged", "x\n")
    repository.run("add", "staged")
    repository.write("changed", "x\n")
    (repository.path / "gone").unlink()
    repository.run("mv", "renamed", "new-name")
    repository.write("deep/er/untracked", "x\n")
    repository.write("x.log", "ignored\n")
    ground = read_worktree_state(repository.git)
    assert set(ground.dirty) == {"staged", "changed", "gone", "renamed", "new-name"}
    assert ground.untracked == ("deep/er/untracked",)
    assert precondition_error(ground) is None


def test_odd_names_are_told_as_they_are(repository: Repository) -> None:
    for name in ODD_NAMES:
        repository.write(name, "x\n")
    assert set(read_worktree_state(repository.git).untracked) == set(ODD_NAMES)
    repository.commit()
    for name in ODD_NAMES:
        repository.write(name, "y\n")
    assert set(read_worktree_state(repository.git).dirty) == set(ODD_NAMES)


def test_a_users_setting_hides_no_untracked_file(repository: Repository) -> None:
    repository.run("config", "status.showUntrackedFiles", "no")
    repository.write("new/file", "x\n")
    assert read_worktree_state(repository.git).untracked == ("new/file",)


def test_no_repository(tmp_path: Path) -> None:
    ground = read_worktree_state(Git(str(tmp_path)))
    assert not ground.is_repository
    assert "under no git repository" in str(refused(ground))


def test_a_bare_repository(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", "--bare", tmp_path / "bare"], check=True)
    ground = read_worktree_state(Git(str(tmp_path / "bare")))
    assert ground.is_bare
    assert "git worktree add" in str(refused(ground))


def test_a_bare_repository_behind_a_git_file_and_its_worktree(repository: Repository, tmp_path: Path) -> None:
    base = tmp_path / "base"
    subprocess.run(["git", "clone", "--quiet", "--bare", repository.path, base / ".bare"], check=True)
    (base / ".git").write_text("gitdir: ./.bare\n")
    subprocess.run(["git", "worktree", "add", "--quiet", "main"], cwd=base, check=True, capture_output=True)
    assert read_worktree_state(Git(str(base))).is_bare
    assert precondition_error(read_worktree_state(Git(str(base / "main")))) is None


def test_no_commit_yet(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "--quiet", tmp_path], check=True)
    ground = read_worktree_state(Git(str(tmp_path)))
    assert (ground.head, ground.branch) == (None, "main")
    assert "has no commit yet" in str(refused(ground))


def test_a_detached_head(repository: Repository) -> None:
    repository.run("checkout", "--quiet", "--detach")
    ground = read_worktree_state(repository.git)
    assert ground.branch is None
    assert ground.head == repository.head
    assert refused(ground, "main").hint == "git switch main"


def test_another_branch(repository: Repository) -> None:
    error = refused(read_worktree_state(repository.git), "epic-1")
    assert (error.found, error.expected, error.hint) == ("main", "epic-1", "git switch epic-1")


def test_no_identity(repository: Repository, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    ground = read_worktree_state(Git(str(repository.path)))
    assert ground.identity is None
    hint = refused(ground).hint or ""
    assert "git config --global user.name" in hint
    assert "git config --global user.email" in hint


def test_an_identity_from_the_environment_counts(repository: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Ann O'Neill")
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "ann@example.invalid")
    identity = read_worktree_state(Git(str(repository.path))).identity
    assert identity == GitIdentity("Ann O'Neill", "ann@example.invalid")


def diverge(repository: Repository) -> None:
    """Two branches that cannot be merged; `theirs` is two commits long."""
    repository.run("switch", "--quiet", "--create", "theirs")
    repository.write("readme.txt", "theirs\n")
    repository.commit("Theirs")
    repository.write("readme.txt", "theirs again\n")
    repository.commit("Theirs again")
    repository.run("switch", "--quiet", "main")
    repository.write("readme.txt", "ours\n")
    repository.commit("Ours")


COMMANDS = {
    Operation.MERGE: ("merge", "theirs"),
    Operation.REBASE: ("rebase", "theirs"),
    Operation.CHERRY_PICK: ("cherry-pick", "theirs~1", "theirs"),
    Operation.REVERT: ("revert", "--no-edit", "HEAD~1"),
    Operation.BISECT: ("bisect", "start", "HEAD", "HEAD~1"),
}


@pytest.mark.parametrize("linked", [False, True])
@pytest.mark.parametrize("operation", COMMANDS)
def test_an_operation_under_way(
    repository: Repository, tmp_path: Path, operation: Operation, linked: bool
) -> None:
    diverge(repository)
    if operation is Operation.REVERT:
        repository.write("readme.txt", "ours again\n")
        repository.commit()
    if linked:
        repository.run("worktree", "add", "--quiet", "-b", "lane", str(tmp_path / "lane"))
        repository = Repository(tmp_path / "lane")
    subprocess.run(["git", *COMMANDS[operation]], cwd=repository.path, capture_output=True)
    ground = read_worktree_state(repository.git)
    assert ground.operation is operation
    if operation is not Operation.BISECT:
        assert ground.unmerged == ("readme.txt",)
    error = refused(ground)
    assert f"a {operation} is under way" in str(error)
    command = ["git", operation, "reset" if operation is Operation.BISECT else "--abort"]
    assert " ".join(command) in (error.hint or "")
    subprocess.run(command, cwd=repository.path, check=True, capture_output=True)
    assert read_worktree_state(repository.git).operation is None


def test_a_mailbox_being_applied(repository: Repository) -> None:
    diverge(repository)
    patch = repository.run("format-patch", "--stdout", "-1", "theirs")
    subprocess.run(["git", "am"], cwd=repository.path, input=patch.encode() + b"\n", capture_output=True)
    assert read_worktree_state(repository.git).operation is Operation.AM


def test_several_picks_with_one_resolved(repository: Repository) -> None:
    diverge(repository)
    subprocess.run(["git", "cherry-pick", "theirs~1", "theirs"], cwd=repository.path, capture_output=True)
    repository.write("readme.txt", "resolved\n")
    repository.commit("Resolved by hand")
    ground = read_worktree_state(repository.git)
    assert ground.operation is Operation.CHERRY_PICK
    assert not (repository.path / ".git/CHERRY_PICK_HEAD").exists()


def test_unmerged_files_without_an_operation(repository: Repository) -> None:
    diverge(repository)
    subprocess.run(["git", "merge", "theirs"], cwd=repository.path, capture_output=True)
    (repository.path / ".git/MERGE_HEAD").unlink()
    ground = read_worktree_state(repository.git)
    assert ground.operation is None
    error = refused(ground)
    assert "not merged" in str(error)
    assert error.found == "readme.txt"


def test_a_linked_worktree_is_not_held_up_by_its_owner(repository: Repository, tmp_path: Path) -> None:
    diverge(repository)
    repository.run("worktree", "add", "--quiet", "-b", "lane", str(tmp_path / "lane"))
    subprocess.run(["git", "merge", "theirs"], cwd=repository.path, capture_output=True)
    assert precondition_error(read_worktree_state(Git(str(tmp_path / "lane")))) is None


def test_a_changed_submodule_is_dirt_and_its_stray_files_are_not(repository: Repository, tmp_path: Path) -> None:
    other = make_repository(tmp_path / "other")
    repository.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other.path), "sub")
    repository.run("config", "-f", ".gitmodules", "submodule.sub.ignore", "all")
    repository.commit()
    inside = Repository(repository.path / "sub")
    inside.write("stray", "x\n")
    assert read_worktree_state(repository.git).dirty == ()
    inside.commit()
    assert read_worktree_state(repository.git).dirty == ("sub",)


def test_a_broken_repository_says_what_git_says(repository: Repository) -> None:
    (repository.path / ".git/index").write_bytes(b"DIRC" + b"\xff" * 40)
    with pytest.raises(GitError, match="git status: "):
        read_worktree_state(repository.git)
