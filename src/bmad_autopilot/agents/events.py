"""`events.jsonl`: what an agent printed, line by line, as the shim wrote it down."""

import json
import os
import stat
from collections.abc import Iterator
from typing import Any, NamedTuple

from .shim.records import PLAIN

MAX_LINE = 4 * 1024 * 1024

JSON = "event"  # a JSON object on its standard output
TEXT = "text"  # any other line there
ERROR = "error"  # a line on its standard error
NOTE = "note"  # the shim's own remark
RECORD = "record"  # from the client's own record, read once the call has ended; never in `events.jsonl`

KINDS = (JSON, TEXT, ERROR, NOTE)


class Event(NamedTuple):
    at: float  # seconds since the agent's start
    kind: str
    data: Any  # a dict for JSON, else a text


def read_events(path: str, offset: int = 0) -> Iterator[tuple[Event, int]]:
    """Each event with the offset behind it. A torn last line is left for the next reading; a line that is
    none of ours is passed over. What is no regular file holds no events."""
    try:
        fd = os.open(path, os.O_RDONLY | PLAIN)
    except OSError:
        return
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return
    with os.fdopen(fd, "rb") as file:
        file.seek(offset)
        while line := file.readline(MAX_LINE):
            offset += len(line)
            if not line.endswith(b"\n"):
                if len(line) < MAX_LINE:
                    return
                continue
            event = _parse(line)
            if event is not None:
                yield event, offset


def _parse(line: bytes) -> Event | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    at = record.get("at")
    for kind in KINDS:
        if kind in record:
            data = record[kind]
            if isinstance(data, dict if kind == JSON else str):
                return Event(float(at) if isinstance(at, int | float) else 0.0, kind, data)
    return None
