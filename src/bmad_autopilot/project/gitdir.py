"""Where a work tree's repository lies. `.git`, `commondir` and `config` are read directly: asking git costs
a process, and `bmad status` has no time for one."""

import os
from typing import NamedTuple

from ..core.errors import FileError, Place
from ..files import read_text

MAX_GIT_FILE = 64 * 1024
MAX_GIT_CONFIG = 1024 * 1024


class WorkTree(NamedTuple):
    """A folder under git."""

    top: str
    git_dir: str  # its own: `.git`, `.git/worktrees/x`, `.git/modules/x`
    common_dir: str  # shared by all work trees of the repository

    @property
    def is_linked(self) -> bool:
        return self.git_dir != self.common_dir

    @property
    def is_submodule(self) -> bool:
        return "modules" in self.common_dir.rpartition("/.git/")[2].split("/")[:-1]


def find_work_tree(start: str) -> WorkTree | None:
    """The nearest folder from `start` upward with a repository; None where there is none."""
    folder = start
    while True:
        entry = os.path.join(folder, ".git")
        # Like git: a `.git` folder without HEAD is no repository, and the walk goes on.
        if os.path.isfile(entry):
            return _open(folder, _follow(entry))
        if os.path.isfile(os.path.join(entry, "HEAD")):
            return _open(folder, os.path.realpath(entry))
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def main_checkout(tree: WorkTree) -> str:
    """The work tree that owns the repository. The tree itself, where the repository is bare or keeps its
    main work tree to itself."""
    if not tree.is_linked:
        return tree.top
    core = _core_section(tree.common_dir)
    if core.get("bare", "false").lower() in ("true", "yes", "on", "1", ""):
        return tree.top
    named = core.get("worktree")
    if named is not None:
        owner = os.path.realpath(os.path.join(tree.common_dir, named))
    elif os.path.basename(tree.common_dir) == ".git":
        owner = os.path.dirname(tree.common_dir)
    else:
        return tree.top
    return owner if os.path.isdir(owner) else tree.top


def _follow(git_file: str) -> str:
    text = read_text(git_file, limit=MAX_GIT_FILE).text
    if not text.startswith("gitdir: "):
        raise FileError(
            "is not a git file",
            place=Place(git_file, 1, 1),
            found=text[:40].strip() or "an empty file",
            expected="gitdir: <folder>",
            hint=f"git worktree repair, or remove {git_file} if it is a leftover",
        )
    target = os.path.join(os.path.dirname(git_file), text[len("gitdir: ") :].rstrip("\r\n"))
    if not os.path.isdir(target):
        raise FileError(
            "names a git folder that is not there",
            place=Place(git_file, 1, 9),
            found=target,
            hint="run `git worktree repair` in the main checkout, or `git submodule update --init`",
        )
    return os.path.realpath(target)


def _open(top: str, git_dir: str) -> WorkTree:
    pointer = os.path.join(git_dir, "commondir")
    if not os.path.isfile(pointer):
        return WorkTree(top, git_dir, git_dir)
    named = read_text(pointer, limit=MAX_GIT_FILE).text.rstrip("\r\n")
    common = os.path.realpath(os.path.join(git_dir, named))
    if not os.path.isdir(common):
        raise FileError(
            "names a git folder that is not there",
            place=Place(pointer, 1, 1),
            found=named or "an empty file",
            hint="run `git worktree repair` in the main checkout",
        )
    return WorkTree(top, git_dir, common)


def _core_section(common_dir: str) -> dict[str, str]:
    """`[core]` of the repository's own configuration. `config.worktree` speaks for the main work tree."""
    values: dict[str, str] = {}
    for name in ("config", "config.worktree"):
        path = os.path.join(common_dir, name)
        if not os.path.isfile(path):
            continue
        inside = False
        for raw in read_text(path, limit=MAX_GIT_CONFIG).text.splitlines():
            line = raw.strip()
            if line.startswith("["):
                inside = line.lower().startswith("[core]")
            elif inside and line and line[0] not in "#;":
                key, _, value = line.partition("=")
                values[key.strip().lower()] = value.partition(" #")[0].partition(" ;")[0].strip().strip('"')
    return values
