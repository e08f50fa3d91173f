"""Waits for an agent's end, a changed file, a signal or a deadline. No polling; a slow rescan as a safety net."""

import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from ..agents.monitor import ShimWatch, watch_shim
from ..agents.shim import attempt_files

# File events that can be polled together with a process.

STEP_MS = 10
DEBOUNCE_MS = 50
READY_MS = 100


class FileWatch:
    """Readable (for select and poll) when one of these files was written, replaced, created or removed. Always
    readable once at first: the caller must check for changes made before the watch began."""

    def __init__(self, paths: Iterable[str]) -> None:
        from .inotify import inotify

        self._paths = {os.path.realpath(path) for path in paths}
        self._read, self._write = os.pipe()
        for fd in (self._read, self._write):
            os.set_blocking(fd, False)
        self._inotify = inotify()
        if self._inotify is not None:
            self._inotify.add(self._paths, self._notify)
            self._notify()
        else:
            self._stop = threading.Event()
            threading.Thread(target=self._watch, daemon=True).start()

    def fileno(self) -> int:
        return self._read

    def clear(self) -> None:
        with suppress(BlockingIOError):
            while os.read(self._read, 4096):
                pass

    def close(self) -> None:
        """Returns at once; the watcher thread, if any, ends shortly after."""
        if self._inotify is not None:
            self._inotify.remove(self._notify)
            os.close(self._write)
        else:
            self._stop.set()
        os.close(self._read)

    def _watch(self) -> None:
        try:
            with suppress(OSError):  # the system has no watches left
                self._listen()
        finally:
            self._stop.wait()  # a closed pipe is always readable: after an early end the poller would spin
            os.close(self._write)

    def _listen(self) -> None:
        from watchfiles import watch

        folders = {os.path.dirname(path) for path in self._paths}
        changes = watch(
            *(folder for folder in folders if os.path.isdir(folder)),
            watch_filter=lambda _, path: path in self._paths,
            recursive=False,
            step=STEP_MS,
            debounce=DEBOUNCE_MS,
            rust_timeout=READY_MS,
            stop_event=self._stop,
            raise_interrupt=False,
            yield_on_timeout=True,
        )
        first = True
        for found in changes:
            if found or first:
                self._notify()
            first = False

    def _notify(self) -> None:
        with suppress(BlockingIOError, BrokenPipeError):  # the pipe is full, or its reader has closed
            os.write(self._write, b"x")


BLOCKED_GRACE = 30.0  # an agent that has declared a story blocked usually ends by itself
UNRESPONSIVE_SECONDS = 600.0  # beyond the time limit: for start and end, git's own time, a laptop's sleep
RESCAN = 60.0  # slow rescan in case a file event is lost
PROGRESS_SECONDS = 1.0
MAX_PROGRESS_PER_SECOND = 5  # progress reports a second, for all lanes together: more than that cannot be read

_waiting_for_calls: "set[Waiter]" = set()  # waiters of this process that wait for a call now


class Waiter:
    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        for fd in (self._read, self._write):
            os.set_blocking(fd, False)
        self._open = threading.RLock()  # `wake` may come from another thread or from a signal handler
        self._is_closed = False
        self.stop_count = 0  # number of stop requests so far
        self._files: FileWatch | None = None
        self._watched: tuple[str, ...] = ()
        self._ended_call = ""  # folder of the last call found without a supervisor

    def close(self) -> None:
        with self._open:
            if self._is_closed:
                return
            self._is_closed = True
            if self._files is not None:
                self._files.close()
            os.close(self._read)
            os.close(self._write)

    def wake(self) -> None:
        with self._open, suppress(BlockingIOError):
            if not self._is_closed:
                os.write(self._write, b"x")

    @contextmanager
    def signals(self, on_stop: Callable[[int], None]) -> Iterator[None]:
        """Count SIGINT and SIGTERM instead of ending the process. Has no effect outside the main thread."""

        def on_signal(number: int, frame: FrameType | None) -> None:
            self.stop_count += 1
            self.wake()
            on_stop(self.stop_count)

        try:
            before = {number: signal.signal(number, on_signal) for number in (signal.SIGINT, signal.SIGTERM)}
        except ValueError:  # not the main thread: the caller there handles signals
            yield
            return
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def wait_for_second_stop(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while self.stop_count < 2 and (left := deadline - time.monotonic()) > 0:
            self._poll((), left)
        return self.stop_count > 1

    def sleep(self, seconds: float) -> None:
        """Sleep, or return at once when a stop is requested."""
        deadline = time.monotonic() + seconds
        while not self.stop_count and (left := deadline - time.monotonic()) > 0:
            self._poll((), left)

    def wait_until(self, when: float, files: tuple[str, ...] = ()) -> None:
        """Wait until `when` or until one of these files changes; at most RESCAN seconds at a time, because a clock
        may be set or a laptop may sleep."""
        self._watch(files)
        self._poll((self._files,), min(max(0.0, when - time.time()), RESCAN))

    def wait_for_call(self, folder: str, files: tuple[str, ...], progress: Callable[[], None] | None) -> None:
        """Wait until the call's supervisor ends, one of these files changes, or a rescan is due. If the supervisor
        has ended already, the first wait returns at once; later ones wait for the files alone (an instance's
        command has only started the work)."""
        shim = watch_shim(folder)
        if shim is None and self._ended_call != folder:
            self._ended_call = folder
            return
        self._watch(files)
        deadline = time.monotonic() + min(RESCAN, BLOCKED_GRACE)
        _waiting_for_calls.add(self)
        try:
            while True:
                left = deadline - time.monotonic()
                step = min(left, _progress_interval()) if progress is not None else left
                waited_for = (shim, self._files) if shim is not None else (self._files,)
                if left <= 0 or self._poll(waited_for, max(0.0, step)):
                    break
                if progress is not None:
                    progress()
            if shim is not None:
                kill_unresponsive_shim(folder, shim)
        finally:
            _waiting_for_calls.discard(self)
            if shim is not None:
                shim.close()

    def _watch(self, files: tuple[str, ...]) -> None:
        if files == self._watched and self._files is not None:
            return
        if self._files is not None:
            self._files.close()
        self._files, self._watched = FileWatch(files), files

    def _poll(self, others: "tuple[ShimWatch | FileWatch | None, ...]", seconds: float) -> bool:
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


def _progress_interval() -> float:
    """Seconds between two progress reports of one call."""
    return max(PROGRESS_SECONDS, len(_waiting_for_calls) / MAX_PROGRESS_PER_SECOND)


def kill_unresponsive_shim(folder: str, shim: ShimWatch) -> None:
    """Kill a shim that outlives its agent's time limit, for example because it was stopped by a signal. The call
    is then lost and finalised as such."""
    started = attempt_files.read_started(folder)
    limit = attempt_files.read_time_limit(folder, 0.0)
    if started is not None and limit and time.time() > started[1] + limit + UNRESPONSIVE_SECONDS:
        shim.kill()
