"""The contents of files that changed between two trees, fetched a good many at a time: a process for each would
cost a gate more than all its checks."""

from ..core.changes import Contents
from .git import Git, check_revision
from .index import GITLINK, Entry, read_raw
from .trees import MAX_FILE, find_blob

WINDOW = 8 * 1024 * 1024  # fetched at once, and all that is kept


def contents(git: Git, before: str, after: str) -> Contents:
    """Nothing is read until something is asked for. Too large a file, or another repository's commit, is None."""
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
        """Which object each changed path is, and how large."""
        options = ("-r", "-z", "--raw", "--no-renames", "--no-abbrev", "--ignore-submodules=none")
        rows = read_raw(iter(self._git.ask("diff-tree", *options, *self._trees, "--").fields))
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
            self._sizes = {name: int(size) for name, size in pairs if size.isdigit()}  # else it is missing
        return objects

    def _fetch(self, first: str) -> None:
        """This one and those that follow it, as many as go into the window: readers go from file to file."""
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


def _is_file(entry: Entry) -> bool:
    return entry.is_there and entry.mode != GITLINK
