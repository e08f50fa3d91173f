"""Waiting for shims, and telling them to end: those we started and those somebody before us did."""

import fcntl
import json
import os
import select
import signal
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from ..files import write_atomic
from .attempts import State, lock_is_held, state_of
from .shim import records

START_SECONDS = 10.0
HAS_PIDFD = hasattr(os, "pidfd_open")


class Watch:
    """Readable (for select and poll) once the shim of one attempt has ended."""

    def __init__(self, folder: str, fd: int) -> None:
        self.folder = folder
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        os.close(self._fd)

    def kill(self) -> None:
        """The shim; what it supervises goes with it, or is swept when the call is settled."""
        if HAS_PIDFD:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._fd, signal.SIGKILL)


def watch(folder: str) -> Watch | None:
    """None: no shim runs for this attempt (any more)."""
    pid = _shim(folder)
    if pid is None:
        return None
    if not HAS_PIDFD:
        return _watch_lock(folder)
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    # Only now is the lock looked at: a pid that was given to somebody else since does not hold it.
    if lock_is_held(folder):
        return Watch(folder, fd)
    os.close(fd)
    return None


def _shim(folder: str) -> int | None:
    """The shim's pid. One that has just been started needs a moment before it says so."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        started = records.read_started(folder)
        if started is not None:
            return started[0]
        if not lock_is_held(folder) or time.monotonic() > deadline:
            return None
        time.sleep(0.002)


def _watch_lock(folder: str) -> Watch:
    """Without pidfds: a thread waits for the lock, which the shim holds to its end."""
    read, write = os.pipe()

    def wait() -> None:
        try:
            fd = os.open(f"{folder}/{records.LOCK}", os.O_RDONLY | records.PLAIN)
            try:
                fcntl.flock(fd, fcntl.LOCK_SH)
            finally:
                os.close(fd)
        except OSError:  # the folder is gone: there is nothing to wait for
            pass
        finally:
            os.close(write)

    threading.Thread(target=wait, daemon=True).start()
    return Watch(folder, read)


def wait_for_any(folders: Iterable[str], seconds: float | None = None) -> list[str]:
    """Wait until one of these attempts is no longer running, or the time is over; those that are not."""
    watches = []
    try:
        ended = []
        for folder in folders:
            one = watch(folder) if state_of(folder) is State.RUNNING else None
            if one is None:
                ended.append(folder)
            else:
                watches.append(one)
        if ended or not watches:
            return ended
        poll = select.poll()
        for one in watches:
            poll.register(one, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(None if seconds is None else max(0, int(seconds * 1000)))}
        return [one.folder for one in watches if one.fileno() in ready]
    finally:
        for one in watches:
            one.close()


def cancel(folder: str, why: str) -> bool:
    """Ask the shim to end its agent. False: there is none running."""
    pid = _shim(folder)
    if pid is None:
        return False
    write_atomic(f"{folder}/{records.CANCEL}", json.dumps({"why": why}).encode() + b"\n")
    one = watch(folder)
    if one is None:
        return False
    try:
        for number in (signal.SIGTERM, signal.SIGCONT):  # the agent may have stopped it
            if HAS_PIDFD:
                signal.pidfd_send_signal(one.fileno(), number)
            else:
                os.kill(pid, number)
    except ProcessLookupError:
        return False
    finally:
        one.close()
    return True
