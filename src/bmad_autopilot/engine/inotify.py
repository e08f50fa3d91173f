"""Linux itself tells which files have changed: one line to it for the whole process, and nothing to do meanwhile.

watchfiles looks a hundred times a second for each watch whether something has come: two tenths of a percent of a
core, which twenty lanes pay twenty times. It stays for systems without this."""

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
OVERFLOWN, FORGOTTEN = 0x4000, 0x8000  # more came than was kept; the folder is gone
CHANGES = 0x002 | 0x040 | 0x080 | 0x100 | 0x200  # written, moved from, moved to, made, removed
HEAD = struct.Struct("iIII")
AT_ONCE = 64 * 1024
QUIET_MS, BURST_MS = 10, 50  # writers truncate and then write: told when it is quiet again, or after this long

Tell = Callable[[], None]


class Inotify:
    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), "no inotify to be had")
        self._lock = threading.Lock()
        self._told: dict[tuple[int, str], set[Tell]] = {}  # watched folder and name in it → who is told
        threading.Thread(target=self._listen, name="inotify", daemon=True).start()

    def add(self, paths: Iterable[str], tell: Tell) -> None:
        """Folders that are not there, or beyond what the system allows, are left out. `tell` must not wait."""
        with self._lock:
            for folder, name in map(os.path.split, paths):
                mask = CHANGES | ONLY_FOLDERS
                watch = self._libc.inotify_add_watch(self._fd, os.fsencode(folder), mask)  # known: as before
                if watch >= 0:
                    self._told.setdefault((watch, name), set()).add(tell)

    def remove(self, tell: Tell) -> None:
        """It is not told again once this is over."""
        with self._lock:
            before = {watch for watch, _ in self._told}
            left = {key: others for key, told in self._told.items() if (others := told - {tell})}
            self._told = left
            for watch in before - {watch for watch, _ in left}:
                self._libc.inotify_rm_watch(self._fd, watch)

    def _listen(self) -> None:
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        while True:
            found = self._affected(os.read(self._fd, AT_ONCE))
            for _ in range(BURST_MS // QUIET_MS):
                if not found or not poll.poll(QUIET_MS):
                    break
                found |= self._affected(os.read(self._fd, AT_ONCE))
            with self._lock:
                for tell in {tell for key in found for tell in self._told.get(key, ())}:
                    tell()

    def _affected(self, data: bytes) -> set[tuple[int, str]]:
        """What somebody is told of."""
        found: set[tuple[int, str]] = set()
        with self._lock:
            for watch, what, name in _events(data):
                if what & OVERFLOWN:
                    found |= self._told.keys()
                elif what & FORGOTTEN:
                    found |= {key for key in self._told if key[0] == watch}
                elif (watch, name) in self._told:
                    found.add((watch, name))
        return found


def _events(data: bytes) -> Iterator[tuple[int, int, str]]:
    at = 0
    while at < len(data):
        watch, what, _, length = HEAD.unpack_from(data, at)
        at += HEAD.size + length
        yield watch, what, os.fsdecode(data[at - length : at].rstrip(b"\0"))


@cache
def inotify() -> Inotify | None:
    """This process's; None: there is none here. What Windows' drives hold is not told of by a Linux on Windows."""
    if sys.platform != "linux" or "microsoft" in os.uname().release.lower():
        return None
    try:
        return Inotify()
    except (OSError, AttributeError):  # none left, or a C library without it
        return None
