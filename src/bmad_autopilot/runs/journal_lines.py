"""One line of a run's journal: what an entry looks like on disk, bounded, whatever it is given."""

import json
import math
from collections.abc import Callable
from typing import Any, NamedTuple

MAX_LINE = 256 * 1024
MAX_DEPTH = 40
CLIPPED = "… [clipped]"
LATEST = 253_402_300_799  # the last second of the year 9999

_LIMITS = (
    64 * 1024,
    16 * 1024,
    4096,
    1024,
    256,
    64,
    16,
)  # of letters and of items, until it fits

# Straight to the scanner: a run of a long night has ten thousand lines, and somebody waits for it to go on.
_scan: Callable[[str, int], tuple[Any, int]] = vars(json.JSONDecoder())["scan_once"]

Redact = Callable[[object], object]


class Entry(NamedTuple):
    n: int
    at: float
    kind: str
    data: dict[str, Any]


def make(n: int, at: float, kind: str, fields: dict[str, object], redact: Redact) -> tuple[Entry, bytes]:
    """The entry as it will be read back, and its line. Secrets go before anything is cut: half a secret would not
    be recognised."""
    safe = redact(_plain(fields))
    for limit in _LIMITS:
        data = _plain(safe, limit)
        line = _dump({"n": n, "at": at, "kind": kind, "data": data})
        if len(line) <= MAX_LINE:
            break
    else:
        data = {"clipped": CLIPPED}
        line = _dump({"n": n, "at": at, "kind": kind, "data": data})
    assert isinstance(data, dict)
    return Entry(n, at, kind, data), line


def parse(line: bytes) -> Entry | None:
    """None: not one of ours."""
    try:
        text = line.decode()
        found, end = _scan(text, 0)
    except (ValueError, RecursionError, StopIteration):
        return None
    return _entry(found) if end >= len(text.rstrip()) else None


def parse_all(raw: bytes) -> list[Entry] | None:
    """All lines at once, which takes half the time. None: one of them is not ours, or longer than any of ours, and
    they have to be looked at one by one."""
    found: list[Entry] = []
    try:
        text = raw.decode()
        at, size = 0, len(text)
        while at < size:
            data, end = _scan(text, at)
            entry = _entry(data)
            if entry is None or text[end] != "\n" or end - at > MAX_LINE // 4:
                return None
            found.append(entry)
            at = end + 1
    except (ValueError, RecursionError, StopIteration, IndexError):
        return None
    return found


def _entry(found: Any) -> Entry | None:
    try:
        n, at, kind, data = found["n"], found["at"], found["kind"], found["data"]
    except (LookupError, TypeError):
        return None
    ours = type(n) is int and n > 0 and isinstance(at, int | float) and isinstance(kind, str)
    is_moment = ours and 0 <= at <= LATEST  # neither infinite nor no number, which JSON in Python can be
    return Entry(n, float(at), kind, data) if is_moment and isinstance(data, dict) else None


def _dump(record: dict[str, object]) -> bytes:
    try:
        text = json.dumps(record, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # a path with bytes that are no UTF-8
        text = json.dumps(record, separators=(",", ":")).encode()
    return text + b"\n"


def _plain(value: object, limit: int | None = None, depth: int = 0) -> object:
    """What JSON can say of it, no text and no list longer than `limit`."""
    if value is None or isinstance(value, bool | int):
        return value if not isinstance(value, int) or abs(value) < 1 << 64 else str(hex(value))
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict | list | tuple | set | frozenset):
        if depth >= MAX_DEPTH:
            return CLIPPED
        return _plain_items(value, limit, depth + 1)
    text = str(value)  # an enum's word too, as a text of our own
    return text if limit is None or len(text) <= limit else text[:limit] + CLIPPED


def _plain_items(value: Any, limit: int | None, depth: int) -> object:
    if isinstance(value, dict):
        pairs = list(value.items())[:limit]
        found: dict[str, object] = {str(_plain(name, limit)): _plain(inner, limit, depth) for name, inner in pairs}
        if len(value) > len(pairs):
            found["…"] = CLIPPED
        return found
    listed = [_plain(inner, limit, depth) for inner in list(value)[:limit]]
    return listed + [CLIPPED] * (len(value) > len(listed))
