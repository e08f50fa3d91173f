"""A run's journal: `journal.jsonl`, append-only, one line per event.

Only the process that holds the supervisor lock writes; any process may read at any time. A write interrupted by a
kill leaves no line end: readers skip the partial line, and the next append truncates it."""

import errno
import json
import math
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from ..core.errors import ConflictError, Diagnostic, FileError, Location, Severity
from ..io.files import refuse_hard_links, sync_folder

if TYPE_CHECKING:
    from ..core.events import Event

# Encoding of one entry as a line of bounded length.

MAX_LINE = 256 * 1024
MAX_DEPTH = 40
CLIPPED = "… [clipped]"
MAX_TIME = 253_402_300_799  # the last second of the year 9999

_LIMITS = (
    64 * 1024,
    16 * 1024,
    4096,
    1024,
    256,
    64,
    16,
)  # maximum text length and item count, tried in turn until the line fits

# Calls the scanner directly for speed: an overnight run has ten thousand lines, and the user waits for its resume.
_scan: Callable[[str, int], tuple[Any, int]] = vars(json.JSONDecoder())["scan_once"]

Redact = Callable[[object], object]


class JournalEntry(NamedTuple):
    n: int
    at: float
    kind: str
    data: dict[str, Any]


def make_entry(
    n: int, at: float, kind: str, fields: dict[str, object], redact: Redact
) -> tuple[JournalEntry, bytes]:
    """The entry as it will be read back, and its line. Redaction happens before truncation: half a secret would
    not be recognised."""
    safe = redact(_to_json_value(fields))
    for limit in _LIMITS:
        data = _to_json_value(safe, limit)
        line = _dump({"n": n, "at": at, "kind": kind, "data": data})
        if len(line) <= MAX_LINE:
            break
    else:
        data = {"clipped": CLIPPED}
        line = _dump({"n": n, "at": at, "kind": kind, "data": data})
    assert isinstance(data, dict)
    return JournalEntry(n, at, kind, data), line


def parse_line(line: bytes) -> JournalEntry | None:
    """None if the line is not a journal entry."""
    try:
        text = line.decode()
        found, end = _scan(text, 0)
    except (ValueError, RecursionError, StopIteration):
        return None
    return _to_entry(found) if end >= len(text.rstrip()) else None


def parse_lines(raw: bytes) -> list[JournalEntry] | None:
    """Parses all lines at once, in half the time. None if a line is invalid or too long; the caller then parses
    line by line."""
    found: list[JournalEntry] = []
    try:
        text = raw.decode()
        at, size = 0, len(text)
        while at < size:
            data, end = _scan(text, at)
            entry = _to_entry(data)
            if entry is None or text[end] != "\n" or end - at > MAX_LINE // 4:
                return None
            found.append(entry)
            at = end + 1
    except (ValueError, RecursionError, StopIteration, IndexError):
        return None
    return found


def _to_entry(found: Any) -> JournalEntry | None:
    try:
        n, at, kind, data = found["n"], found["at"], found["kind"], found["data"]
    except (LookupError, TypeError):
        return None
    ours = type(n) is int and n > 0 and isinstance(at, int | float) and isinstance(kind, str)
    is_moment = ours and 0 <= at <= MAX_TIME  # rejects Infinity and NaN, which Python's JSON accepts
    return JournalEntry(n, float(at), kind, data) if is_moment and isinstance(data, dict) else None


def _dump(record: dict[str, object]) -> bytes:
    try:
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # a path with bytes that are not UTF-8
        text = json.dumps(record, separators=(",", ":")).encode()
    return text + b"\n"


