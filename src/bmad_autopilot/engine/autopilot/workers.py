"""Runs lanes: one after another in the calling thread, or each in its own thread.

Threads, because a lane mostly waits for an agent, a check or git. Twenty threads cost less than two processes, and
a lane's exception is caught here."""

import threading
import traceback
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import NamedTuple, Protocol

from ...core.errors import AutopilotError
from ..runner import RunEnd
from ..waiting import Waiter

LaneWork = Callable[["Waiter | None"], RunEnd]


class LaneResult(NamedTuple):
    key: str
    end: RunEnd | None  # None: it raised `error`
    error: BaseException | None = None
    trace: str = ""

    @property
    def why(self) -> str:
        """The error in one line."""
        error = self.error
        return " ".join((error.description if isinstance(error, AutopilotError) else str(error)).split())

    @property
    def hint(self) -> str:
        return " ".join((self.error.hint or "").split()) if isinstance(self.error, AutopilotError) else ""


class Workers(Protocol):
    @property
    def active_lanes(self) -> frozenset[str]: ...
    @property
    def has_completed(self) -> bool:
        """A lane has returned, and its result has not been taken yet."""

    def start(self, key: str, work: LaneWork, pause: float = 0.0) -> None:
        """`pause`: seconds to wait before the work starts."""

    def take_completed(self) -> list[LaneResult]: ...
    def stop(self, times: int) -> None:
        """As if the user had pressed Ctrl-C so many times."""

    def wake(self) -> None:
        """Make each lane check again what it waits for."""

    def join(self, seconds: float) -> bool:
        """Wait for each worker up to `seconds`. True: all have ended."""


class InlineWorker:
    """One lane at a time, in the calling thread, so that signals and prompts reach it."""

    def __init__(self) -> None:
        self._done: list[LaneResult] = []

    @property
    def active_lanes(self) -> frozenset[str]:
        return frozenset()

    @property
    def has_completed(self) -> bool:
        return bool(self._done)

    def start(self, key: str, work: LaneWork, pause: float = 0.0) -> None:
        self._done.append(LaneResult(key, work(None)))

    def take_completed(self) -> list[LaneResult]:
        done, self._done = self._done, []
        return done

    def stop(self, times: int) -> None:
        return

    def wake(self) -> None:
        return

    def join(self, seconds: float) -> bool:
        return True


class ThreadWorkers:
    """`wake`: wakes the supervisor, which waits for lanes to return."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._done: SimpleQueue[LaneResult] = SimpleQueue()
        self._threads: dict[str, tuple[threading.Thread, Waiter]] = {}
        self._stops = 0

    @property
    def active_lanes(self) -> frozenset[str]:
        return frozenset(self._threads)

    @property
    def has_completed(self) -> bool:
        return not self._done.empty()

    def start(self, key: str, work: LaneWork, pause: float = 0.0) -> None:
        try:
            waiting = Waiter()
            waiting.stop_count = self._stops
            thread = threading.Thread(target=self._drive, args=(key, work, waiting, pause), name=key, daemon=True)
            thread.start()
        except (OSError, RuntimeError) as error:  # out of pipes or threads
            self._done.put(LaneResult(key, None, error, traceback.format_exc()))
            return
        self._threads[key] = thread, waiting

    def _drive(self, key: str, work: LaneWork, waiting: Waiter, pause: float) -> None:
        try:
            waiting.sleep(pause)
            result = LaneResult(key, work(waiting))
        except BaseException as error:  # any error: the other lanes must continue
            result = LaneResult(key, None, error, traceback.format_exc())
        waiting.close()
        self._done.put(result)
        self._wake()

    def take_completed(self) -> list[LaneResult]:
        found = []
        while True:
            try:
                found.append(self._done.get_nowait())
            except Empty:
                break
        for result in found:
            if result.key in self._threads:
                self._threads.pop(result.key)[0].join()
        return found

    def stop(self, times: int) -> None:
        self._stops = times
        for _, waiting in list(self._threads.values()):
            waiting.stop_count = times
        self.wake()

    def wake(self) -> None:
        for _, waiting in list(self._threads.values()):
            waiting.wake()

    def join(self, seconds: float) -> bool:
        for thread, _ in list(self._threads.values()):
            thread.join(seconds)
        return not any(thread.is_alive() for thread, _ in self._threads.values())
