"""File events from Linux's inotify: one instance and one thread for the whole process, idle between events.

watchfiles polls a hundred times a second for each watch: 0.2 % of a core, which twenty lanes pay twenty times. It
is the fallback for systems without inotify."""

import ctypes
import os
import select
import struct
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from functools import cache

CLOEXEC = 0o2000000
ONLY_FOLDERS = 0x01000000
QUEUE_OVERFLOW, WATCH_REMOVED = 0x4000, 0x8000  # IN_Q_OVERFLOW; IN_IGNORED: the folder is gone
CHANGES = 0x002 | 0x040 | 0x080 | 0x100 | 0x200  # modified, moved from, moved to, created, deleted
EVENT_HEADER = struct.Struct("iIII")
READ_BYTES = 64 * 1024
QUIET_MS, BURST_MS = 10, 50  # writers truncate and then write: notify when it is quiet again, or after a burst

Callback = Callable[[], None]


class Inotify:
    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "no inotify to be had")
        self._lock = threading.Lock()
        self._callbacks: dict[tuple[int, str], set[Callback]] = {}  # watched folder and name in it → callbacks
        threading.Thread(target=self._listen, name="inotify", daemon=True).start()

    def add(self, paths: Iterable[str], callback: Callback) -> None:
        """Skips folders that do not exist or exceed the system's limit. The callback must not block."""
        with self._lock:
            for folder, name in map(os.path.split, paths):
                mask = CHANGES | ONLY_FOLDERS
                watch = self._libc.inotify_add_watch(self._fd, os.fsencode(folder), mask)  # known: same watch
                if watch >= 0:
                    self._callbacks.setdefault((watch, name), set()).add(callback)

    def remove(self, callback: Callback) -> None:
        """The callback is not called again once this returns."""
        with self._lock:
            before = {watch for watch, _ in self._callbacks}
            left = {
                key: others for key, callbacks in self._callbacks.items() if (others := callbacks - {callback})
            }
            self._callbacks = left
            for watch in before - {watch for watch, _ in left}:
                self._libc.inotify_rm_watch(self._fd, watch)

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        while True:
            found = self._affected(os.read(self._fd, READ_BYTES))
            for _ in range(BURST_MS // QUIET_MS):
                if not found or not poll.poll(QUIET_MS):
                    break
                found |= self._affected(os.read(self._fd, READ_BYTES))
            with self._lock:
                for callback in {callback for key in found for callback in self._callbacks.get(key, ())}:
                    callback()

    def _affected(self, data: bytes) -> set[tuple[int, str]]:
        """The watched files that these events concern."""
        found: set[tuple[int, str]] = set()
        with self._lock:
            for watch, what, name in _events(data):
                if what & QUEUE_OVERFLOW:
                    found |= self._callbacks.keys()
                elif what & WATCH_REMOVED:
                    found |= {key for key in self._callbacks if key[0] == watch}
                elif (watch, name) in self._callbacks:
                    found.add((watch, name))
        return found


def _events(data: bytes) -> Iterator[tuple[int, int, str]]:
    at = 0
    while at < len(data):
        watch, what, _, length = EVENT_HEADER.unpack_from(data, at)
        at += EVENT_HEADER.size + length
        yield watch, what, os.fsdecode(data[at - length : at].rstrip(b"\0"))


@cache
def inotify() -> Inotify | None:
    """This process's instance; None: not available. WSL reports no events for files on Windows drives."""
    if sys.platform != "linux" or "microsoft" in os.uname().release.lower():
        return None
    try:
        return Inotify()
    except (OSError, AttributeError):  # no instance left, or a C library without inotify
        return None
