"""File access: bounded reads, durable atomic writes, locks that are released when their owner dies."""

import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from ..core.errors import ConflictError, FileError, Location

MAX_TEXT_BYTES = 16 * 1024 * 1024  # the largest real board has 97 kB, the largest epics file 650 kB

BOM = "\ufeff"
_CHUNK = 1024 * 1024
TEMPORARY_SUFFIX = ".bmad-tmp"  # suffix of files a kill may leave behind; git ignores them


class TextFile:
    """A decoded file: its text without the byte order mark, and the raw bytes needed to write it back."""

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


SPECIAL_FILE_KINDS = tuple(_KINDS.values())[2:]  # kinds that git does not store


def entry_kind(path: str) -> str:
    """The kind of a directory entry in words, links not followed: `a named pipe`. Empty if it does not exist."""
    try:
        mode = os.lstat(path).st_mode
        if stat.S_ISLNK(mode):
            return f"a symbolic link to {os.readlink(path)}"
    except (OSError, ValueError):
        return ""
    return _KINDS.get(stat.S_IFMT(mode), "not a regular file")


def is_regular(path: str) -> bool:
    """Whether the entry is a regular file; links are not followed."""
    try:
        return stat.S_ISREG(os.lstat(path).st_mode)
    except (OSError, ValueError):
        return False


def not_regular_error(path: str, message: str, found: str = "") -> FileError:
    """The error for a link, device, pipe, socket or folder where a regular file is expected."""
    from shlex import quote

    return FileError(
        message,
        location=Location(path),
        found=found or entry_kind(path) or "nothing",
        expected="a regular file",
        hint=f"look at it: ls -ld {quote(path)}; then put a regular file in its place",
    )


def resolve_inside(path: str, inside: str) -> str:
    """Resolve the links of `path`. Raises FileError if the result is outside the folder `inside`: users may link
    files within a project, but nothing is written through a link that leads out of it."""
    real, home = os.path.realpath(path), os.path.realpath(inside)
    if real.startswith(home.rstrip(os.sep) + os.sep):
        return real
    raise FileError(
        "leads out of the project",
        location=Location(path),
        found=f"a symbolic link to {real}" if real != os.path.abspath(path) else real,
        expected=f"a file below {inside}",
        hint="put the file itself in the place of the link",
    )


def refuse_hard_links(fd: int, path: str) -> None:
    """Raise FileError if an open file has several hard links. For files that are written in place: the other link
    may be a file of the user, linked here by an agent."""
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or info.st_nlink > 1:
        found = entry_kind(path) if not stat.S_ISREG(info.st_mode) else f"a file with {info.st_nlink} hard links"
        raise not_regular_error(path, "cannot be written", found)


def refuse_links(top: str, path: str) -> None:
    """Raise FileError if `top`, `path` or a folder between them is a symbolic link. For our own folders that
    agents can write to."""
    parts = os.path.relpath(path, top).split(os.sep)
    for count in range(len(parts) + 1):
        place = os.path.normpath(os.path.join(top, *parts[:count]))
        if os.path.islink(place):
            raise FileError(
                "is a symbolic link",
                location=Location(place),
                found=entry_kind(place),
                expected="a folder or file of our own",
                hint=f"rm {place}",
            )


