"""Being told that a file has changed, beside waiting for a process: no polling."""

import os
import threading
from collections.abc import Iterable
from contextlib import suppress

STEP_MS = 10
DEBOUNCE_MS = 50
READY_MS = 100


class FileWatch:
    """Readable (for select and poll) when one of these files was written, replaced, made or removed. Once at first
    in any case: somebody has to look at what happened before we were listening."""

    def __init__(self, paths: Iterable[str]) -> None:
        from .inotify import inotify

        self._paths = {os.path.realpath(path) for path in paths}
        self._read, self._write = os.pipe()
        for fd in (self._read, self._write):
            os.set_blocking(fd, False)
        self._inotify = inotify()
        if self._inotify is not None:
            self._inotify.add(self._paths, self._tell)
            self._tell()
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
        """At once; a thread of its own ends by itself within moments."""
        if self._inotify is not None:
            self._inotify.remove(self._tell)
            os.close(self._write)
        else:
            self._stop.set()
        os.close(self._read)

    def _watch(self) -> None:
        try:
            with suppress(OSError):  # no more watches to be had
                self._listen()
        finally:
            self._stop.wait()  # an end that nobody asked for must not wake for ever whoever waits
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
                self._tell()
            first = False

    def _tell(self) -> None:
        with suppress(BlockingIOError, BrokenPipeError):  # it has long been told, or has gone
            os.write(self._write, b"x")
