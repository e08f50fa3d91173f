"""A request to the simulated GitHub's REST, and its answer."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..model import SimGitHub


class Ask(NamedTuple):
    model: SimGitHub
    viewer: str
    parts: tuple[str, ...]  # of the path, as the pattern has found them
    query: Mapping[str, str]
    body: Mapping[str, Any]
    accept: str = ""

    @property
    def number(self) -> int:
        return int(self.parts[0])


class Reply(NamedTuple):
    status: int
    body: Any = None  # a list is shown by pages; bytes as they are
    headers: Mapping[str, str] = {}


Handler = Callable[[Ask], Reply]
Routes = list[tuple[str, str, Handler]]
