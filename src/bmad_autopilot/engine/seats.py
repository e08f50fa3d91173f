"""Slots: at most so many lanes at once do a thing, and of those that wait the one that comes first.

Nothing is written down: who held one is known after a crash by what is under way."""

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

Choose = Callable[[Sequence[str]], str]  # of lanes, who has waited longest first: whose it is


class Slots:
    def __init__(self, count: int, choose: Choose) -> None:
        self._count = count
        self._choose = choose
        self._lock = threading.Lock()
        self._held: set[str] = set()
        self._waiting: dict[str, Callable[[], None]] = {}  # lane → how it is woken

    @property
    def held(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._held)

    def is_free(self, lane: str) -> bool:
        """Whether it could take one now; it may hold one already."""
        with self._lock:
            return self._is_free(lane)

    def _is_free(self, lane: str) -> bool:
        if lane in self._held:
            return True
        asking = list(dict.fromkeys((*self._waiting, lane)))
        for _ in range(self._count - len(self._held)):
            first = self._choose(asking)
            if first == lane:
                return True
            asking.remove(first)
        return False

    def take(self, lane: str, *, anyway: bool = False) -> bool:
        """`anyway`: it does the thing already, whatever others have been allowed meanwhile."""
        with self._lock:
            if not anyway and not self._is_free(lane):
                return False
            self._held.add(lane)
            self._waiting.pop(lane, None)
            return True

    def want(self, lane: str, wake: Callable[[], None]) -> None:
        """It waits for one, and is woken when one may be its own."""
        with self._lock:
            self._waiting[lane] = wake
            is_free = self._is_free(lane)
        if is_free:
            wake()

    def give_back(self, lane: str) -> None:
        """What it holds, and what it waits for. Those who come next are woken."""
        with self._lock:
            self._held.discard(lane)
            self._waiting.pop(lane, None)
            woken = [wake for name, wake in self._waiting.items() if self._is_free(name)]
        for wake in woken:
            wake()


class Seat:
    """One lane's view of the slots; without any, nothing holds it up. `wake`: whom to tell, where that is not
    whoever waits."""

    def __init__(self, slots: Slots | None = None, lane: str = "", wake: Callable[[], None] | None = None) -> None:
        self._slots = slots
        self._lane = lane
        self._wake = wake

    def is_free(self) -> bool:
        return self._slots is None or self._slots.is_free(self._lane)

    def take(self, *, anyway: bool = False) -> bool:
        return self._slots is None or self._slots.take(self._lane, anyway=anyway)

    def want(self, wake: Callable[[], None]) -> None:
        if self._slots is not None:
            self._slots.want(self._lane, self._wake or wake)

    def give_back(self) -> None:
        if self._slots is not None:
            self._slots.give_back(self._lane)


class Seats(NamedTuple):
    """What a lane has to wait for because of others."""

    slot: Seat = Seat()  # for its agent
    turn: Seat = Seat()  # to be merged
    held_back: Callable[[], bool] = lambda: False  # no lane starts a call any more
    taken: Callable[[], str] = lambda: ""  # whose unfinished work lies in the checkout; empty: nobody else's