def _to_json_value(value: object, limit: int | None = None, depth: int = 0) -> object:
    """Converts to JSON types; texts and lists are cut at `limit`."""
    if value is None or isinstance(value, bool | int):
        return value if not isinstance(value, int) or abs(value) < 1 << 64 else str(hex(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict | list | tuple | set | frozenset):
        if depth >= MAX_DEPTH:
            return CLIPPED
        return _to_json_items(value, limit, depth + 1)
    text = str(value)  # also turns an enum member into a plain str
    return text if limit is None or len(text) <= limit else text[:limit] + CLIPPED


def _to_json_items(value: Any, limit: int | None, depth: int) -> object:
    if isinstance(value, dict):
        pairs = list(value.items())[:limit]
        found: dict[str, object] = {
            str(_to_json_value(name, limit)): _to_json_value(inner, limit, depth) for name, inner in pairs
        }
        if len(value) > len(pairs):
            found["…"] = CLIPPED
        return found
    listed = [_to_json_value(inner, limit, depth) for inner in list(value)[:limit]]
    return listed + [CLIPPED] * (len(value) > len(listed))


JOURNAL_FILE = "journal.jsonl"
MAX_JOURNAL = 256 * 1024 * 1024

_FLAGS = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_MAX_BULK_READ = 64 * 1024 * 1024  # bytes read at once
_TAIL = 4096  # trailing bytes that must be unchanged before the next append


class JournalChangedError(ConflictError):
    """Another process wrote to the journal or removed it."""


class _Position(NamedTuple):
    """Position after a complete line."""

    n: int = 0  # highest entry number so far
    offset: int = 0
    line: int = 0
    file: int = 0  # inode: a different file is read from the start


class Journal:
    """`redact`: removes secrets from all written data."""

    def __init__(self, run: str, redact: Redact, clock: Callable[[], float] = time.time) -> None:
        self.path = os.path.join(run, JOURNAL_FILE)
        self._redact = redact
        self._clock = clock
        self._fd = -1
        self._n = 0
        self._size = 0
        self._tail = b""
        self._position = _Position()
        self._warnings: dict[int, Diagnostic] = {}

    def redact(self, value: object) -> object:
        """The value as it would be written to this journal."""
        return self._redact(value)

    def append(self, kind: str, /, **fields: object) -> JournalEntry:
        """Appends an entry; it is on disk when this returns."""
        if self._fd < 0:
            self._open()
        self._check_unchanged()
        entry, line = make_entry(self._n + 1, round(self._clock(), 6), kind, fields, self._redact)
        if self._size + len(line) > MAX_JOURNAL:
            raise FileError("is full", location=Location(self.path), expected=f"at most {MAX_JOURNAL >> 20} MB")
        try:
            if os.write(self._fd, line) < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            os.fdatasync(self._fd)
        except OSError as error:
            self._roll_back()
            raise FileError(f"cannot be written: {error.strerror}", location=Location(self.path)) from None
        self._n, self._size, self._tail = entry.n, self._size + len(line), line[-_TAIL:]
        return entry

    def entries(self, since: int = 0) -> list[JournalEntry]:
        """All entries after number `since`. A follower that passes the last number it has seen reads only new
        lines."""
        if since < self._position.n or not self._is_current(self._position):
            self._position, self._warnings = _Position(), {}
        quick = _read_in_bulk(self.path, self._position)
        if quick is not None:
            entries, self._position = quick
            return [entry for entry in entries if entry.n > since]
        found = []
        for entry, position in _read_line_by_line(self.path, self._position):
            self._position = position
            if entry is None:
                self._add_warning(position)
            elif entry.n > since:
                found.append(entry)
        return found

    def events(self, since: int = 0) -> "list[Event]":
        """The same as typed events."""
        from ..core.events import decode_entry  # loads msgspec, which `bmad status` does without

        run = os.path.basename(os.path.dirname(self.path))
        return [decode_entry(one.n, one.at, one.kind, one.data, run) for one in self.entries(since)]

    @property
    def diagnostics(self) -> tuple[Diagnostic, ...]:
        """Invalid lines, as far as `entries` has read."""
        return tuple(self._warnings.values())

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    def _open(self) -> None:
        is_new = not os.path.lexists(self.path)
        try:
            self._fd = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | _FLAGS, 0o666)
            refuse_hard_links(self._fd, self.path)
            if is_new:
                folder = os.path.dirname(self.path)
                sync_folder(folder)
                sync_folder(os.path.dirname(folder))
            self._recover()
        except OSError as error:
            self.close()
            raise FileError(f"cannot be written: {error.strerror}", location=Location(self.path)) from None
        except FileError:
            self.close()
            raise

    def _recover(self) -> None:
        """Finds the end and truncates a partial line."""
        end = self._position if self._is_current(self._position) else _Position()
        for _, position in _read_line_by_line(self.path, end):
            end = position
        if os.fstat(self._fd).st_size != end.offset:
            os.ftruncate(self._fd, end.offset)
            os.fsync(self._fd)
        self._n, self._size = end.n, end.offset
        self._tail = os.pread(self._fd, min(_TAIL, end.offset), max(0, end.offset - _TAIL))

    def _check_unchanged(self) -> None:
        """Checks that the file is still the one we opened and ends with what we wrote."""
        info, size = os.fstat(self._fd), len(self._tail)
        try:
            current = os.lstat(self.path)
        except OSError:
            current = None
        is_same = current is not None and (current.st_ino, current.st_dev) == (info.st_ino, info.st_dev)
        is_ours = info.st_size == self._size and os.pread(self._fd, size, self._size - size) == self._tail
        if not (is_same and is_ours):
            raise JournalChangedError(
                "was changed by somebody else while we wrote it",
                location=Location(self.path),
                expected="one writer: the supervisor",
                hint="bmad resume goes on from what stands there now",
            )

    def _roll_back(self) -> None:
        """Removes a failed append: the caller was told it failed, so no reader may find it later."""
        with suppress(OSError):
            os.ftruncate(self._fd, self._size)

    def _is_current(self, position: _Position) -> bool:
        try:
            info = os.lstat(self.path)
        except OSError:
            return False
        return info.st_ino == position.file and info.st_size >= position.offset

    def _add_warning(self, position: _Position) -> None:
        message = "a line that is no entry of ours; it is passed over"
        location = Location(self.path, position.line)
        self._warnings[position.offset] = Diagnostic(Severity.WARNING, "journal-line", message, location)