@contextmanager
def _open_regular(path: str, limit: int = MAX_TEXT_BYTES, *, follow: bool = True) -> Iterator[BinaryIO]:
    """Open a regular file of bounded size, or raise a FileError that says what is there instead."""
    # O_NONBLOCK: opening a fifo must not wait for a writer.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (0 if follow else os.O_NOFOLLOW)
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        raise FileError("no such file", location=Location(path), expected="a file") from None
    except OSError as error:
        kind = entry_kind(path)
        if kind and kind != _KINDS[stat.S_IFREG]:  # a socket, a link when `follow` is off, a link to itself
            raise not_regular_error(path, "cannot be read", kind) from None
        raise FileError(f"cannot be read: {error.strerror}", location=Location(path)) from None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            kind = _KINDS.get(stat.S_IFMT(info.st_mode), "not a regular file")
            link = entry_kind(path) if os.path.islink(path) else ""
            raise not_regular_error(path, "cannot be read", f"{link}, which is {kind}" if link else kind)
        if info.st_size > limit:
            raise FileError(
                "is too large to be read",
                location=Location(path),
                found=f"{info.st_size / 1e6:.1f} MB",
                expected=f"at most {limit / 1e6:.0f} MB",
            )
        # fdopen comes last: on a folder it raises its own error.
        with os.fdopen(fd, "rb", closefd=False) as handle:
            yield handle
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", location=Location(path)) from None
    finally:
        os.close(fd)


def read_bytes(path: str, *, limit: int = MAX_TEXT_BYTES, head: int = -1, follow: bool = True) -> bytes:
    """Read a regular file, or its first `head` bytes. `follow`: accept a symbolic link to a regular file."""
    with _open_regular(path, limit, follow=follow) as handle:
        # The file may grow while it is read.
        return handle.read(head if head >= 0 else limit)


def copy_file(source: str, target: str, *, limit: int = MAX_TEXT_BYTES) -> None:
    """Copy a regular file of bounded size. Follows links on neither side; replaces `target` atomically."""
    refuse_unless_regular(target, "cannot be written")
    with _open_regular(source, limit, follow=False) as handle:
        left = os.fstat(handle.fileno()).st_size  # do not copy what is appended meanwhile
        temporary = _temporary_name(target)
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


def read_text(path: str, *, limit: int = MAX_TEXT_BYTES) -> TextFile:
    return TextFile(path, read_bytes(path, limit=limit))


SETTLE_SECONDS = 0.03
EMPTY_SECONDS = 1.0  # how long an editor may take to fill a file it has just truncated
_MAX_READS = 100
_COMPLETE_MARK = 314_159  # the last nanosecond digits of the mtime of every file we write


def read_stable(path: str, *, follow: bool = True) -> TextFile:
    """Read a file that people and other programs also write. A file written in place a moment ago may be
    incomplete (an editor truncates, then writes): read it again until it is stable. Files we wrote are complete; a
    mark in their mtime says so, and any later write changes it."""
    import time

    before = None
    for _ in range(_MAX_READS):
        data, info = _read_with_time(path, follow)
        age = time.time() - info.st_mtime
        now = (info.st_ino, info.st_mtime_ns, data)
        is_whole = info.st_mtime_ns % 1_000_000 == _COMPLETE_MARK or not 0 <= age < SETTLE_SECONDS or now == before
        # A truncated file is empty before its mtime changes: an old mtime proves nothing then.
        if is_whole if data else now == before and not 0 <= age < EMPTY_SECONDS:
            return TextFile(path, data)
        before = now
        time.sleep(max(SETTLE_SECONDS - age, SETTLE_SECONDS / 3))
    hint = f"find who writes it: fuser {path}"
    raise ConflictError("is being written without a pause", location=Location(path), hint=hint)


def _read_with_time(path: str, follow: bool) -> tuple[bytes, os.stat_result]:
    """Content and stat of one open file, read consistently: neither changed in between."""
    with _open_regular(path, follow=follow) as handle:
        for _ in range(_MAX_READS):
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
            location=Location(path, 1, 1),
            found="UTF-16",
            hint=f"iconv -f UTF-16 -t UTF-8 {path} > {path}.utf8",
        )
    nul = raw.find(b"\0")
    if nul >= 0:
        hint = "restore the file; a NUL byte is what a crash or a binary leaves"
        raise FileError("holds a NUL byte", location=_locate_offset(path, raw, nul), expected="text", hint=hint)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FileError(
            "is not UTF-8",
            location=_locate_offset(path, raw, error.start),
            found=f"byte 0x{raw[error.start]:02x}",
            hint="save the file as UTF-8",
        ) from None


