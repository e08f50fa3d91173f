import os
from pathlib import Path

import pytest

from bmad_autopilot.github.staging import hidden_paths, stage
from tests.github.repositories import ODD_NAMES, Repository, make_repository


def test_new_changed_and_deleted_files_are_seen_by_a_reviewer(repository: Repository) -> None:
    repository.write("gone", "x\n")
    repository.commit()
    (repository.path / "gone").unlink()
    repository.write("new", "x\n")
    repository.write("readme.txt", "changed\n")
    repository.write("other", "not named\n")
    assert stage(repository.git, ["new", "readme.txt", "gone"]) == ["new", "readme.txt", "gone"]
    assert repository.status() == ["?? other", "A  new", "D  gone", "M  readme.txt"]


def test_staging_twice_is_staging_once(repository: Repository) -> None:
    repository.write("new", "x\n")
    for _ in range(2):
        stage(repository.git, ["new", "new"])
    assert repository.status() == ["A  new"]


def test_ignored_and_foreign_paths_are_passed_over(repository: Repository, tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("outside\n")
    (repository.path / "link").symlink_to(tmp_path)
    repository.write(".gitignore", "*.log\nlink\n.gitignore\n")
    repository.write("x.log", "ignored\n")
    named = ["x.log", "link/secret", "../secret", "/etc/passwd", ".git/HEAD", "no/such/file", "\ud800", "a\0b"]
    stage(repository.git, named)
    assert repository.status() == []


def test_a_link_is_staged_as_a_link(repository: Repository, tmp_path: Path) -> None:
    (repository.path / "link").symlink_to(tmp_path)
    stage(repository.git, ["link"])
    assert repository.run("ls-files", "--stage", "link").startswith("120000 ")


def test_a_file_behind_a_new_link_is_gone(repository: Repository, tmp_path: Path) -> None:
    repository.write("folder/inside", "x\n")
    repository.commit()
    (repository.path / "folder").rename(tmp_path / "outside")
    (repository.path / "folder").symlink_to(tmp_path / "outside")
    stage(repository.git, ["folder/inside"])
    assert repository.run("ls-files") == "readme.txt"


@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_a_file_replaced_by_what_git_cannot_keep_is_gone(repository: Repository, kind: str) -> None:
    target = repository.path / "readme.txt"
    target.unlink()
    if kind == "fifo":
        os.mkfifo(target)
    else:
        target.mkdir()
    stage(repository.git, ["readme.txt"])
    assert repository.run("ls-files") == ""


def test_a_repository_inside_keeps_its_files(repository: Repository) -> None:
    inner = make_repository(repository.path / "inner")
    inner.write("new", "x\n")
    stage(repository.git, ["inner/new", "inner/readme.txt"])
    assert repository.run("ls-files") == "readme.txt"


def test_odd_names_are_staged_and_ignored_alike(repository: Repository) -> None:
    for name in ODD_NAMES:
        repository.write(name, "x\n")
    stage(repository.git, ODD_NAMES)
    assert repository.status() == sorted(f"A  {name}" for name in ODD_NAMES)
    repository.run("rm", "-r", "--quiet", "--cached", "--force", ".")
    repository.write(".gitignore", "*\n")
    stage(repository.git, ODD_NAMES)
    assert repository.run("ls-files") == ""


def test_nothing_named_is_nothing_done(repository: Repository) -> None:
    (repository.path / ".git/index.lock").touch()
    assert stage(repository.git, []) == []


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_a_flag_that_hides_a_change_keeps_nothing_out(repository: Repository, flag: str) -> None:
    repository.run("update-index", flag, "readme.txt")
    repository.write("readme.txt", "changed\n")
    assert list(hidden_paths(repository.git)) == ["readme.txt"]
    assert stage(repository.git, ["readme.txt"]) == ["readme.txt"]
    assert repository.run("show", ":readme.txt") == "changed"
    assert hidden_paths(repository.git) == {}
