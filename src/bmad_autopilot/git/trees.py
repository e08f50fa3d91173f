"""Reads and compares git trees. The work tree is not used."""

from collections.abc import Iterable, Iterator
from hashlib import sha1
from itertools import chain
from typing import NamedTuple

from ..core.changes import ChangeKind, ContentReader, FileChange
from .git import Git, GitError, check_revision, is_inside
from .index import GITLINK, TreeEntry, parse_raw_diff

MAX_FILE = 1024 * 1024
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # the same in every repository
_KINDS = {
    "A": ChangeKind.ADDED,
    "M": ChangeKind.MODIFIED,
    "D": ChangeKind.DELETED,
    "R": ChangeKind.RENAMED,
    "T": ChangeKind.TYPE_CHANGED,
}


def diff_trees(git: Git, before: str, after: str) -> list[FileChange]:
    """Changes from one commit or tree to another, by path."""
    check_revision(before, after)
    options = ("-r", "-z", "-M", "--raw", "--numstat", "--no-abbrev", "--ignore-submodules=none")
    answer = git.ask("diff-tree", *options, "--no-ext-diff", "--no-textconv", before, after, "--")
    fields = iter(answer.fields)
    found: dict[str, FileChange] = {}
    for head in fields:
        if not head.startswith(":"):
            _count_lines(found, chain([head], fields))
            break
        _, mode, _, _, letter = head[1:].split(" ")
        kind = _KINDS[letter[0]]
        old = next(fields) if kind is ChangeKind.RENAMED else ""
        path = next(fields)
        found[path] = FileChange(path, kind, old, "" if kind is ChangeKind.DELETED else mode, 0, 0)
    return sorted(found.values())


def _count_lines(found: dict[str, FileChange], fields: Iterator[str]) -> None:
    """Parses `added removed path`; a rename has both paths in separate fields; dashes mean binary."""
    for field in fields:
        added, removed, path = field.split("\t", 2)
        if not path:
            next(fields)
            path = next(fields)
        lines = (None, None) if added == "-" else (int(added), int(removed))
        found[path] = found[path]._replace(added=lines[0], removed=lines[1])


def fingerprint(git: Git, tree: str, excluding: Iterable[str]) -> str:
    """Hash of a tree that ignores these files."""
    check_revision(tree)
    named = frozenset(excluding)
    rows = git.ask("ls-tree", "-r", "-z", "--full-tree", tree).fields
    kept = [row for row in rows if row.partition("\t")[2] not in named]
    return sha1("\0".join(kept).encode("utf-8", "surrogateescape"), usedforsecurity=False).hexdigest()


class Blob(NamedTuple):
    object: str
    size: int


def find_blob(git: Git, revision: str, path: str) -> Blob | None:
    """The file's blob in a commit or tree."""
    check_revision(revision)
    if not is_inside(path):
        return None
    for row in git.ask("ls-tree", "-z", "-l", "--full-tree", revision, "--", path).fields:
        head, _, name = row.partition("\t")
        _, kind, blob, size = head.split()
        if name == path and kind == "blob":
            return Blob(blob, int(size))
    return None


def read_file(git: Git, revision: str, path: str) -> bytes | None:
    """Content of a file in a commit or tree; None if missing. Raises GitError if it is too large, so that the
    caller does not take it for missing."""
    blob = find_blob(git, revision, path)
    if blob is None:
        return None
    if blob.size > MAX_FILE:
        found, most = f"{blob.size / 1e6:.1f} MB", f"at most {MAX_FILE / 1e6:.0f} MB"
        raise GitError(f"{path} in {revision} is too large to be read", found=found, expected=most)
    return git.ask("cat-file", "blob", blob.object).out


def read_versions(git: Git, path: str, revisions: Iterable[str]) -> dict[str, bytes]:
    """Content of one file in each revision, read by a single process. Missing or oversized versions are left
    out."""
    wanted = list(revisions)
    check_revision(*wanted)
    if not wanted or "\n" in path:
        return {}
    feed = "".join(f"{revision}:{path}\n" for revision in wanted).encode("utf-8", "surrogateescape")
    out = git.ask("cat-file", "--batch", feed=feed).out
    found = {}
    start = 0
    for revision in wanted:
        end = out.index(b"\n", start)
        words = out[start:end].split(b" ")
        start = end + 1
        if words[-1] == b"missing":
            continue
        size = int(words[-1])
        if words[-2] == b"blob" and size <= MAX_FILE:
            found[revision] = out[start : start + size]
        start += size + 1
    return found


# Contents of the files that changed between two trees, read in batches: one process per file would cost a gate
# more than all its checks.

WINDOW = 8 * 1024 * 1024  # bytes fetched and cached at a time


def changed_contents(git: Git, before: str, after: str) -> ContentReader:
    """Reads lazily. Returns None for an oversized file or a submodule commit."""
    check_revision(before, after)
    return _Contents(git, before, after).read


class _Contents:
    def __init__(self, git: Git, before: str, after: str) -> None:
        self._git = git
        self._trees = (before, after)
        self._objects: dict[tuple[str, bool], str] | None = None
        self._sizes: dict[str, int] = {}
        self._order: list[str] = []
        self._window: dict[str, bytes] = {}

    def read(self, path: str, after: bool) -> bytes | None:
        if self._objects is None:
            self._objects = self._list()
        if (path, not after) not in self._objects and (path, after) not in self._objects:
            return self._unchanged(path)
        blob = self._objects.get((path, after))
        if blob is None or self._sizes.get(blob, MAX_FILE + 1) > MAX_FILE:
            return None
        if blob not in self._window:
            self._fetch(blob)
        return self._window[blob]

    def _list(self) -> dict[tuple[str, bool], str]:
        """Object and size of each changed path."""
        options = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
        rows = parse_raw_diff(iter(self._git.ask("diff-tree", *options, *self._trees, "--").fields))
        objects = {
            (path, side): entry.object
            for path, difference in rows.items()
            for side, entry in ((False, difference.before), (True, difference.after))
            if _is_file(entry)
        }
        self._order = list(dict.fromkeys(objects.values()))
        if self._order:
            feed = "\n".join(self._order).encode() + b"\n"
            answer = self._git.ask("cat-file", "--batch-check=%(objectname) %(objectsize)", feed=feed)
            pairs = (line.split() for line in answer.text.splitlines())
            self._sizes = {name: int(size) for name, size in pairs if size.isdigit()}  # otherwise missing
        return objects

    def _fetch(self, first: str) -> None:
        """Fetches this blob and the following ones up to WINDOW bytes: callers read files in order."""
        chosen: list[str] = []
        room = WINDOW
        for blob in self._order[self._order.index(first) :]:
            size = self._sizes.get(blob, MAX_FILE + 1)
            if size > MAX_FILE:
                continue
            if size > room and chosen:
                break
            chosen.append(blob)
            room -= size
        out = self._git.ask("cat-file", "--batch", feed="\n".join(chosen).encode() + b"\n").out
        self._window = {}
        start = 0
        for blob in chosen:
            start = out.index(b"\n", start) + 1
            self._window[blob] = out[start : start + self._sizes[blob]]
            start += self._sizes[blob] + 1

    def _unchanged(self, path: str) -> bytes | None:
        blob = find_blob(self._git, self._trees[1], path)
        return None if blob is None or blob.size > MAX_FILE else self._git.ask("cat-file", "blob", blob.object).out


def _is_file(entry: TreeEntry) -> bool:
    return entry.exists and entry.mode != GITLINK
