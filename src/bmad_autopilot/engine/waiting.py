"""Waiting for an agent's end, a changed file, a signal or the clock: no polling, and a slow look as a net."""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from ..agents.watching import Watch, watch
from .closing import BLOCKED_GRACE, RESCAN, end_deaf_shim
from .wakeups import FileWatch

PROGRESS_SECONDS = 1.0
MOST_TOLD = 5  # calls a second, of all lanes together: a line about each of twenty every second is read by nobody

_called: "set[Waiting]" = set()  # who of this process waits for a call just now


class Waiting:
    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        for fd in (self._read, self._write):
            os.set_blocking(fd, False)
        self._open = threading.RLock()  # whoever pokes us may be another thread, or a signal that came in between
        self._is_closed = False
        self.stops = 0  # how often somebody has asked us to stop
        self._files: FileWatch | None = None
        self._watched: tuple[str, ...] = ()
        self._over = ""  # the call that we last found without a supervisor

    def close(self) -> None:
        with self._open:
            if self._is_closed:
                return
            self._is_closed = True
            if self._files is not None:
                self._files.close()
            os.close(self._read)
            os.close(self._write)

    def poke(self) -> None:
        with self._open, suppress(BlockingIOError):
            if not self._is_closed:
                os.write(self._write, b"x")

    @contextmanager
    def signals(self, told: Callable[[int], None]) -> Iterator[None]:
        """Ctrl-C and a polite end are counted, not obeyed at once. Only the main thread can be told."""

        def heard(number: int, frame: FrameType | None) -> None:
            self.stops += 1
            self.poke()
            told(self.stops)

        try:
            before = {number: signal.signal(number, heard) for number in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not the main thread: whoever runs us there sees to signals
            yield
            return
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def for_another_stop(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.stops < 2 and (left := deadline - time.monotonic()) > 0:
            self._poll((), left)
        return self.stops > 1

    def rest(self, seconds: float) -> None:
        """Unless somebody asks us to stop."""
        deadline = time.monotonic() + seconds
        while not self.stops and (left := deadline - time.monotonic()) > 0:
            self._poll((), left)

    def until(self, when: float, files: tuple[str, ...] = ()) -> None:
        """At most a rescan's length at a time: a clock may be set, a laptop may sleep. Or until one of these files
        has changed."""
        self._watch(files)
        self._poll((self._files,), min(max(0.0, when - time.time()), RESCAN))

    def for_call(self, folder: str, files: tuple[str, ...], progress: Callable[[], None] | None) -> None:
        """Until the call's supervisor has ended, one of these files has changed, or it is time to look again. One
        that ended between the caller's look and ours is looked at again at once; whoever waits even then waits for
        the files alone (an instance's command has only begun the work)."""
        shim = watch(folder)
        if shim is None and self._over != folder:
            self._over = folder
            return
        self._watch(files)
        deadline = time.monotonic() + min(RESCAN, BLOCKED_GRACE)
        _called.add(self)
        try:
            while True:
                left = deadline - time.monotonic()
                step = min(left, _pace()) if progress is not None else left
                waited_for = (shim, self._files) if shim is not None else (self._files,)
                if left <= 0 or self._poll(waited_for, max(0.0, step)):
                    break
                if progress is not None:
                    progress()
            if shim is not None:
                end_deaf_shim(folder, shim)
        finally:
            _called.discard(self)
            if shim is not None:
                shim.close()

    def _watch(self, files: tuple[str, ...]) -> None:
        if files == self._watched and self._files is not None:
            return
        if self._files is not None:
            self._files.close()
        self._files, self._watched = FileWatch(files), files

    def _poll(self, others: "tuple[Watch | FileWatch | None, ...]", seconds: float) -> bool:
        poll = select.poll()
        poll.register(self._read, select.POLLIN)
        for other in others:
            if other is not None:
                poll.register(other, select.POLLIN)
        ready = poll.poll(int(seconds * 1000) + 1)
        with suppress(BlockingIOError):
            while os.read(self._read, 64):
                pass
        if self._files is not None:
            self._files.clear()
        return bool(ready)


def _pace() -> float:
    """Seconds between two words about one call."""
    return max(PROGRESS_SECONDS, len(_called) / MOST_TOLD)
