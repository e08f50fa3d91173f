"""The door to the file system: bounded reads, durable atomic writes, locks that die with their owner."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from .core.errors import ConflictError, FileError, Place

MAX_TEXT_BYTES = 16 * 1024 * 1024  # the largest real board has 97 kB, the largest epics file 650 kB

BOM = "\ufeff"
_CHUNK = 1024 * 1024
TEMPORARY = ".bmad-tmp"  # ends the names of files that a kill may leave behind: git is told to pass over them


class Text:
    """A decoded file: its text without the byte order mark, and what is needed to write it back."""

    __slots__ = ("bom", "path", "raw", "text")

    def __init__(self, path: str, raw: bytes) -> None:
        self.path = path
        self.raw = raw
        text = _decode(path, raw)
        self.bom = text.startswith(BOM)
        self.text = text[1:] if self.bom else text


_KINDS = {
    stat.S_IFREG: "a regular file",
    stat.S_IFDIR: "a directory",
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


ODD = tuple(_KINDS.values())[2:]  # what git keeps nothing of


def kind_of(path: str) -> str:
    """What the entry itself is, links not followed: `a named pipe`. Empty: nothing is there."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return f"a symbolic link to {os.readlink(path)}"
    except (OSError, ValueError):
        return ""
    return _KINDS.get(stat.S_IFMT(mode), "not a regular file")


def is_regular(path: str) -> bool:
    """Whether the entry itself is a regular file, links not followed."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def not_regular(path: str, message: str, found: str = "") -> FileError:
    """The error for a link, a device, a pipe, a socket or a folder where a regular file belongs."""
    from shlex import quote

    return FileError(
        message,
        place=Place(path),
        found=found or kind_of(path) or "nothing",
        expected="a regular file",
        hint=f"look at it: ls -ld {quote(path)}; then put a regular file in its place",
    )


def resolve_inside(path: str, inside: str) -> str:
    """The file that `path` names, links resolved. A FileError if it lies outside the folder `inside`: a user may
    link files within a project, and nothing is written through a link that leads out of it."""
    real, home = os.path.realpath(path), os.path.realpath(inside)
    if real.startswith(home.rstrip(os.sep) + os.sep):
        return real
    raise FileError(
        "leads out of the project",
        place=Place(path),
        found=f"a symbolic link to {real}" if real != os.path.abspath(path) else real,
        expected=f"a file below {inside}",
        hint="put the file itself in the place of the link",
    )


def refuse_shared(fd: int, path: str) -> None:
    """A FileError if an open file has more names than one. For files that are written in place: under its other
    name it may be a file of the user's, which an agent has linked here."""
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or info.st_nlink > 1:
        found = kind_of(path) if not stat.S_ISREG(info.st_mode) else f"a file with {info.st_nlink} hard links"
        raise not_regular(path, "cannot be written", found)


def refuse_links(top: str, path: str) -> None:
    """A FileError if `top`, `path` or a folder between them is a symbolic link. For folders of our own, in which
    agents can write."""
    parts = os.path.relpath(path, top).split(os.sep)
    for count in range(len(parts) + 1):
        place = os.path.normpath(os.path.join(top, *parts[:count]))
        if os.path.islink(place):
            raise FileError(
                "is a symbolic link",
                place=Place(place),
                found=kind_of(place),
                expected="a folder or file of our own",
                hint=f"rm {place}",
            )


@contextmanager
def _opened(path: str, limit: int = MAX_TEXT_BYTES, *, follow: bool = True) -> Iterator[BinaryIO]:
    """A regular file of bounded size, or a FileError that says what is there instead."""
    # O_NONBLOCK: opening a fifo must not wait for a writer that never comes.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        raise FileError("no such file", place=Place(path), expected="a file") from None
    except OSError as error:
        kind = kind_of(path)
        if kind and kind != _KINDS[stat.S_IFREG]:  # a socket, a link that is not followed, a link to itself
            raise not_regular(path, "cannot be read", kind) from None
        raise FileError(f"cannot be read: {error.strerror}", place=Place(path)) from None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            kind = _KINDS.get(stat.S_IFMT(info.st_mode), "not a regular file")
            link = kind_of(path) if os.path.islink(path) else ""
            raise not_regular(path, "cannot be read", f"{link}, which is {kind}" if link else kind)
        if info.st_size > limit:
            raise FileError(
                "is too large to be read",
                place=Place(path),
                found=f"{info.st_size / 1e6:.1f} MB",
                expected=f"at most {limit / 1e6:.0f} MB",
            )
        # Not fdopen first: it fails on a folder in words of its own.
        with os.fdopen(fd, "rb", closefd=False) as handle:
            yield handle
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", place=Place(path)) from None
    finally:
        os.close(fd)


def read_bytes(path: str, *, limit: int = MAX_TEXT_BYTES, head: int = -1, follow: bool = True) -> bytes:
    """The whole of a regular file, or its first `head` bytes. `follow`: a symbolic link in its place is read, as
    long as it leads to a regular file."""
    with _opened(path, limit, follow=follow) as handle:
        # It may grow while it is read.
        return handle.read(head if head >= 0 else limit)


