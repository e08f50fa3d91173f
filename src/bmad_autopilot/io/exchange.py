"""Replaces a file that other programs also write, without losing their changes.

People and BMAD's skills do not take our lock. So the new file is exchanged with the old one atomically, and the
content that was there at that moment is inspected before it is discarded."""

import os
import time

from ..core.errors import FileError
from .files import read_bytes, refuse_unless_regular, sync_folder, write_temporary

WRITER_SECONDS = 1.0  # how long to wait for a program that has the file open for writing


def replace_if_unchanged(target: str, before: bytes, after: bytes, backup: str) -> bool:
    """Replace `before` with `after` and keep the old content as `backup`. False if the file no longer contained
    `before`, or does not contain `after` now: then it holds another writer's complete content. Raises FileError
    unless `target` and `backup` are regular files: the caller resolves links, none is followed here."""
    refuse_unless_regular(target, "cannot be written")
    refuse_unless_regular(backup, "cannot be written")
    temporary = write_temporary(target, after)
    try:
        if exchange_files(temporary, target):
            _wait_for_writers(temporary)
            if _content(temporary) != before:
                _restore(target, temporary, after, backup)
                return False
        elif (
            read_bytes(target, follow=False) == before
        ):  # no atomic exchange on this file system: keep the race window small
            os.replace(temporary, target)
            temporary = write_temporary(backup, before)
        else:
            return False
        _save_backup(temporary, backup)
    finally:
        _remove_leftover(temporary, after)
    sync_folder(os.path.dirname(target))
    return read_bytes(target, follow=False) == after


def _content(path: str) -> bytes | None:
    """The content; None if the entry is not a regular file of bounded size."""
    try:
        return read_bytes(path, follow=False)
    except FileError:
        return None


def exchange_files(path: str, other: str) -> bool:
    """Swap two files atomically. False if the operating system or file system does not support it."""
    import ctypes

    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    at_cwd, swap = -100, 2
    return bool(renameat2(at_cwd, os.fsencode(path), at_cwd, os.fsencode(other), swap) == 0)


def _restore(target: str, theirs: str, ours: bytes, backup: str) -> None:
    """The exchange displaced another writer's content: swap it back, unless our file was written to meanwhile;
    then that is the newest content and stays."""
    if not exchange_files(theirs, target):
        return
    _wait_for_writers(theirs)
    if _content(theirs) != ours and exchange_files(theirs, target):
        _save_backup(theirs, backup)


def _wait_for_writers(path: str) -> None:
    """Wait until no process has this file open for writing. It was just moved from its path, so no new writer can
    open it; earlier ones may still write. The kernel grants a read lease only when there is no writer."""
    import fcntl
    import signal

    if not hasattr(fcntl, "F_SETLEASE"):
        return
    deadline = time.monotonic() + WRITER_SECONDS
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # the exchange displaced a link or a socket: it has no writers
        return
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)  # a broken lease must not kill us: SIGURG is ignored
        while time.monotonic() < deadline:
            try:
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            except BlockingIOError:
                time.sleep(0.001)
                continue
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            return
    except OSError:  # a file of another user, or a file system without leases
        return
    finally:
        os.close(fd)


def _save_backup(old: str, backup: str) -> None:
    try:
        os.replace(old, backup)
    except OSError:  # another file system: copy
        os.replace(write_temporary(backup, read_bytes(old, follow=False)), backup)


def _remove_leftover(temporary: str, ours: bytes) -> None:
    """Remove the temporary file if it has our content. After an interruption it may be the only copy of another
    writer's content: then it stays, and `bmad doctor` reports it."""
    if _content(temporary) == ours:
        os.unlink(temporary)
