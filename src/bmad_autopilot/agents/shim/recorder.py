"""`events.jsonl`: every line the agent prints, redacted and bounded, and whether it said anything new."""

from __future__ import annotations

import json
import os
import re
import time

from .redaction import Redactor

MAX_LINE = 1024 * 1024  # the rest of a longer line is not kept
CUT = 4096
MAX_FILE = 64 * 1024 * 1024  # beyond it only the last lines are kept, because they say how it ended
MAX_TAIL = 256 * 1024
MAX_KNOWN = 20_000
MAX_SKELETON = 4000

# Names and clocks change in every heartbeat and mean nothing.
_PASSING = re.compile(
    r"(?:^|_)(?:u?u?id|ids|nonce|time|times|timestamp|at|ts|seq|since|elapsed|duration|ms|count)$|Id$"
)


class Recorder:
    def __init__(self, path: str, secrets: list[str], started: float) -> None:
        self.problem = ""
        self._fd = self._open(path)
        self._redactors = {"text": Redactor(secrets), "error": Redactor(secrets)}
        self._started = started
        self._buffers = {"text": bytearray(), "error": bytearray()}
        self._cut = {"text": False, "error": False}
        self._known: set[int] = set()
        self._tail: list[bytes] = []
        self._tail_size = 0
        self._full = False
        self.size = 0
        self.lines = 0
        self.dropped = 0  # lines that found no room
        self.overlong = 0

    def _open(self, path: str) -> int:
        try:
            return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            self.problem = error.strerror or str(error)
            return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)

    def feed(self, stream: str, data: bytes) -> list[dict[str, object] | str]:
        """Take what was read from one stream; the whole lines in it that said something new."""
        buffer = self._buffers[stream]
        new: list[dict[str, object] | str] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._append(stream, data[start:end])
            new += self._line(stream, bytes(buffer))
            buffer.clear()
            self._cut[stream] = False
            start = end + 1
        self._append(stream, data[start:])
        return new

    def _append(self, stream: str, part: bytes) -> None:
        buffer = self._buffers[stream]
        room = MAX_LINE - len(buffer)
        buffer += part[:room]
        if len(part) > room and not self._cut[stream]:
            self._cut[stream] = True
            self.overlong += 1

    def close(self) -> None:
        for stream, buffer in self._buffers.items():
            if buffer:
                self._line(stream, bytes(buffer))
                buffer.clear()
        tail, self._tail = self._tail, []
        self.dropped -= len(tail)
        for line in tail:
            self._write(line)
        self.dropped += len(self._tail)
        os.close(self._fd)

    def note(self, text: str) -> None:
        self._record("note", text)

    def _line(self, stream: str, raw: bytes) -> list[dict[str, object] | str]:
        if self._cut[stream]:
            raw = raw[:-CUT]  # half of a secret is not known for one
        text = raw.decode("utf-8", "replace").rstrip("\r")
        if not text.strip():
            return []
        redactor = self._redactors[stream]
        value = None
        if stream == "text" and text.startswith("{") and not self._cut[stream]:
            value = _parse(text)
        if value is not None:
            event = redactor.value(value)
            self._record("event", event)
            return [value] if self._is_new(value) else []
        line = redactor.line(text)
        self._record(stream, line)
        return [line] if self._is_new(text) else []

    def _record(self, kind: str, value: object) -> None:
        at = round(time.monotonic() - self._started, 3)
        try:
            text = json.dumps({"at": at, kind: value}, ensure_ascii=False, separators=(",", ":"))
        except (ValueError, RecursionError):
            text = json.dumps({"at": at, "note": "a line that could not be written down was left out"})
        line = text.encode("utf-8", "replace") + b"\n"
        self.lines += 1
        self._full = self._full or self.size + len(line) > MAX_FILE
        if self._full or self.problem:
            self._keep_last(line)
        else:
            self._write(line)

    def _keep_last(self, line: bytes) -> None:
        self.dropped += 1
        self._tail.append(line)
        self._tail_size += len(line)
        while self._tail_size > MAX_TAIL and len(self._tail) > 1:
            self._tail_size -= len(self._tail.pop(0))

    def _write(self, line: bytes) -> None:
        """A full disk costs the log, never the call."""
        try:
            if os.write(self._fd, line) < len(line):
                os.ftruncate(self._fd, self.size)  # no torn line in the middle of the file
                raise OSError("no room for the whole line")
            self.size += len(line)
        except OSError as error:
            self.problem = error.strerror or str(error)
            self._keep_last(line)

    def _is_new(self, value: object) -> bool:
        mark = hash(tuple(_words(value)))
        if mark in self._known:
            return False
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known.add(mark)
        return True


def _parse(text: str) -> dict[str, object] | None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _words(value: object) -> list[str]:
    """What a line says, without what changes by itself: numbers, ids, clocks, spinners."""
    found: list[str] = []
    todo = [value]
    room = MAX_SKELETON
    while todo and room > 0:
        item = todo.pop()
        if isinstance(item, str):
            found += [word for word in re.split(r"\W+", item[:room]) if word.isalpha() and len(word) < 16]
            room -= len(item)
        elif isinstance(item, dict):
            kept = [(key, inner) for key, inner in item.items() if not _PASSING.search(key)]
            todo += [part for pair in kept for part in pair]
        elif isinstance(item, list):
            todo += item
    return found
