"""REST request and reply, and the type of a route table."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from bmad_autopilot.sim.github.model import SimGitHub


class RestRequest(NamedTuple):
    model: SimGitHub
    viewer: str
    parts: tuple[str, ...]  # the groups of the route's pattern
    query: Mapping[str, str]
    body: Mapping[str, Any]
    accept: str = ""

    @property
    def number(self) -> int:
        return int(self.parts[0])


class RestReply(NamedTuple):
    status: int
    body: Any = None  # lists are paginated, bytes sent as they are
    headers: Mapping[str, str] = {}


Handler = Callable[[RestRequest], RestReply]
Routes = list[tuple[str, str, Handler]]
