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


class LaneWaiter(Protocol):
    """Lets the supervisor wake or stop a lane that waits."""

    stop_count: int  # number of stop requests so far

    def wake(self) -> None: ...
    def sleep(self, seconds: float) -> None:
        """Sleep, or return at once when a stop is requested."""

    def close(self) -> None: ...


LaneWork = Callable[[LaneWaiter | None], RunEnd]


class WorkerThread(Protocol):
    def join(self, timeout: float | None = None) -> None: ...
    def is_alive(self) -> bool: ...


def start_thread(work: Callable[[], None], name: str) -> WorkerThread:
    thread = threading.Thread(target=work, name=name, daemon=True)
    thread.start()
    return thread


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

    def __init__(
        self,
        wake: Callable[[], None],
        make_waiter: Callable[[], LaneWaiter] = Waiter,
        start_thread: Callable[[Callable[[], None], str], WorkerThread] = start_thread,
    ) -> None:
        self._wake = wake
        self._make_waiter = make_waiter
        self._start_thread = start_thread
        self._done: SimpleQueue[LaneResult] = SimpleQueue()
        self._threads: dict[str, tuple[WorkerThread, LaneWaiter]] = {}
        self._stops = 0

    @property
    def active_lanes(self) -> frozenset[str]:
        return frozenset(self._threads)

    @property
    def has_completed(self) -> bool:
        return not self._done.empty()

    def start(self, key: str, work: LaneWork, pause: float = 0.0) -> None:
        try:
            waiting = self._make_waiter()
            waiting.stop_count = self._stops
            thread = self._start_thread(lambda: self._drive(key, work, waiting, pause), key)
        except (OSError, RuntimeError) as error:  # out of pipes or threads
            self._done.put(LaneResult(key, None, error, traceback.format_exc()))
            return
        self._threads[key] = thread, waiting

    def _drive(self, key: str, work: LaneWork, waiting: LaneWaiter, pause: float) -> None:
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
