"""Replacing a file that others write too, without losing what they wrote.

People and BMAD's skills take no lock of ours. So the new file is exchanged for the old one in one step: what was
there at that very moment comes out on the other side and can be looked at before anything is thrown away."""

import os
import time

from .core.errors import FileError
from .files import read_bytes, refuse_unless_regular, sync_folder, write_beside

WRITER_SECONDS = 1.0  # how long a program that holds the file open is waited for


def replace_unchanged(target: str, before: bytes, after: bytes, backup: str) -> bool:
    """Put `after` in the place of `before` and keep that as `backup`. False if the file was no longer `before`, or
    is not `after` now: then somebody else's content stands there, whole. `target` and `backup` are regular files,
    or a FileError: links are resolved by the caller, and none is followed here."""
    refuse_unless_regular(target, "cannot be written")
    refuse_unless_regular(backup, "cannot be written")
    temporary = write_beside(target, after)
    try:
        if exchange(temporary, target):
            _wait_for_writers(temporary)
            if _content(temporary) != before:
                _put_back(target, temporary, after, backup)
                return False
        elif (
            read_bytes(target, follow=False) == before
        ):  # no exchange on this file system: the smallest window there is
            os.replace(temporary, target)
            temporary = write_beside(backup, before)
        else:
            return False
        _keep(temporary, backup)
    finally:
        _drop(temporary, after)
    sync_folder(os.path.dirname(target))
    return read_bytes(target, follow=False) == after


def _content(path: str) -> bytes | None:
    """None: it is no regular file of bounded size."""
    try:
        return read_bytes(path, follow=False)
    except FileError:
        return None


def exchange(path: str, other: str) -> bool:
    """Swap two files in one step. False where the system or the file system cannot."""
    import ctypes

    try:
        renameat2 = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    at_cwd, swap = -100, 2
    return bool(renameat2(at_cwd, os.fsencode(path), at_cwd, os.fsencode(other), swap) == 0)


def _put_back(target: str, theirs: str, ours: bytes, backup: str) -> None:
    """Their write came out in exchange for ours: theirs goes back, unless somebody has written into ours while it
    stood there; then that is the newest, and stands."""
    if not exchange(theirs, target):
        return
    _wait_for_writers(theirs)
    if _content(theirs) != ours and exchange(theirs, target):
        _keep(theirs, backup)


def _wait_for_writers(path: str) -> None:
    """Wait until nobody has this file open for writing. It has just been taken from its place, so that nobody new
    can come; whoever opened it before may still be about to write. A read lease is only given without them."""
    import fcntl
    import signal

    if not hasattr(fcntl, "F_SETLEASE"):
        return
    deadline = time.monotonic() + WRITER_SECONDS
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # a link or a socket, which came out in exchange: nobody writes into that
        return
    try:
        fcntl.fcntl(fd, fcntl.F_SETSIG, signal.SIGURG)  # a broken lease must not end us: SIGURG is ignored
        while time.monotonic() < deadline:
            try:
                fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_RDLCK)
            except BlockingIOError:
                time.sleep(0.001)
                continue
            fcntl.fcntl(fd, fcntl.F_SETLEASE, fcntl.F_UNLCK)
            return
    except OSError:  # not our file, or no leases on this file system
        return
    finally:
        os.close(fd)


def _keep(old: str, backup: str) -> None:
    try:
        os.replace(old, backup)
    except OSError:  # another file system: copy
        os.replace(write_beside(backup, read_bytes(old, follow=False)), backup)


def _drop(temporary: str, ours: bytes) -> None:
    """Remove what is left over, if it is ours. Interrupted at the wrong moment, it may be somebody's only copy:
    that stays where it is, and `bmad doctor` points at it."""
    if _content(temporary) == ours:
        os.unlink(temporary)
