"""Writes the agent's output to `events.jsonl`, redacted and bounded, and detects lines that say something new."""

from __future__ import annotations

import json
import os
import re
import time
from collections import deque

from .attempt_files import SAFE_OPEN, is_own_file
from .redact import Redactor

MAX_LINE = 1024 * 1024  # the rest of a longer line is dropped
CUT_MARGIN = 4096
MAX_FILE = 32 * 1024 * 1024  # beyond it only the last lines are kept, because they tell how the call ended
MAX_TAIL = 256 * 1024
MAX_KNOWN = 20_000
MAX_SKELETON = 4000

# Ids and times change in every heartbeat and are not progress.
_VOLATILE_KEYS = re.compile(
    r"(?:^|_)(?:u?u?id|ids|nonce|time|times|timestamp|at|ts|seq|since|elapsed|duration|ms|count)$|Id$"
)


_HEX = re.compile(r"[0-9a-fA-F]{4,}")


class Recorder:
    def __init__(self, path: str, secrets: list[str], started: float, folder: int | None = None) -> None:
        """`folder`: a descriptor of the folder that `path` is relative to."""
        self.problem = ""
        self._fd = self._open(path, folder)
        self._redactors = {"text": Redactor(secrets), "error": Redactor(secrets)}
        self._started = started
        self._buffers = {"text": bytearray(), "error": bytearray()}
        self._cut = {"text": False, "error": False}
        self._known: set[int] = set()
        self._tail: deque[tuple[str, bytes]] = deque()  # unprocessed: most of them will be dropped
        self._tail_size = 0
        self._full = False
        self.size = 0
        self.lines = 0
        self.dropped = 0  # lines for which there was no space
        self.overlong = 0

    def _open(self, path: str, folder: int | None) -> int:
        try:
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | SAFE_OPEN, 0o600, dir_fd=folder)
            if is_own_file(fd):
                return fd
            os.close(fd)
            raise OSError(f"{path} is no file of our own")
        except OSError as error:
            self.problem = error.strerror or str(error)
            return os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)

    def feed(self, stream: str, data: bytes) -> list[dict[str, object] | str]:
        """Record data read from one stream. Returns the complete lines in it that said something new."""
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
        tail, self._tail = self._tail, deque()
        self.dropped -= len(tail)
        self._full, self.problem, problem = False, "", self.problem
        for stream, raw in tail:
            self._write(self._encode(*self._parse_line(stream, raw)[:2]))
        self.problem = self.problem or problem
        os.close(self._fd)

    def note(self, text: str) -> None:
        self._write_or_keep(self._encode("note", text), ("note", text.encode()))

    def _line(self, stream: str, raw: bytes) -> list[dict[str, object] | str]:
        """Record one line. Returns it if it says something new."""
        if self._cut[stream]:
            raw = raw[:-CUT_MARGIN]  # a truncated secret would not be recognised
        if not raw.strip():
            return []
        self.lines += 1
        if self._full or self.problem:
            self._push_tail(stream, raw)
            text = raw[:MAX_SKELETON].decode("utf-8", "replace")
            return [text] if self._is_new(text) else []
        kind, value, meant = self._parse_line(stream, raw)
        self._write_or_keep(self._encode(kind, value), (stream, raw))
        return [meant] if self._is_new(meant) else []

    def _parse_line(self, stream: str, raw: bytes) -> tuple[str, object, dict[str, object] | str]:
        """The kind and redacted value to record, and the original line, parsed if it is JSON."""
        text = raw.decode("utf-8", "replace").rstrip("\r")
        if stream == "note":
            return stream, text, text
        redactor = self._redactors[stream]
        value = _parse(text) if stream == "text" and text.startswith("{") else None
        if value is not None:
            return "event", redactor.value(value), value
        return stream, redactor.line(text), text

    def _encode(self, kind: str, value: object) -> bytes:
        at = round(time.monotonic() - self._started, 3)
        try:
            text = json.dumps({"at": at, kind: value}, ensure_ascii=False, separators=(",", ":"))
        except (ValueError, RecursionError):
            text = json.dumps({"at": at, "note": "a line that could not be written down was left out"})
        return text.encode("utf-8", "replace") + b"\n"

    def _write_or_keep(self, line: bytes, raw: tuple[str, bytes]) -> None:
        self._full = self._full or self.size + len(line) > MAX_FILE
        if self._full or not self._write(line):
            self._push_tail(*raw)

    def _push_tail(self, stream: str, raw: bytes) -> None:
        self.dropped += 1
        self._tail.append((stream, raw))
        self._tail_size += len(raw)
        while self._tail_size > MAX_TAIL and len(self._tail) > 1:
            self._tail_size -= len(self._tail.popleft()[1])

    def _write(self, line: bytes) -> bool:
        """A full disk loses log lines but never fails the call."""
        try:
            if os.write(self._fd, line) < len(line):
                os.ftruncate(self._fd, self.size)  # no torn line in the middle of the file
                raise OSError("no room for the whole line")
        except OSError as error:
            self.problem = self.problem or error.strerror or str(error)
            return False
        self.size += len(line)
        return True

    def _is_new(self, value: object) -> bool:
        mark = hash(tuple(_significant_words(value)))
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


def _is_significant(word: str) -> bool:
    """Whether the word is neither a number nor an id. Words of languages without spaces may be long."""
    if not word.isalpha():
        return False
    return not word.isascii() or (len(word) < 16 and not _HEX.fullmatch(word))


def _significant_words(value: object) -> list[str]:
    """The words of a line without volatile parts: numbers, ids, times, spinners."""
    found: list[str] = []
    todo = [value]
    room = MAX_SKELETON
    while todo and room > 0:
        item = todo.pop()
        if isinstance(item, str):
            found += [word for word in re.split(r"\W+", item[:room]) if _is_significant(word)]
            room -= len(item)
        elif isinstance(item, dict):
            kept = [(key, inner) for key, inner in item.items() if not _VOLATILE_KEYS.search(key)]
            todo += [part for pair in kept for part in pair]
        elif isinstance(item, list):
            todo += item
    return found
