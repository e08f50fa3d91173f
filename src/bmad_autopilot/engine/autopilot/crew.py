"""Who drives lanes: one after another right here, or each in a thread of its own.

Threads, because a lane mostly waits: for an agent, a check, git. Twenty of them in one process cost less than two
processes, and what one of them breaks off with is caught here."""

import threading
import traceback
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import NamedTuple, Protocol

from ...core.errors import AutopilotError
from ..driving import RunEnd
from ..waiting import Waiting

Work = Callable[["Waiting | None"], RunEnd]


class Drove(NamedTuple):
    key: str
    end: RunEnd | None  # None: it broke off
    error: BaseException | None = None
    trace: str = ""

    @property
    def why(self) -> str:
        """In one line."""
        error = self.error
        return " ".join((error.what if isinstance(error, AutopilotError) else str(error)).split())

    @property
    def hint(self) -> str:
        return " ".join((self.error.hint or "").split()) if isinstance(self.error, AutopilotError) else ""


class Crew(Protocol):
    @property
    def at_work(self) -> frozenset[str]: ...
    @property
    def has_news(self) -> bool:
        """Somebody has come back."""

    def start(self, key: str, work: Work, pause: float = 0.0) -> None:
        """`pause`: seconds before it really does."""

    def came_back(self) -> list[Drove]: ...
    def stop(self, times: int) -> None:
        """As if somebody had pressed Ctrl-C so many times."""

    def wake(self) -> None:
        """Let each look again at what it waits for."""

    def join(self, seconds: float) -> bool:
        """Whether all have ended by then."""


class Alone:
    """One lane at a time, in the thread that asks for it: signals and questions reach it as ever."""

    def __init__(self) -> None:
        self._done: list[Drove] = []

    @property
    def at_work(self) -> frozenset[str]:
        return frozenset()

    @property
    def has_news(self) -> bool:
        return bool(self._done)

    def start(self, key: str, work: Work, pause: float = 0.0) -> None:
        self._done.append(Drove(key, work(None)))

    def came_back(self) -> list[Drove]:
        done, self._done = self._done, []
        return done

    def stop(self, times: int) -> None:
        return

    def wake(self) -> None:
        return

    def join(self, seconds: float) -> bool:
        return True


class Beside:
    """`wake`: whoever waits for lanes to come back."""

    def __init__(self, wake: Callable[[], None]) -> None:
        self._wake = wake
        self._done: SimpleQueue[Drove] = SimpleQueue()
        self._threads: dict[str, tuple[threading.Thread, Waiting]] = {}
        self._stops = 0

    @property
    def at_work(self) -> frozenset[str]:
        return frozenset(self._threads)

    @property
    def has_news(self) -> bool:
        return not self._done.empty()

    def start(self, key: str, work: Work, pause: float = 0.0) -> None:
        try:
            waiting = Waiting()
            waiting.stops = self._stops
            thread = threading.Thread(target=self._drive, args=(key, work, waiting, pause), name=key, daemon=True)
            thread.start()
        except (OSError, RuntimeError) as error:  # no more pipes or threads to be had
            self._done.put(Drove(key, None, error, traceback.format_exc()))
            return
        self._threads[key] = thread, waiting

    def _drive(self, key: str, work: Work, waiting: Waiting, pause: float) -> None:
        try:
            waiting.rest(pause)
            drove = Drove(key, work(waiting))
        except BaseException as error:  # whatever it is: the other lanes go on, and nobody waits for this one
            drove = Drove(key, None, error, traceback.format_exc())
        waiting.close()
        self._done.put(drove)
        self._wake()

    def came_back(self) -> list[Drove]:
        found = []
        while True:
            try:
                found.append(self._done.get_nowait())
            except Empty:
                break
        for drove in found:
            if drove.key in self._threads:
                self._threads.pop(drove.key)[0].join()
        return found

    def stop(self, times: int) -> None:
        self._stops = times
        for _, waiting in list(self._threads.values()):
            waiting.stops = times
        self.wake()

    def wake(self) -> None:
        for _, waiting in list(self._threads.values()):
            waiting.poke()

    def join(self, seconds: float) -> bool:
        for thread, _ in list(self._threads.values()):
            thread.join(seconds)
        return not any(thread.is_alive() for thread, _ in self._threads.values())
