"""A work tree and its history as dictionaries. Trees are known by a sum of their files' digests, so that a change
to one file costs one digest, whatever the size of the tree."""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from ..core.changes import Change, Contents, Kind
from ..project.state_files import owner_of

Files = Mapping[str, bytes]

LINK = b"\0link:"  # what a link's content begins with: no text file does
_MASK = (1 << 160) - 1


class Commit(NamedTuple):
    sha: str
    parent: str | None
    files: Files
    message: str
    key: str = ""  # of its trailer; empty: none of ours


@lru_cache(maxsize=65536)
def _digest(path: str, data: bytes) -> int:
    return int.from_bytes(blake2b(path.encode() + b"\0" + data, digest_size=20).digest(), "big")


@lru_cache(maxsize=65536)
def is_ignored(path: str) -> bool:
    """Git does not see our state files, nor what the sample's own `.gitignore` names."""
    return owner_of(path) is not None or path.startswith("build/") or "__pycache__/" in path


def sha_of(number: int) -> str:
    """Of the nth commit. As with git's, its first letters tell it from others."""
    return blake2b(str(number).encode(), digest_size=20).hexdigest()


class MemoryGit:
    def __init__(self, files: Files, branch: str = "main") -> None:
        self.files: dict[str, bytes] = {}
        self.listing = 0  # counts up when a file comes or goes
        self.branch = branch
        self.commits: dict[str, Commit] = {}
        self.head: str | None = None
        self.heads: dict[str, str] = {}  # of the branches that are not checked out
        self.outside: dict[str, bytes] = {}  # written beside the work tree
        self._sum = 0
        self._trees: dict[str, Files] = {}
        for path, data in files.items():
            self.write(path, data)
        self.commit_files({}, "The beginning")
        self.commit_files(self.snapshot(), "The plan")

    # the work tree

    def write(self, path: str, data: bytes) -> None:
        if not is_ignored(path):
            self._sum += _digest(path, data) - self._digest_now(path)
        self.listing += path not in self.files
        self.files[path] = data

    def remove(self, path: str) -> None:
        if path in self.files and not is_ignored(path):
            self._sum -= self._digest_now(path)
        self.listing += path in self.files
        self.files.pop(path, None)

    def _digest_now(self, path: str) -> int:
        return _digest(path, self.files[path]) if path in self.files else 0

    def tree(self) -> str:
        """Its hash; what it holds can be asked for by that from now on."""
        name = f"{self._sum & _MASK:040x}"
        if name not in self._trees:
            self._trees[name] = self.snapshot()
        return name

    def code(self, apart: Iterable[str]) -> str:
        """The same without these files."""
        return f"{(self._sum - sum(map(self._digest_now, set(apart)))) & _MASK:040x}"

    def snapshot(self) -> Files:
        return {path: data for path, data in self.files.items() if not is_ignored(path)}

    def at(self, tree: str | None) -> Files:
        return self._trees.get(tree or "", {})

    # history

    def commit_files(self, files: Files, message: str, key: str = "") -> str:
        sha = sha_of(len(self.commits) + 1)
        self.commits[sha] = Commit(sha, self.head, files, message, key)
        self.head = sha
        return sha

    def commit_paths(self, paths: Iterable[str], message: str, key: str) -> str:
        files = dict(self.head_files)
        for path in paths:
            if path in self.files and not is_ignored(path):
                files[path] = self.files[path]
            else:
                files.pop(path, None)
        return self.commit_files(files, message, key)

    @property
    def head_files(self) -> Files:
        return self.commits[self.head].files if self.head else {}

    def history(self, head: str | None) -> list[Commit]:
        """From there back."""
        found = []
        while head is not None:
            found.append(self.commits[head])
            head = self.commits[head].parent
        return found

    def find(self, key: str) -> str | None:
        return next((commit.sha for commit in self.history(self.head) if commit.key == key), None)

    def descends(self, head: str | None, baseline: str | None) -> bool:
        return baseline is None or any(commit.sha == baseline for commit in self.history(head))

    def dirty(self) -> tuple[str, ...]:
        """What differs from HEAD."""
        return tuple(changed_paths(self.head_files, self.snapshot()))

    # branches

    def head_of(self, branch: str) -> str:
        """Empty: there is no such branch."""
        return (self.head or "") if branch == self.branch else self.heads.get(branch, "")

    def check_out(self, branch: str, commit: str) -> None:
        """This branch at this commit, with its files. What git does not see stays."""
        if self.head is not None:
            self.heads[self.branch] = self.head
        self.heads.pop(branch, None)
        before, after = self.snapshot(), self.commits[commit].files
        for path in changed_paths(before, after):
            if path in after:
                self.write(path, after[path])
            else:
                self.remove(path)
        self.branch, self.head = branch, commit


def changed_paths(before: Files, after: Files) -> list[str]:
    if before is after:
        return []
    return sorted({path for path, _ in before.items() ^ after.items()})


def changes(before: Files, after: Files) -> tuple[Change, ...]:
    """Renames are found where a file has moved as it was; git also finds those that changed a little."""
    paths = changed_paths(before, after)
    gone = {before[path]: path for path in paths if path not in after}
    found = []
    for path in paths:
        if path not in after:
            found.append(Change(path, Kind.DELETED, removed=_lines(before[path])))
        elif path not in before:
            old = gone.pop(after[path], "")
            found.append(_appeared(path, after[path], old))
        else:
            found.append(_modified(path, before[path], after[path]))
    moved = {change.before for change in found if change.before}
    return tuple(change for change in found if not (change.kind is Kind.DELETED and change.path in moved))


def _appeared(path: str, data: bytes, old: str) -> Change:
    kind = Kind.RENAMED if old else Kind.ADDED
    return Change(path, kind, old, _mode(data), 0 if old else _lines(data), 0)


def _modified(path: str, old: bytes, new: bytes) -> Change:
    kind = Kind.MODIFIED if _mode(old) == _mode(new) else Kind.RETYPED
    return Change(path, kind, mode=_mode(new), added=_lines(new), removed=_lines(old))


def _mode(data: bytes) -> str:
    return "120000" if data.startswith(LINK) else "100644"


def _lines(data: bytes) -> int:
    return data.count(b"\n")


def contents(before: Files, after: Files) -> Contents:
    def read(path: str, is_after: bool) -> bytes | None:
        data = (after if is_after else before).get(path)
        return data.removeprefix(LINK) if data is not None else None

    return read
