"""Taking in one call's events, one by one: a night's work of them is never held in memory."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from .events import ERROR, JSON, Event

_MAX_STDERR = 20
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class Hearing:
    """What has been heard so far; each client's own says what it takes from an event."""

    stderr: list[str] = field(default_factory=list)  # for a message and nothing else

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self:
        heard = cls()
        for event in events:
            heard.hear(event)
        return heard

    def hear(self, event: Event) -> None:
        if event.kind == JSON and isinstance(event.data, dict):
            self.take(event.data)
        elif event.kind == ERROR and isinstance(event.data, str) and len(self.stderr) < _MAX_STDERR:
            self.stderr.append(_COLOURS.sub("", event.data))

    def take(self, data: dict[str, Any]) -> None:
        """One JSON event of the client's. Those it does not know say nothing."""
        raise NotImplementedError
