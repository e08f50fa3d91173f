"""Marks worktrees as ours: an intent in our state folder before creation, and a mark in the worktree's git folder
once it is complete. Removing the worktree removes its mark."""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ...core.errors import FileError
from ...io.files import read_bytes, read_text, write_atomic
from ...project.root import Root, find_work_tree

MARK = "bmad-autopilot-worktree.json"
VERSION = 1


class Mark(NamedTuple):
    epic: str
    part: str  # the project's folder below git's top
    copied: Mapping[str, str]  # path relative to the top → stamp of our copy
    prepared: tuple[str, ...] | None = None  # the post-create commands that succeeded; None: not run yet


class Intent(NamedTuple):
    """Written before the worktree is created."""

    epic: str
    part: str


def read_mark(admin: str) -> Mark | None:
    """None if there is no readable mark."""
    data = _read(os.path.join(admin, MARK))
    intent, copied, prepared = _intent(data), data.get("copied"), data.get("prepared")
    if intent is None or not isinstance(copied, dict) or not _are_texts(copied.values()):
        return None
    if not isinstance(prepared, list) or not _are_texts(prepared):
        return Mark(intent.epic, intent.part, copied)
    return Mark(intent.epic, intent.part, copied, tuple(prepared))


def write_mark(admin: str, mark: Mark) -> None:
    _write(os.path.join(admin, MARK), mark._asdict())


def read_intent(path: str) -> Intent | None:
    return _intent(_read(path))


def _intent(data: Mapping[str, Any]) -> Intent | None:
    epic, part = data.get("epic"), data.get("part")
    return Intent(epic, part) if isinstance(epic, str) and isinstance(part, str) else None


def write_intent(path: str, intent: Intent) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _write(path, intent._asdict())


def drop_intent(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _read(path: str) -> dict[str, Any]:
    try:
        data = json.loads(read_bytes(path))
    except (FileError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) and data.get("version") == VERSION else {}


def _write(path: str, data: Mapping[str, object]) -> None:
    write_atomic(path, json.dumps({"version": VERSION, **data}).encode())


# Listing lane worktrees from their marks, without starting git.

MAX_POINTER = 64 * 1024
MAX_WORKTREES = 500  # that are inspected
_HEAD = "ref: refs/heads/"


class LaneWorktree(NamedTuple):
    """An existing worktree of ours."""

    epic: str
    folder: str  # the project's folder in it
    branch: str  # empty: no branch checked out


def list_lane_worktrees(root: Root) -> list[LaneWorktree]:
    """Sorted by epic. Deleted or broken worktrees are left out."""
    tree = find_work_tree(root.path)
    if tree is None:
        return []
    admins = os.path.join(tree.common_dir, "worktrees")
    try:
        names = sorted(os.listdir(admins))[:MAX_WORKTREES]
    except OSError:
        return []
    part = os.path.relpath(os.path.realpath(root.path), tree.top)
    found = [one for name in names if (one := _read_lane_worktree(os.path.join(admins, name), part)) is not None]
    return sorted(found)


def checked_out_branch(folder: str) -> str:
    """The branch checked out in this work tree; empty if none or no repository."""
    tree = find_work_tree(folder)
    return _branch(tree.git_dir) if tree is not None else ""


def _read_lane_worktree(admin: str, part: str) -> LaneWorktree | None:
    if not os.path.exists(os.path.join(admin, MARK)):
        return None
    mark = read_mark(admin)
    if mark is None or mark.part != part:
        return None
    pointer = _line(os.path.join(admin, "gitdir"))
    # Newer versions of git may write a relative path.
    top = os.path.dirname(os.path.normpath(os.path.join(admin, pointer)))
    if not pointer or not os.path.exists(os.path.join(top, ".git")):
        return None
    return LaneWorktree(mark.epic, os.path.normpath(os.path.join(top, part)), _branch(admin))


def _branch(git_dir: str) -> str:
    head = _line(os.path.join(git_dir, "HEAD"))
    return head.removeprefix(_HEAD) if head.startswith(_HEAD) else ""


def _line(path: str) -> str:
    try:
        return read_text(path, limit=MAX_POINTER).text.rstrip("\r\n")
    except FileError:
        return ""
