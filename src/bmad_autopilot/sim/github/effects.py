"""Every change on the simulated GitHub, in order, with what was true at that moment."""

from collections.abc import Iterator
from typing import Any, NamedTuple


class GitHubEffect(NamedTuple):
    at: float
    by: str  # a login; empty: GitHub itself
    kind: str
    data: dict[str, Any]


class Effects:
    def __init__(self) -> None:
        self.all: list[GitHubEffect] = []

    def of(self, *kinds: str, by: str | None = None) -> Iterator[GitHubEffect]:
        return (one for one in self.all if one.kind in kinds and (by is None or one.by == by))

    def add(self, at: float, by: str, kind: str, **data: Any) -> None:
        self.all.append(GitHubEffect(at, by, kind, data))