def copy_file(source: str, target: str, *, limit: int = MAX_TEXT_BYTES) -> None:
    """Copy a regular file of bounded size. A link is not followed, on neither side; `target` is replaced whole."""
    refuse_unless_regular(target, "cannot be written")
    with _opened(source, limit, follow=False) as handle:
        left = os.fstat(handle.fileno()).st_size  # what is appended meanwhile is not part of it
        temporary = _temporary(target)
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
            with os.fdopen(fd, "wb") as copy:
                while left > 0 and (data := handle.read(min(left, _CHUNK))):
                    copy.write(data)
                    left -= len(data)
            os.replace(temporary, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


def read_text(path: str, *, limit: int = MAX_TEXT_BYTES) -> Text:
    return Text(path, read_bytes(path, limit=limit))


SETTLE_SECONDS = 0.03
EMPTY_SECONDS = 1.0  # an editor that has just truncated a file is given this long to fill it
_ROUNDS = 100
_WHOLE = 314_159  # the last digits, in nanoseconds, of the time on every file we write


def read_settled(path: str, *, follow: bool = True) -> Text:
    """Read a file that people and other programs also write. One written in place a moment ago may be half there
    (an editor truncates, then writes): look again until it has held still. One of ours is whole, and says so by
    its time: whoever writes into it afterwards changes that."""
    import time

    before = None
    for _ in range(_ROUNDS):
        data, info = _read_with_time(path, follow)
        age = time.time() - info.st_mtime
        now = (info.st_ino, info.st_mtime_ns, data)
        is_whole = info.st_mtime_ns % 1_000_000 == _WHOLE or not 0 <= age < SETTLE_SECONDS or now == before
        # While a file is being truncated it is empty before its time changes: that proves nothing.
        if is_whole if data else now == before and not 0 <= age < EMPTY_SECONDS:
            return Text(path, data)
        before = now
        time.sleep(max(SETTLE_SECONDS - age, SETTLE_SECONDS / 3))
    hint = f"find who writes it: fuser {path}"
    raise ConflictError("is being written without a pause", place=Place(path), hint=hint)


def _read_with_time(path: str, follow: bool) -> tuple[bytes, os.stat_result]:
    """The content and the time that belongs to it: both of one open file, and neither changed between."""
    with _opened(path, follow=follow) as handle:
        for _ in range(_ROUNDS):
            before = os.fstat(handle.fileno())
            handle.seek(0)
            data = handle.read(MAX_TEXT_BYTES)
            after = os.fstat(handle.fileno())
            if (before.st_mtime_ns, before.st_size, len(data)) == (
                after.st_mtime_ns,
                after.st_size,
                after.st_size,
            ):
                break
        return data, after


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
        hint = "restore the file; a NUL byte is what a crash or a binary leaves"
        raise FileError("holds a NUL byte", place=_place(path, raw, nul), expected="text", hint=hint)
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


def write_atomic(path: str, data: bytes, *, durable: bool = True) -> None:
    """Replace a regular file by a complete new one, or leave the old one untouched. Its mode is kept. A link or
    anything else in its place is refused: whoever may follow one resolves it first (`resolve_inside`). The rename
    replaces the name, so that other names of the same file (hard links) keep the old content.
    `durable`: on disk when this returns; what can be made anew after a power cut need not be."""
    refuse_unless_regular(path, "cannot be written")
    temporary = write_beside(path, data, durable=durable)
    try:
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, IsADirectoryError | NotADirectoryError):
            raise not_regular(path, "cannot be written") from None
        raise
    if durable:
        sync_folder(os.path.dirname(path) or ".")


def refuse_unless_regular(path: str, message: str) -> None:
    """A FileError if something other than a regular file stands there."""
    if not is_regular(path) and os.path.lexists(path):
        raise not_regular(path, message)


def _temporary(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name}.{os.getpid()}.{os.urandom(4).hex()}{TEMPORARY}")


def write_beside(target: str, data: bytes, *, durable: bool = True) -> str:
    """Write a complete temporary file in the target's folder, with the target's mode."""
    temporary = _temporary(target)
    mode = stat.S_IMODE(os.lstat(target).st_mode) if is_regular(target) else None
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise FileError(f"cannot be written: {error.strerror}", place=Place(target)) from None
    try:
        with os.fdopen(fd, "wb") as handle:
            handle.write(data)
            if mode is not None:
                os.fchmod(fd, mode)
            handle.flush()
            if durable:
                os.fsync(fd)
            _mark_whole(fd)
    except OSError as error:
        os.unlink(temporary)
        raise FileError(f"cannot be written: {error.strerror}", place=Place(target)) from None
    return temporary


def _mark_whole(fd: int) -> None:
    info = os.fstat(fd)
    marked = info.st_mtime_ns - info.st_mtime_ns % 1_000_000 + _WHOLE
    os.utime(fd, ns=(info.st_atime_ns, marked))


def sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def locked(path: str, *, seconds: float = 10.0) -> Iterator[int]:
    """Hold an exclusive lock on `path` (made if missing). It is released when this process ends, however, and each
    child that was handed the descriptor."""
    fd = _open_lock(path)
    try:
        _take(fd, path, seconds)
        yield fd
    finally:
        os.close(fd)


def _open_lock(path: str) -> int:
    """A regular file. Nothing is read from it and nothing written through it."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(path, flags, 0o666)
    except OSError:
        if os.path.lexists(path) and not is_regular(path):
            raise not_regular(path, "cannot be used as a lock") from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise not_regular(path, "cannot be used as a lock")
    return fd


def is_locked(path: str) -> bool:
    """Does another process hold the lock? Asked by a shared lock, so that two who ask do not see each other."""
    import fcntl

    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # never made, or not ours to see
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks
        return False
    finally:
        os.close(fd)
    return False


def _take(fd: int, path: str, seconds: float) -> None:
    """Wait for the lock, bounded. flock knows no time limit, and a signal could not bound it in a thread."""
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
