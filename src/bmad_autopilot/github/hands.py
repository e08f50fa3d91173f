"""Whose hand set a row of the board: a person's word goes before an agent's, and the commits know."""

from collections.abc import Iterable
from typing import NamedTuple

from ..board.meanings import Meaning, merge
from ..board.merging import Merged, merge_boards
from ..board.sprint import board_from_text
from ..core.errors import AutopilotError, FileError
from ..files import Text
from .git import Git
from .identities import OURS, Identity
from .messages import STEP
from .trees import read_versions

MAX_COMMITS = 100  # that changed the board, the newest; a row set before them was nobody's of late
_ENTRY = f"%H%x00%P%x00%cn%x00%ce%x00%(trailers:key={STEP},valueonly)"
_PARTS = 5

Statuses = dict[str, str]


class _Commit(NamedTuple):
    sha: str
    parents: list[str]  # those that changed the board
    is_ours: bool


def merge_as_meant(
    git: Git, path: str, meaning: Meaning, base: bytes, ours: bytes, theirs: bytes, *, among: tuple[str, ...] = ()
) -> Merged | None:
    """By what they mean; where both sides set a row, a person's word stands. `path`: from the top; `among`: sides
    that may be in no branch."""
    merged = merge(meaning, base, ours, theirs)
    if merged is None or not merged.contested:
        return merged
    try:
        here, there = _Hands(git, path, among).of(merged.contested, ours, theirs)
    except AutopilotError:  # no repository, or none that can be read: then nobody is known to have set it
        return merged
    return merge_boards(base or None, ours, theirs, humans=there, humans_here=here)


class _Hands:
    def __init__(self, git: Git, path: str, among: tuple[str, ...]) -> None:
        options = ("-z", "--parents", f"--max-count={MAX_COMMITS}", f"--format={_ENTRY}")
        fields = git.ask("log", *options, "--all", "HEAD", *among, "--", path).fields
        rows = zip(*[iter(fields)] * _PARTS, strict=True)
        self._commits = {
            sha: _Commit(sha, parents.split(), Identity(name, email) == OURS or bool(steps.strip()))
            for sha, parents, name, email, steps in rows
        }
        self._contents = read_versions(git, path, self._commits)
        self._read: dict[str, Statuses] = {}

    def of(self, keys: Iterable[str], *versions: bytes) -> list[frozenset[str]]:
        """Of these rows the ones that a person set, in each version of the board."""
        wanted = list(keys)
        return [frozenset(key for key in wanted if self._is_by_hand(key, version)) for version in versions]

    def _is_by_hand(self, key: str, version: bytes) -> bool:
        starts = [sha for sha, data in self._contents.items() if data == version]
        setters = [setter for sha in starts if (setter := self._setter(sha, key)) is not None]
        return bool(setters) and not any(setter.is_ours for setter in setters)

    def _setter(self, sha: str, key: str) -> _Commit | None:
        """The commit that gave the row the status it has in this one. None: it was long ago."""
        status = self._statuses(sha).get(key)
        for _ in range(MAX_COMMITS):
            known = [parent for parent in self._commits[sha].parents if parent in self._commits]
            if len(known) < len(self._commits[sha].parents):
                return None
            same = [parent for parent in known if self._statuses(parent).get(key) == status]
            if not same:
                return self._commits[sha]
            sha = same[0]
        return None

    def _statuses(self, sha: str) -> Statuses:
        if sha not in self._read:
            try:
                board = board_from_text(Text("board", self._contents.get(sha, b"")))
                self._read[sha] = {key: row.status.raw for key, row in board.rows.items()}
            except FileError:
                self._read[sha] = {}
        return self._read[sha]
