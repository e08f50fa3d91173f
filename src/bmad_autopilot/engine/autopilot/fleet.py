"""Lanes beside each other: which of them may start an agent, which may be merged, whether another can be begun.
With one at a time in the checkout nothing of all this holds anybody up."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ..seats import Seat, Seats, Slots
from .epics import Epics
from .lanes import Held
from .ranking import Ranking

MAX_CRASHES = 3  # of a lane, in a row
PAUSE = 5.0  # seconds after the first of them; each time three times as many


class Fleet:
    def __init__(self, agents: int, wake: Callable[[], None], *, mend_first: bool) -> None:
        self._agents = agents
        self._wake = wake
        self._ranking = Ranking(agents, mending_first=mend_first)
        self._slots = Slots(agents, self._first) if agents else None
        self._turns = Slots(1, lambda lanes: lanes[0]) if agents else None
        self._lock = threading.RLock()
        self._developing: set[str] = set()
        self._resting: set[str] = set()
        self._turned: set[str] = set()
        self._changed = False
        self._crashes: Counter[str] = Counter()

    def seats(self, lane: str) -> Seats:
        return Seats(Seat(self._slots, lane), Seat(self._turns, lane, lambda: self._is_turn(lane)))

    # what the supervisor does

    def begin(self, lane: str, number: str, epics: Epics) -> None:
        with self._lock:
            self._ranking.know(epics.graph, epics.left)
            self._ranking.begin(lane, number, epics.left.get(number, 1))
            self._developing.add(lane)

    def go_on(self, held: Held) -> None:
        with self._lock:
            self._ranking.begin(held.lane.key, held.lane.epic or "", held.lane.stories)
            self._turned.discard(held.lane.key)
            if not held.is_delivered:
                self._developing.add(held.lane.key)

    def came_back(self, lane: str) -> None:
        """Nobody drives it now. Whether it keeps its turn it has said itself."""
        with self._lock:
            self._developing.discard(lane)
            self._resting.discard(lane)

    def has_room(self) -> bool:
        """Fewer are being developed than agents may be at work. One that waits for its account needs none."""
        with self._lock:
            return len(self._developing - self._resting) < self._agents

    def tries_again(self, lane: str) -> bool:
        with self._lock:
            self._crashes[lane] += 1
            again = self._crashes[lane] < MAX_CRASHES
        if not again:
            self.seats(lane).turn.give_back()
        return again

    def pause(self, lane: str) -> float:
        """Seconds before it is driven again."""
        with self._lock:
            times = self._crashes[lane]
        return PAUSE * 3 ** (times - 1) if times else 0.0

    def has_news(self) -> bool:
        """Once: a place may be free, or somebody's turn has come."""
        with self._lock:
            changed, self._changed = self._changed, False
            return changed

    def turned(self) -> frozenset[str]:
        """Whose turn to be merged may have come. Known until it is gone on with: just now it may be at work."""
        with self._lock:
            return frozenset(self._turned)

    # what lanes tell

    def heard(self, lane: str, kind: str, data: Mapping[str, Any]) -> None:
        with self._lock:
            self._ranking.heard(lane, kind, str(data.get("label", "")))
            before = len(self._developing - self._resting)
            if kind == "delivering":
                self._developing.discard(lane)
            elif kind == "resting":
                self._resting.add(lane)
            elif kind == "call":
                self._resting.discard(lane)
            elif kind in ("accepted", "commit"):
                self._crashes.pop(lane, None)
            is_free = len(self._developing - self._resting) < before
            self._changed = self._changed or is_free
        if is_free:
            self._wake()

    def _first(self, lanes: Collection[str]) -> str:
        with self._lock:
            return self._ranking.first(lanes)

    def _is_turn(self, lane: str) -> None:
        with self._lock:
            self._turned.add(lane)
        self._wake()
