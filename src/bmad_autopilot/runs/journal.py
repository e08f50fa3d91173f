"""A run's journal: `journal.jsonl`, one line for each thing that happened, only ever added to.

One process writes, the one that holds the supervisor's lock; anybody reads at any time. What a kill in the middle
of a write leaves behind has no line end: readers pass over it, and the next append cuts it off."""

import errno
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import BinaryIO, NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import ConflictError, FileError, Place
from ..files import refuse_shared, sync_folder
from .journal_lines import MAX_LINE, Entry, Redact, make, parse, parse_all

NAME = "journal.jsonl"
MAX_JOURNAL = 256 * 1024 * 1024

_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_AT_ONCE = 64 * 1024 * 1024  # bytes that are read in one go
_TAIL = 4096  # bytes before our next line that must still be as we left them


class JournalChanged(ConflictError):
    """Somebody else wrote into the journal, or took it away."""


class _Position(NamedTuple):
    """Behind a whole line."""

    n: int = 0  # the highest number so far
    offset: int = 0
    line: int = 0
    file: int = 0  # its inode: another file is read from its beginning


class Journal:
    """`redact`: takes the secrets out of whatever is written."""

    def __init__(self, run: str, redact: Redact, clock: Callable[[], float] = time.time) -> None:
        self.path = os.path.join(run, NAME)
        self._redact = redact
        self._clock = clock
        self._fd = -1
        self._n = 0
        self._size = 0
        self._tail = b""
        self._seen = _Position()
        self._odd: dict[int, Diagnostic] = {}

    def redacted(self, value: object) -> object:
        """As it would be written here."""
        return self._redact(value)

    def append(self, kind: str, /, **fields: object) -> Entry:
        """Written, and on disk, when this returns."""
        if self._fd < 0:
            self._open()
        self._check_ours()
        entry, line = make(self._n + 1, round(self._clock(), 6), kind, fields, self._redact)
        if self._size + len(line) > MAX_JOURNAL:
            raise FileError("is full", place=Place(self.path), expected=f"at most {MAX_JOURNAL >> 20} MB")
        try:
            if os.write(self._fd, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fdatasync(self._fd)
        except OSError as error:
            self._undo()
            raise FileError(f"cannot be written: {error.strerror}", place=Place(self.path)) from None
        self._n, self._size, self._tail = entry.n, self._size + len(line), line[-_TAIL:]
        return entry

    def entries(self, since: int = 0) -> list[Entry]:
        """All entries after number `since`. Whoever follows a journal and passes the last number it saw reads only
        what has been added."""
        if since < self._seen.n or not self._is_there(self._seen):
            self._seen, self._odd = _Position(), {}
        quick = _read_at_once(self.path, self._seen)
        if quick is not None:
            entries, self._seen = quick
            return [entry for entry in entries if entry.n > since]
        found = []
        for entry, behind in _read(self.path, self._seen):
            self._seen = behind
            if entry is None:
                self._note(behind)
            elif entry.n > since:
                found.append(entry)
        return found

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Lines that are none of ours, as far as `entries` has read."""
        return tuple(self._odd.values())

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> None:
        is_new = not os.path.lexists(self.path)
        try:
            self._fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _FLAGS, 0o666)
            refuse_shared(self._fd, self.path)
            if is_new:
                folder = os.path.dirname(self.path)
                sync_folder(folder)
                sync_folder(os.path.dirname(folder))
            self._recover()
        except OSError as error:
            self.close()
            raise FileError(f"cannot be written: {error.strerror}", place=Place(self.path)) from None
        except FileError:
            self.close()
            raise

    def _recover(self) -> None:
        """Find where it ends, and cut off what is no whole line."""
        end = self._seen if self._is_there(self._seen) else _Position()
        for _, behind in _read(self.path, end):
            end = behind
        if os.fstat(self._fd).st_size != end.offset:
            os.ftruncate(self._fd, end.offset)
            os.fsync(self._fd)
        self._n, self._size = end.n, end.offset
        self._tail = os.pread(self._fd, min(_TAIL, end.offset), max(0, end.offset - _TAIL))

    def _check_ours(self) -> None:
        """The file that stands there is the one we hold, and ends with what we wrote."""
        info, size = os.fstat(self._fd), len(self._tail)
        try:
            there = os.lstat(self.path)
        except OSError:
            there = None
        is_same = there is not None and (there.st_ino, there.st_dev) == (info.st_ino, info.st_dev)
        is_ours = info.st_size == self._size and os.pread(self._fd, size, self._size - size) == self._tail
        if not (is_same and is_ours):
            raise JournalChanged(
                "was changed by somebody else while we wrote it",
                place=Place(self.path),
                expected="one writer: the supervisor",
                hint="bmad resume goes on from what stands there now",
            )

    def _undo(self) -> None:
        """Whoever is told that it failed must not find it later."""
        with suppress(OSError):
            os.ftruncate(self._fd, self._size)

    def _is_there(self, seen: _Position) -> bool:
        try:
            info = os.lstat(self.path)
        except OSError:
            return False
        return info.st_ino == seen.file and info.st_size >= seen.offset

    def _note(self, behind: _Position) -> None:
        message = "a line that is no entry of ours; it is passed over"
        place = Place(self.path, behind.line)
        self._odd[behind.offset] = Diagnostic(Severity.WARNING, "journal-line", message, place)


def first_entry(run: str) -> Entry | None:
    """What a run began with."""
    return next((entry for entry, _ in _read(os.path.join(run, NAME), _Position()) if entry), None)


def lane_entry(run: str) -> Entry | None:
    """What a run of the loop began with. None: another tool's, with no lane to go on with, or one that nobody can
    read any more, which stops no other."""
    try:
        entry = first_entry(run)
    except FileError:
        return None
    return entry if entry is not None and entry.kind == "run" and "workflow" in entry.data else None


def last_entry(run: str) -> Entry | None:
    """What was written last, without reading the rest; None where nobody can tell."""
    try:
        opened = _open_to_read(os.path.join(run, NAME))
    except FileError:
        return None
    if opened is None:
        return None
    fd, info = opened
    with os.fdopen(fd, "rb") as file:
        file.seek(max(0, info.st_size - MAX_LINE))
        lines = file.read(MAX_LINE).split(b"\n")
    return parse(lines[-2]) if len(lines) > 1 else None


def _open_to_read(path: str) -> tuple[int, os.stat_result] | None:
    try:
        fd = os.open(path, os.O_RDONLY | _FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", place=Place(path)) from None
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        os.close(fd)
        raise FileError("cannot be read", place=Place(path), found="not a regular file", expected="a file")
    return fd, info


def _read_at_once(path: str, at: _Position) -> tuple[list[Entry], _Position] | None:
    """All whole lines from there on. None: they have to be read one by one."""
    opened = _open_to_read(path)
    if opened is None:
        return None
    fd, info = opened
    with os.fdopen(fd, "rb") as file:
        if info.st_size - at.offset > _AT_ONCE:
            return None
        file.seek(at.offset)
        raw = file.read(_AT_ONCE)
    whole = raw[: raw.rfind(b"\n") + 1]
    entries = parse_all(whole)
    if entries is None:
        return None
    n = max([at.n, *(entry.n for entry in entries)])
    return entries, _Position(n, at.offset + len(whole), at.line + len(entries), info.st_ino)


def _read(path: str, at: _Position) -> Iterator[tuple[Entry | None, _Position]]:
    """Each whole line from there on, None for one that is none of ours, with the position behind it."""
    opened = _open_to_read(path)
    if opened is None:
        return
    fd, info = opened
    with os.fdopen(fd, "rb") as file:
        file.seek(at.offset)
        n, offset = at.n, at.offset
        for number, (line, length) in enumerate(_lines(file), at.line + 1):
            offset += length
            if offset > MAX_JOURNAL:
                break
            entry = parse(line)
            n = max(n, entry.n) if entry else n
            yield entry, _Position(n, offset, number, info.st_ino)


def _lines(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Whole lines and their lengths; one too long to be ours comes as an empty one."""
    line, length = b"", 0
    while chunk := file.readline(MAX_LINE):
        length += len(chunk)
        line = line + chunk if length <= MAX_LINE else b""
        if chunk.endswith(b"\n"):
            yield line, length
            line, length = b"", 0
