"""Submodules come from the main checkout's own copies, LFS' files as pointers where there is no git-lfs."""

import os
import shutil
from pathlib import Path

import pytest

from tests.support.repositories import Repository, make_repository
from tests.support.worktree_projects import EPIC, WorktreeProject, worktree_repository

pytestmark = pytest.mark.real  # many processes

LOCAL = ("-c", "protocol.file.allow=always")


@pytest.fixture
def library(sample: WorktreeProject) -> str:
    """A submodule whose origin is out of reach, as it would be without a network."""
    origin = make_repository(sample.top.parent / "library")
    sample.repository.run(*LOCAL, "submodule", "--quiet", "add", str(origin.path), "libs/one")
    sample.repository.commit("With a library")
    shutil.move(origin.path, sample.top.parent / "gone")
    return str(origin.path)


def test_a_submodule_without_the_network(sample: WorktreeProject, library: str) -> None:
    config = sample.repository.read(".git/config")
    made = sample.make()
    module = Repository(Path(made.folder, "libs/one"))
    assert module.read("readme.txt") == b"hello\n"
    assert module.run("config", "remote.origin.url") == library
    assert not Path(module.run("rev-parse", "--absolute-git-dir"), "objects/info/alternates").exists()
    assert worktree_repository(made).status() == []
    assert made.notes == ()
    assert sample.repository.read(".git/config") == config

    module.write("untracked", "x")
    assert "libs/one" in sample.worktrees().remove(EPIC).reason
    module.run("add", "--all")
    module.run("commit", "--quiet", "--message", "Only here")
    assert "libs/one" in sample.worktrees().remove(EPIC).reason
    module.run("branch", "kept")
    module.run("reset", "--quiet", "--hard", "HEAD^")
    assert "nowhere else: libs/one" in sample.worktrees().remove(EPIC).reason
    module.run("branch", "--quiet", "-D", "kept", "main")
    assert sample.worktrees().remove(EPIC).is_gone


def test_a_submodule_that_cannot_be_had_is_told(sample: WorktreeProject, library: str) -> None:
    shutil.rmtree(sample.top / ".git/modules")
    made = sample.make()
    assert any("libs/one: not initialised in the main checkout" in note for note in made.notes)
    assert os.listdir(f"{made.folder}/libs/one") == []


def test_a_trap_in_gitmodules(sample: WorktreeProject) -> None:
    lines = ['[submodule "../../x"]\n\tpath = ../outside\n', '[submodule "a=b"]\n\tpath = x\n', "[broken\n"]
    for number, text in enumerate(lines):
        sample.repository.write(".gitmodules", text)
        sample.repository.commit()
        assert worktree_repository(sample.make(f"epic-{number}", f"feature/{number}")).status() == []
    assert not (sample.top.parent / "outside").exists()


def test_pointers_where_lfs_is_not_installed(sample: WorktreeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n"
    sample.repository.write("art/a.png", pointer)
    sample.repository.commit()
    sample.repository.write("art/.gitattributes", "*.png filter=lfs -text\n")
    sample.repository.run("add", "art/.gitattributes")
    sample.repository.run("commit", "--quiet", "--message", "Large files")
    for key, value in (
        ("required", "true"),
        ("process", "git-lfs filter-process"),
        ("smudge", "git-lfs smudge %f"),
    ):
        sample.repository.run("config", f"filter.lfs.{key}", value)
    made = sample.make()
    assert worktree_repository(made).read("art/a.png").decode() == pointer
    assert any("git-lfs is not installed" in note for note in made.notes)


def test_files_of_lfs_where_it_is_installed(
    sample: WorktreeProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "bin/git-lfs"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\ntr a-z A-Z\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    sample.repository.write(".gitattributes", "*.png filter=lfs\n")
    sample.repository.write("a.png", "stored\n")
    sample.repository.commit()
    sample.repository.run("config", "filter.lfs.smudge", "git-lfs smudge")
    made = sample.make()
    assert worktree_repository(made).read("a.png") == b"STORED\n"
    assert made.notes == ()
