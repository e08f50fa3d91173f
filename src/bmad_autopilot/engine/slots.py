"""Limits how many lanes run an agent (or merge) at the same time.

Slots are not persisted: after a crash, ownership follows from which calls are still running."""

import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

Policy = Callable[[Sequence[str]], str]  # picks the next lane from those waiting, oldest first


class SlotPool:
    def __init__(self, count: int, policy: Policy) -> None:
        self._count = count
        self._policy = policy
        self._lock = threading.Lock()
        self._holders: set[str] = set()
        self._waiting: dict[str, Callable[[], None]] = {}  # lane → its wake callback

    @property
    def holders(self) -> frozenset[str]:
        with self._lock:
            return frozenset(self._holders)

    def is_free(self, lane: str) -> bool:
        """Whether the lane could acquire a slot now, or holds one already."""
        with self._lock:
            return self._is_free(lane)

    def _is_free(self, lane: str) -> bool:
        if lane in self._holders:
            return True
        asking = list(dict.fromkeys((*self._waiting, lane)))
        for _ in range(self._count - len(self._holders)):
            first = self._policy(asking)
            if first == lane:
                return True
            asking.remove(first)
        return False

    def acquire(self, lane: str, *, force: bool = False) -> bool:
        """Take a slot. `force`: the lane already has an agent running (adopted after a restart)."""
        with self._lock:
            if not force and not self._is_free(lane):
                return False
            self._holders.add(lane)
            self._waiting.pop(lane, None)
            return True

    def request(self, lane: str, wake: Callable[[], None]) -> None:
        """Queue for a slot. `wake` is called when one may be available to this lane."""
        with self._lock:
            self._waiting[lane] = wake
            is_free = self._is_free(lane)
        if is_free:
            wake()

    def release(self, lane: str) -> None:
        """Give up the lane's slot and its place in the queue, and wake the lanes that come next."""
        with self._lock:
            self._holders.discard(lane)
            self._waiting.pop(lane, None)
            woken = [wake for name, wake in self._waiting.items() if self._is_free(name)]
        for wake in woken:
            wake()


class SlotHandle:
    """One lane's handle on a pool; without a pool a slot is always free. `wake` replaces the callback passed to
    `request`."""

    def __init__(
        self, pool: SlotPool | None = None, lane: str = "", wake: Callable[[], None] | None = None
    ) -> None:
        self._pool = pool
        self._lane = lane
        self._wake = wake

    def is_free(self) -> bool:
        return self._pool is None or self._pool.is_free(self._lane)

    def acquire(self, *, force: bool = False) -> bool:
        return self._pool is None or self._pool.acquire(self._lane, force=force)

    def request(self, wake: Callable[[], None]) -> None:
        if self._pool is not None:
            self._pool.request(self._lane, self._wake or wake)

    def release(self) -> None:
        if self._pool is not None:
            self._pool.release(self._lane)


class LaneLimits(NamedTuple):
    """The limits a lane shares with other lanes."""

    slot: SlotHandle = SlotHandle()  # for its agent
    merge_turn: SlotHandle = SlotHandle()  # for its merge
    is_autopilot_paused: Callable[[], bool] = lambda: False  # True: no lane starts another call
    find_checkout_blocker: Callable[[], str] = lambda: (
        ""
    )  # another lane's unfinished work in the checkout; empty: none
