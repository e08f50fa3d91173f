"""The work tree's hash, whatever the clock did."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from bmad_autopilot.agents.shim.tree_snapshot import _copy as copy_index
from bmad_autopilot.agents.shim.tree_snapshot import is_changed, look, worktree_status
from tests.support.agent_stubs import init_repository
from tests.support.bmad_project import git


def test_an_edit_in_the_tick_of_the_indexs_own_writing_is_seen(tmp_path: Path) -> None:
    """Same size, same time: git reads such a file again only because its index is no newer."""
    tree = init_repository(tmp_path / "tree")
    readme, index = tree / "readme.txt", tree / ".git" / "index"
    git(tree, "config", "core.checkStat", "minimal")  # nobody can set a ctime back
    git(tree, "config", "core.trustctime", "false")
    moment = 1_700_000_000_000_000_000
    os.utime(readme, ns=(moment, moment))
    git(tree, "update-index", "--refresh")
    readme.write_text("HELLO\n")
    for path in (readme, index):
        os.utime(path, ns=(moment, moment))
    seen = look(str(tree), dict(os.environ), str(tmp_path / "index"))
    assert seen.tree is not None
    assert git(tree, "show", f"{seen.tree}:readme.txt").strip() == "HELLO"


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
@pytest.mark.parametrize("change", ["written", "deleted"])
def test_a_change_that_an_index_flag_hides_is_seen(tmp_path: Path, flag: str, change: str) -> None:
    tree = init_repository(tmp_path / "tree")
    name = 'caf\u00e9 "notes".txt'  # git quotes such a name unless it is asked not to
    for path in (tree / name, tree / "deep" / "file.txt"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("before\n")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "Two files")
    git(tree, "update-index", flag, name, "deep/file.txt")
    for path in (tree / name, tree / "deep" / "file.txt"):
        path.write_text("after\n") if change == "written" else path.unlink()
    seen = look(str(tree / "deep" if change == "written" else tree), dict(os.environ), str(tmp_path / "index"))
    names = git(tree, "ls-tree", "-r", "-z", "--name-only", str(seen.tree)).split("\0")
    assert ("deep/file.txt" in names) == (name in names) == (change == "written")
    if change == "written":
        assert (
            git(tree, "show", f"{seen.tree}:{name}")
            == git(tree, "show", f"{seen.tree}:deep/file.txt")
            == "after\n"
        )
    assert git(tree, "ls-files", "-v", name)[0] in "hS", "the repository's own index is left alone"


def test_files_outside_a_sparse_checkout_are_not_deleted(tmp_path: Path) -> None:
    tree = init_repository(tmp_path / "tree")
    for folder in ("here", "there"):
        (tree / folder).mkdir()
        (tree / folder / "file.txt").write_text("one\n")
    git(tree, "add", "--all")
    git(tree, "commit", "--quiet", "--message", "Two folders")
    git(tree, "sparse-checkout", "set", "here")
    assert not (tree / "there").exists()
    (tree / "there").mkdir()
    (tree / "there" / "file.txt").write_text("two\n")
    (tree / "there" / "new.txt").write_text("new\n")
    seen = look(str(tree), dict(os.environ), str(tmp_path / "index"))
    assert git(tree, "show", f"{seen.tree}:there/file.txt") == "two\n"
    shutil.rmtree(tree / "there")
    seen = look(str(tree), dict(os.environ), str(tmp_path / "index"))
    assert git(tree, "show", f"{seen.tree}:there/file.txt") == "one\n"


def test_a_branch_that_goes_on_by_itself_is_no_change_of_an_agents(tmp_path: Path) -> None:
    """What we merge, and what the remote has; not what somebody commits there."""
    tree, bare = init_repository(tmp_path / "tree"), tmp_path / "bare.git"
    environment = dict(os.environ)
    git(tree, "init", "--quiet", "--bare", str(bare))
    git(tree, "remote", "add", "origin", str(bare))
    git(tree, "push", "--quiet", "--set-upstream", "origin", "HEAD")

    before = worktree_status(str(tree), environment)
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "Epic 1\n\nAutopilot-Step: run/01-dev/1")
    assert not is_changed(str(tree), environment, before)

    before = worktree_status(str(tree), environment)
    git(tree, "commit", "--quiet", "--allow-empty", "--message", "Theirs")
    assert is_changed(str(tree), environment, before)
    git(tree, "push", "--quiet")
    assert not is_changed(str(tree), environment, before)

    (tree / "stray.txt").write_text("x")
    assert is_changed(str(tree), environment, before)
    (tree / "stray.txt").unlink()
    git(tree, "switch", "--quiet", "--create", "elsewhere")
    assert is_changed(str(tree), environment, before)


@pytest.mark.parametrize("odd", ["a link to a device", "a link to a file", "a pipe", "a folder"])
def test_an_index_that_is_no_file_is_not_copied(tmp_path: Path, odd: str) -> None:
    """A copy of /dev/zero would never end, and opening a pipe would wait for a writer."""
    index = tmp_path / "index"
    (tmp_path / "users").write_text("mine")
    make = {
        "a link to a device": lambda: index.symlink_to("/dev/zero"),
        "a link to a file": lambda: index.symlink_to(tmp_path / "users"),
        "a pipe": lambda: os.mkfifo(index),
        "a folder": lambda: index.mkdir(),
    }
    make[odd]()
    copy_index(str(index), str(tmp_path / "copy"))
    assert not (tmp_path / "copy").exists()


def test_our_copy_of_the_index_is_not_written_through_a_link(tmp_path: Path) -> None:
    tree, users = init_repository(tmp_path / "tree"), tmp_path / "users"
    users.write_text("mine")
    (tmp_path / "index").symlink_to(users)
    assert look(str(tree), dict(os.environ), str(tmp_path / "index")).tree is not None
    assert users.read_text() == "mine"


def test_a_lock_left_by_a_killed_look_does_not_stop_the_next(tmp_path: Path) -> None:
    """git is killed with its caller while it writes our index; the next look finds its lock."""
    tree, index = init_repository(tmp_path / "tree"), tmp_path / "call" / "index"
    index.parent.mkdir()
    programs = tmp_path / "bin"
    programs.mkdir()
    real = shutil.which("git")
    killer = programs / "git"
    killer.write_text(
        f'#!/bin/sh\ncase "$*" in *" add "*) : > "$GIT_INDEX_FILE.lock"; kill -9 $PPID; kill -9 $$;; esac\n'
        f'exec {real} "$@"\n'
    )
    killer.chmod(0o755)
    code = (
        "import os, sys; from bmad_autopilot.agents.shim.tree_snapshot import look;"
        "look(sys.argv[1], {**os.environ, 'PATH': sys.argv[3] + ':' + os.environ['PATH']}, sys.argv[2])"
    )
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}"}
    done = subprocess.run([sys.executable, "-c", code, str(tree), str(index), str(programs)], env=environment)
    assert done.returncode == -9
    assert [path for path in index.parent.iterdir() if path.suffix == ".lock"]

    seen = look(str(tree), dict(os.environ), str(index))
    assert (seen.problem, seen.tree) == ("", git(tree, "rev-parse", "HEAD^{tree}").strip())
    assert list(index.parent.iterdir()) == [], "what the killed one left is removed"


def test_a_lock_of_an_earlier_version_is_no_obstacle(tmp_path: Path) -> None:
    tree = init_repository(tmp_path / "tree")
    for name in ("index", "index.lock"):
        (tmp_path / name).write_bytes(b"")
    seen = look(str(tree), dict(os.environ), str(tmp_path / "index"))
    assert (seen.problem, seen.tree) == ("", git(tree, "rev-parse", "HEAD^{tree}").strip())


def test_the_index_of_a_look_that_is_under_way_is_left_alone(tmp_path: Path) -> None:
    tree = init_repository(tmp_path / "tree")
    theirs = tmp_path / f"index-{os.getppid()}-0123abcd.lock"
    theirs.write_bytes(b"")
    other = tmp_path / "index-of-another-thing"
    other.write_bytes(b"")
    assert look(str(tree), dict(os.environ), str(tmp_path / "index")).tree
    assert theirs.exists()
    assert other.exists()
