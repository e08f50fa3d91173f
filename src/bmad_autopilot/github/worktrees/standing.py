"""The worktrees of lanes, by their marks alone: whoever only looks starts no git."""

import os
from typing import NamedTuple

from ...core.errors import FileError
from ...files import read_text
from ...project.gitdir import find_work_tree
from ...project.root import Root
from .marks import MARK, read_mark

MAX_POINTER = 64 * 1024
MOST = 500  # that are looked at
_HEAD = "ref: refs/heads/"


class Standing(NamedTuple):
    """A worktree of ours that is there."""

    epic: str
    folder: str  # the project in it
    branch: str  # empty: none is checked out


def standing_worktrees(root: Root) -> list[Standing]:
    """By epic. A folder that somebody took away or broke is left out."""
    tree = find_work_tree(root.path)
    if tree is None:
        return []
    admins = os.path.join(tree.common_dir, "worktrees")
    try:
        names = sorted(os.listdir(admins))[:MOST]
    except OSError:
        return []
    part = os.path.relpath(os.path.realpath(root.path), tree.top)
    found = [one for name in names if (one := _standing(os.path.join(admins, name), part)) is not None]
    return sorted(found)


def branch_here(folder: str) -> str:
    """The branch that is checked out in this work tree; empty: none, or no repository."""
    tree = find_work_tree(folder)
    return _branch(tree.git_dir) if tree is not None else ""


def _standing(admin: str, part: str) -> Standing | None:
    if not os.path.exists(os.path.join(admin, MARK)):
        return None
    mark = read_mark(admin)
    if mark is None or mark.part != part:
        return None
    pointer = _line(os.path.join(admin, "gitdir"))
    # Newer versions of git may write it relative to where it stands.
    top = os.path.dirname(os.path.normpath(os.path.join(admin, pointer)))
    if not pointer or not os.path.exists(os.path.join(top, ".git")):
        return None
    return Standing(mark.epic, os.path.normpath(os.path.join(top, part)), _branch(admin))


def _branch(git_dir: str) -> str:
    head = _line(os.path.join(git_dir, "HEAD"))
    return head.removeprefix(_HEAD) if head.startswith(_HEAD) else ""


def _line(path: str) -> str:
    try:
        return read_text(path, limit=MAX_POINTER).text.rstrip("\r\n")
    except FileError:
        return ""
