"""One file or link into a worktree: whole or not at all, its mode and time kept, never through a link."""

import errno
import os
import stat
from collections.abc import Callable
from contextlib import suppress
from typing import BinaryIO

from ...core.errors import FileError, Place
from ...files import TEMPORARY

_CHUNK = 1024 * 1024
# From the kernel: between two file systems, or where it knows no such thing.
_NO_CLONE = (errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM)


def stamp_of(path: str) -> str:
    """What tells a copy that was left alone from one that was changed; empty: there is nothing, or no file."""
    try:
        info = os.lstat(path)
        if stat.S_ISLNK(info.st_mode):
            return f"-> {os.readlink(path)}"
    except OSError:
        return ""
    return f"{info.st_size} {info.st_mtime_ns}" if stat.S_ISREG(info.st_mode) else ""


def is_same(one: str, other: str) -> bool:
    """Two files with the same content, or two links to the same."""
    stamps = stamp_of(one), stamp_of(other)
    if not all(stamps) or any(stamp.startswith("->") for stamp in stamps):
        return stamps[0] == stamps[1] != ""
    try:
        with _plain(one) as mine, _plain(other) as theirs:
            while True:
                chunk = mine.read(_CHUNK)
                if chunk != theirs.read(_CHUNK):
                    return False
                if not chunk:
                    return True
    except OSError:
        return False


def _plain(path: str) -> BinaryIO:
    """A regular file, opened neither through a link nor waiting for a pipe's writer."""
    handle = os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK), "rb")
    if not stat.S_ISREG(os.fstat(handle.fileno()).st_mode):
        handle.close()
        raise OSError(errno.EINVAL, "is no regular file")
    return handle


def is_safe_link(top: str, path: str) -> bool:
    """Does this link lead to something inside, by its own words and by what they come to? An absolute one would
    lead from the worktree back into the checkout."""
    target = os.readlink(os.path.join(top, path))
    lexical = os.path.normpath(os.path.join(os.path.dirname(path), target))
    if os.path.isabs(target) or lexical == ".." or lexical.startswith("../"):
        return False
    real = os.path.realpath(os.path.join(top, path))
    return real == os.path.realpath(top) or real.startswith(f"{os.path.realpath(top)}/")


def copy_into(source_top: str, target_top: str, path: str) -> str:
    """The stamp of what is there afterwards."""
    source, target = os.path.join(source_top, path), os.path.join(target_top, path)
    try:
        _make_parents(source_top, target_top, path)
        info = os.lstat(source)
        if stat.S_ISLNK(info.st_mode):
            _put(target, lambda temporary: os.symlink(os.readlink(source), temporary))
        else:
            _put(target, lambda temporary: _copy_file(source, temporary))
    except OSError as error:
        raise FileError(f"cannot be copied into the worktree: {error.strerror}", place=Place(source)) from None
    return stamp_of(target)


def has_plain_parents(top: str, path: str) -> bool:
    """Whether no folder on the way is a link or a file; one that is missing can be made."""
    folder = top
    for name in path.split("/")[:-1]:
        folder = os.path.join(folder, name)
        try:
            if not stat.S_ISDIR(os.lstat(folder).st_mode):
                return False
        except OSError:
            return True
    return True


def _make_parents(source_top: str, target_top: str, path: str) -> None:
    if not has_plain_parents(target_top, path):
        raise NotADirectoryError(errno.ENOTDIR, "a link or a file stands where a folder should")
    source, target = source_top, target_top
    for name in path.split("/")[:-1]:
        source, target = os.path.join(source, name), os.path.join(target, name)
        with suppress(FileExistsError):
            os.mkdir(target, 0o700)
            os.chmod(target, stat.S_IMODE(os.stat(source).st_mode) | 0o700)


def _put(target: str, write: Callable[[str], None]) -> None:
    folder, name = os.path.split(target)
    temporary = os.path.join(folder, f".{name[:100]}.{os.urandom(4).hex()}{TEMPORARY}")
    try:
        write(temporary)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _copy_file(source: str, target: str) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
    with (
        _plain(source) as reader,
        os.fdopen(os.open(target, flags, 0o600), "wb") as writer,
    ):
        info = os.fstat(reader.fileno())
        _pour(reader, writer, info.st_size)
        writer.flush()
        os.fchmod(writer.fileno(), stat.S_IMODE(info.st_mode))
        os.utime(writer.fileno(), ns=(info.st_atime_ns, info.st_mtime_ns))


def _pour(reader: BinaryIO, writer: BinaryIO, size: int) -> None:
    """By the kernel where it can: file systems that share blocks then copy nothing at all."""
    copied = 0
    if hasattr(os, "copy_file_range"):
        try:
            while copied < size:
                count = os.copy_file_range(reader.fileno(), writer.fileno(), size - copied, copied, copied)
                if count == 0:
                    break
                copied += count
        except OSError as error:
            if error.errno not in _NO_CLONE:
                raise
    reader.seek(copied)
    writer.seek(copied)
    # What is appended meanwhile is not part of it.
    while copied < size and (data := reader.read(min(size - copied, _CHUNK))):
        writer.write(data)
        copied += len(data)
