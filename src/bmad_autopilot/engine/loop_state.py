"""What an action needs of the loop it is part of."""

from typing import Any, Protocol

from ..core.records import RunRecord
from .doors import Doors
from .lane import Lane


class Loop(Protocol):
    doors: Doors
    lane: Lane
    run: RunRecord
    waited_for: str  # the question that was waited for here, by this process

    def note(self, kind: str, /, **data: Any) -> None: ...
