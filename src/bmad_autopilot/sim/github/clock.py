"""A clock of GitHub's own, where no world lends it one."""

import heapq
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """What a world in memory has too, so that both can share it."""

    now: float

    def schedule(self, at: float, event: Callable[[], None]) -> None: ...


class SimClock:
    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def schedule(self, at: float, event: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (max(at, self.now), self._number, event))

    def next_event(self) -> float | None:
        return self._events[0][0] if self._events else None

    def advance(self, to: float) -> None:
        while self._events and self._events[0][0] <= to:
            at, _, event = heapq.heappop(self._events)
            self.now = max(self.now, at)
            event()
        self.now = max(self.now, to)
