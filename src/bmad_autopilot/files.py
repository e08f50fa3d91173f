"""The one door to the file system: bounded reads, durable atomic writes, locks that die with their owner."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager

from .core.errors import ConflictError, FileError, Place

MAX_TEXT_BYTES = 16 * 1024 * 1024  # the largest real board has 97 kB, the largest epics file 650 kB

BOM = "\ufeff"


class Text:
    """A decoded file: its text without the byte order mark, and what is needed to write it back."""

    __slots__ = ("bom", "path", "raw", "text")

    def __init__(self, path: str, raw: bytes) -> None:
        self.path = path
        self.raw = raw
        text = _decode(path, raw)
        self.bom = text.startswith(BOM)
        self.text = text[1:] if self.bom else text


def read_bytes(path: str, *, limit: int = MAX_TEXT_BYTES) -> bytes:
    """The whole of a regular file, or a FileError that says what is there instead."""
    try:
        # O_NONBLOCK: opening a fifo must not wait for a writer that never comes.
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise FileError("no such file", place=Place(path), expected="a file") from None
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", place=Place(path)) from None
    with os.fdopen(fd, "rb") as handle:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            kind = "a directory" if stat.S_ISDIR(info.st_mode) else "not a regular file"
            raise FileError("cannot be read", place=Place(path), found=kind, expected="a file")
        if info.st_size > limit:
            raise FileError(
                "is too large to be read",
                place=Place(path),
                found=f"{info.st_size / 1e6:.1f} MB",
                expected=f"at most {limit / 1e6:.0f} MB",
            )
        try:
            return handle.read()
        except OSError as error:
            raise FileError(f"cannot be read: {error.strerror}", place=Place(path)) from None


def read_text(path: str, *, limit: int = MAX_TEXT_BYTES) -> Text:
    return Text(path, read_bytes(path, limit=limit))


def _decode(path: str, raw: bytes) -> str:
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise FileError(
            "is not UTF-8",
            place=Place(path, 1, 1),
            found="UTF-16",
            hint=f"iconv -f UTF-16 -t UTF-8 {path} > {path}.utf8",
        )
    nul = raw.find(b"\0")
    if nul >= 0:
        raise FileError("holds a NUL byte", place=_place(path, raw, nul), expected="text")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(
            "is not UTF-8",
            place=_place(path, raw, error.start),
            found=f"byte 0x{raw[error.start]:02x}",
            hint="save the file as UTF-8",
        ) from None


def _place(path: str, raw: bytes, offset: int) -> Place:
    line_start = raw.rfind(b"\n", 0, offset) + 1
    return Place(path, raw.count(b"\n", 0, offset) + 1, offset - line_start + 1)


def write_atomic(path: str, data: bytes) -> None:
    """Replace a file by a complete new one, or leave the old one untouched. Links are followed, modes kept."""
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    temporary = os.path.join(folder, f".{os.path.basename(target)}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        mode = stat.S_IMODE(os.stat(target).st_mode)
    except FileNotFoundError:
        mode = None
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    try:
        with os.fdopen(fd, "wb") as handle:
            handle.write(data)
            if mode is not None:
                os.fchmod(fd, mode)
            handle.flush()
            os.fsync(fd)
        os.replace(temporary, target)
    except BaseException:
        os.unlink(temporary)
        raise
    _sync_folder(folder)


def _sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def locked(path: str, *, seconds: float = 10.0) -> Iterator[None]:
    """Hold an exclusive lock on `path` (made if missing). It is released when this process ends, however."""
    import fcntl

    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)
    try:
        _take(fd, path, seconds)
        yield
    finally:
        os.close(fd)


def _take(fd: int, path: str, seconds: float) -> None:
    """Wait for the lock, bounded. flock has no time limit of its own, so a timer's signal cannot be used in threads:
    try, and sleep in growing steps."""
    import fcntl
    import time

    deadline = time.monotonic() + seconds
    pause = 0.0005
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() >= deadline:
                raise ConflictError(
                    f"another process has held the lock for {seconds:g} s",
                    place=Place(path),
                    hint=f"see who holds it: fuser {path}",
                ) from None
        time.sleep(pause)
        pause = min(pause * 2, 0.02)
