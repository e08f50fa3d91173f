"""The index as a table of paths: copied, compared with a tree, rewritten row by row."""

import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import NamedTuple

from ..files import copy_file
from .git import Git, check_revision
from .paths import encode

GITLINK = "160000"
MAX_INDEX = 1024 * 1024 * 1024  # bytes: ten million files
_NOTHING = "000000"


class Entry(NamedTuple):
    """What a path is: a blob, a link, another repository's commit, or nothing."""

    mode: str
    object: str

    @property
    def is_there(self) -> bool:
        return self.mode != _NOTHING


class Difference(NamedTuple):
    before: Entry
    after: Entry
    letter: str = "M"


@contextmanager
def empty_index() -> Iterator[str]:
    """A place for an index of ours, in a folder that goes away: in git's own, a kill would leave it for ever."""
    folder = tempfile.mkdtemp(prefix="autopilot-index-")
    try:
        yield os.path.join(folder, "index")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def copied_index(git: Git) -> Iterator[str]:
    """A copy to work on. git replaces its index by a rename, so the copy is one whole state."""
    with empty_index() as copy:
        with suppress(FileNotFoundError):  # nothing was ever added
            _copy(os.path.join(git.git_dir, "index"), copy)
        yield copy


def _copy(original: str, copy: str) -> None:
    """With its time: git reads again each file as young as the index, because it may have changed in the same
    tick without a trace. In a copy that seems younger, such a change would be missed."""
    info = os.lstat(original)
    copy_file(original, copy, limit=MAX_INDEX)
    os.utime(copy, ns=(info.st_atime_ns, info.st_mtime_ns))


def compare_index(git: Git, tree: str, *, index: str | None = None) -> dict[str, Difference]:
    """Every path where the index is not as `tree`."""
    check_revision(tree)
    # A submodule is told even where .gitmodules, a file agents can write, says that it is to be ignored.
    options = ("--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
    return read_raw(iter(git.ask("diff-index", *options, tree, "--", index=index).fields))


def read_raw(fields: Iterator[str]) -> dict[str, Difference]:
    """git's raw form without renames: `:before after object object letter`, then the path."""
    found = {}
    for head in fields:
        before, after, old, new, letter = head[1:].split(" ")
        found[next(fields)] = Difference(Entry(before, old), Entry(after, new), letter[0])
    return found


def write_entries(git: Git, entries: Iterable[tuple[str, Entry]], *, index: str | None = None) -> None:
    """Set these rows to what is said, the work tree unseen. A later one replaces an earlier one it collides with
    (a file where a folder was)."""
    rows = [
        f"{entry.mode if entry.is_there else '0'} {entry.object}\t".encode() + encode(path) + b"\0"
        for path, entry in entries
    ]
    if rows:
        git.ask("update-index", "--replace", "-z", "--index-info", feed=b"".join(rows), index=index)
