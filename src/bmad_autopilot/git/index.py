"""Copies the index, compares it with trees, and rewrites single entries."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from ..io.files import copy_file
from .git import Git, check_revision, encode

GITLINK = "160000"
MAX_INDEX = 1024 * 1024 * 1024  # bytes: ten million files
_NO_MODE = "000000"


class TreeEntry(NamedTuple):
    """The object at a path: a blob, a link, a submodule commit, or nothing."""

    mode: str
    object: str

    @property
    def exists(self) -> bool:
        return self.mode != _NO_MODE


class TreeDifference(NamedTuple):
    before: TreeEntry
    after: TreeEntry
    status: str = "M"


@contextmanager
def temporary_index() -> Iterator[str]:
    """Path for a temporary index, outside the git folder: a kill would leave it there forever."""
    folder = tempfile.mkdtemp(prefix="autopilot-index-")
    try:
        yield os.path.join(folder, "index")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def copied_index(git: Git) -> Iterator[str]:
    """A working copy of the index. git replaces its index by rename, so the copy is consistent."""
    with temporary_index() as copy:
        with suppress(FileNotFoundError):  # no file was ever staged
            _copy(os.path.join(git.git_dir, "index"), copy)
        yield copy


def _copy(original: str, copy: str) -> None:
    """Keeps the modification time: git rereads files as recent as the index, because they may have changed within
    the same clock tick. With a newer copy it would miss such a change."""
    info = os.lstat(original)
    copy_file(original, copy, limit=MAX_INDEX)
    os.utime(copy, ns=(info.st_atime_ns, info.st_mtime_ns))


def compare_index(git: Git, tree: str, *, index: str | None = None) -> dict[str, TreeDifference]:
    """Every path where the index differs from `tree`."""
    check_revision(tree)
    # Report submodules even if .gitmodules, which agents can write, says to ignore them.
    options = ("--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
    return parse_raw_diff(iter(git.ask("diff-index", *options, tree, "--", index=index).fields))


def parse_raw_diff(fields: Iterator[str]) -> dict[str, TreeDifference]:
    """Parses git's raw diff without renames: `:before after object object letter`, then the path."""
    found = {}
    for head in fields:
        before, after, old, new, letter = head[1:].split(" ")
        found[next(fields)] = TreeDifference(TreeEntry(before, old), TreeEntry(after, new), letter[0])
    return found


def write_entries(git: Git, entries: Iterable[tuple[str, TreeEntry]], *, index: str | None = None) -> None:
    """Sets these index entries without looking at the work tree. A later entry replaces an earlier one it collides
    with (a file where a folder was)."""
    rows = [
        f"{entry.mode if entry.exists else '0'} {entry.object}\t".encode() + encode(path) + b"\0"
        for path, entry in entries
    ]
    if rows:
        git.ask("update-index", "--replace", "-z", "--index-info", feed=b"".join(rows), index=index)