def first_entry(run: str) -> JournalEntry | None:
    """The first entry of a run."""
    return next(
        (entry for entry, _ in _read_line_by_line(os.path.join(run, JOURNAL_FILE), _Position()) if entry), None
    )


def lane_entry(run: str) -> JournalEntry | None:
    """The first entry of a run driven by the engine. None for another tool's run, which has no lane to resume, and
    for an unreadable run, which must not block the others."""
    try:
        entry = first_entry(run)
    except FileError:
        return None
    return entry if entry is not None and is_lane_entry(entry) else None


def is_lane_entry(entry: JournalEntry) -> bool:
    return entry.kind == "run" and "workflow" in entry.data


def last_entry(run: str) -> JournalEntry | None:
    """The last entry, without reading the rest; None if it cannot be read."""
    try:
        opened = _open_to_read(os.path.join(run, JOURNAL_FILE))
    except FileError:
        return None
    if opened is None:
        return None
    fd, info = opened
    with os.fdopen(fd, "rb") as file:
        file.seek(max(0, info.st_size - MAX_LINE))
        lines = file.read(MAX_LINE).split(b"\n")
    return parse_line(lines[-2]) if len(lines) > 1 else None


def _open_to_read(path: str) -> tuple[int, os.stat_result] | None:
    try:
        fd = os.open(path, os.O_RDONLY | _FLAGS)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise FileError(f"cannot be read: {error.strerror}", location=Location(path)) from None
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        os.close(fd)
        raise FileError("cannot be read", location=Location(path), found="not a regular file", expected="a file")
    return fd, info


def _read_in_bulk(path: str, position: _Position) -> tuple[list[JournalEntry], _Position] | None:
    """All complete lines from the position on. None if they must be read line by line."""
    opened = _open_to_read(path)
    if opened is None:
        return None
    fd, info = opened
    with os.fdopen(fd, "rb") as file:
        if info.st_size - position.offset > _MAX_BULK_READ:
            return None
        file.seek(position.offset)
        raw = file.read(_MAX_BULK_READ)
    whole = raw[: raw.rfind(b"\n") + 1]
    entries = parse_lines(whole)
    if entries is None:
        return None
    n = max([position.n, *(entry.n for entry in entries)])
    return entries, _Position(n, position.offset + len(whole), position.line + len(entries), info.st_ino)


def _read_line_by_line(path: str, position: _Position) -> Iterator[tuple[JournalEntry | None, _Position]]:
    """Each complete line from the position on, None for an invalid one, with the position after it."""
    opened = _open_to_read(path)
    if opened is None:
        return
    fd, info = opened
    with os.fdopen(fd, "rb") as file:
        file.seek(position.offset)
        n, offset = position.n, position.offset
        for number, (line, length) in enumerate(_split_lines(file), position.line + 1):
            offset += length
            if offset > MAX_JOURNAL:
                break
            entry = parse_line(line)
            n = max(n, entry.n) if entry else n
            yield entry, _Position(n, offset, number, info.st_ino)


def _split_lines(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """Complete lines and their lengths; an overlong line is returned as empty."""
    line, length = b"", 0
    while chunk := file.readline(MAX_LINE):
        length += len(chunk)
        line = line + chunk if length <= MAX_LINE else b""
        if chunk.endswith(b"\n"):
            yield line, length
            line, length = b"", 0