def _locate_offset(path: str, raw: bytes, offset: int) -> Location:
    line_start = raw.rfind(b"\n", 0, offset) + 1
    return Location(path, raw.count(b"\n", 0, offset) + 1, offset - line_start + 1)


def write_atomic(path: str, data: bytes, *, durable: bool = True) -> None:
    """Replace a regular file with a complete new one, or leave the old one untouched. The mode is kept. Links and
    other entries are refused: a caller that may follow links resolves them first (`resolve_inside`). The rename
    replaces the directory entry, so other hard links keep the old content.
    `durable`: on disk when this returns; not needed for files that can be rebuilt after a power cut."""
    refuse_unless_regular(path, "cannot be written")
    temporary = write_temporary(path, data, durable=durable)
    try:
        os.replace(temporary, path)
    except BaseException as error:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        if isinstance(error, IsADirectoryError | NotADirectoryError):
            raise not_regular_error(path, "cannot be written") from None
        raise
    if durable:
        sync_folder(os.path.dirname(path) or ".")


def refuse_unless_regular(path: str, message: str) -> None:
    """Raise FileError if the path exists and is not a regular file."""
    if not is_regular(path) and os.path.lexists(path):
        raise not_regular_error(path, message)


def _temporary_name(target: str) -> str:
    folder, name = os.path.split(target)
    return os.path.join(folder, f".{name}.{os.getpid()}.{os.urandom(4).hex()}{TEMPORARY_SUFFIX}")


def write_temporary(target: str, data: bytes, *, durable: bool = True) -> str:
    """Write a complete temporary file in the target's folder, with the target's mode."""
    temporary = _temporary_name(target)
    mode = stat.S_IMODE(os.lstat(target).st_mode) if is_regular(target) else None
    try:
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise FileError(f"cannot be written: {error.strerror}", location=Location(target)) from None
    try:
        with os.fdopen(fd, "wb") as handle:
            handle.write(data)
            if mode is not None:
                os.fchmod(fd, mode)
            handle.flush()
            if durable:
                os.fsync(fd)
            _mark_complete(fd)
    except OSError as error:
        os.unlink(temporary)
        raise FileError(f"cannot be written: {error.strerror}", location=Location(target)) from None
    return temporary


def _mark_complete(fd: int) -> None:
    info = os.fstat(fd)
    marked = info.st_mtime_ns - info.st_mtime_ns % 1_000_000 + _COMPLETE_MARK
    os.utime(fd, ns=(info.st_atime_ns, marked))


def sync_folder(folder: str) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


@contextmanager
def hold_lock(path: str, *, seconds: float = 10.0) -> Iterator[int]:
    """Hold an exclusive lock on `path` (created if missing). The kernel releases it when this process and every
    child that inherited the descriptor have ended, even by a kill."""
    fd = _open_lock(path)
    try:
        _acquire(fd, path, seconds)
        yield fd
    finally:
        os.close(fd)


def _open_lock(path: str) -> int:
    """Open the lock file, which must be a regular file. It is never read or written."""
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    try:
        fd = os.open(path, flags, 0o666)
    except OSError:
        if os.path.lexists(path) and not is_regular(path):
            raise not_regular_error(path, "cannot be used as a lock") from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise not_regular_error(path, "cannot be used as a lock")
    return fd


def is_locked(path: str) -> bool:
    """Whether another process holds the lock. Tests with a shared lock, so two callers do not block each other."""
    import fcntl

    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:  # does not exist, or is not accessible
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


def _acquire(fd: int, path: str, seconds: float) -> None:
    """Wait for the lock, bounded. flock has no timeout, and a signal cannot interrupt it in a thread."""
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
                    location=Location(path),
                    hint=f"see who holds it: fuser {path}",
                ) from None
        time.sleep(pause)
        pause = min(pause * 2, 0.02)
