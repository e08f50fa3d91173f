"""A desk in memory: what a scripted agent does there is written down first, and done when its time has come."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from .memory_board import merged
from .memory_git import LINK, MemoryGit


class Deed(NamedTuple):
    """One thing an agent did; `do` does it to the world as it is then."""

    path: str
    do: Callable[[MemoryGit], None]


class MemoryDesk:
    """Reads the world as it is, sees its own writing, and changes nothing: `deeds` are for whoever runs it."""

    def __init__(self, git: MemoryGit, board: str) -> None:
        self._git = git
        self._board = board
        self._own: dict[str, bytes | None] = {}
        self.deeds: list[Deed] = []
        self.said: list[str] = []

    def read(self, path: str) -> bytes | None:
        return self._own[path] if path in self._own else self._git.files.get(path)

    def write(self, path: str, data: bytes) -> None:
        before = self.read(path)
        self._own[path] = data
        if path == self._board and before is not None:
            self._did(path, lambda git: git.write(path, merged(before, data, git.files.get(path, before))))
        else:
            self._did(path, lambda git: git.write(path, data))

    def remove(self, path: str) -> None:
        self._own[path] = None
        self._did(path, lambda git: git.remove(path))

    def paths(self) -> Iterable[str]:
        known = [*self._git.files, *(path for path in self._own if path not in self._git.files)]
        return [path for path in known if self.read(path) is not None]

    def head(self) -> str:
        return self._git.head or ""

    def link(self, path: str, target: str) -> None:
        self.write(path, LINK + target.encode())

    def commit(self, message: str) -> None:
        self._did("", lambda git: _commit(git, message))

    def switch(self, branch: str) -> None:
        self._did("", lambda git: setattr(git, "branch", branch))

    def rewind(self) -> None:
        self._did("", _rewind)

    def write_outside(self, name: str, data: bytes) -> None:
        self._did("", lambda git: git.outside.__setitem__(name, data))

    def say(self, text: str) -> None:
        self.said.append(text)

    def _did(self, path: str, do: Callable[[MemoryGit], None]) -> None:
        self.deeds.append(Deed(path, do))


def _commit(git: MemoryGit, message: str) -> None:
    git.commit_files(git.snapshot(), message)


def _rewind(git: MemoryGit) -> None:
    parent = git.commits[git.head].parent if git.head else None
    if parent is not None:
        git.head = parent
