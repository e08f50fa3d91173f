"""Codex's own record of a conversation, in CODEX_HOME: the only place where a failure has a kind.

Read once a call has ended. Behind a launcher the record is on another machine, and there is none to read."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from .events import JSON, RECORD, Event
from .judging import mapping, string
from .shim.records import PLAIN

MAX_TAIL = 1024 * 1024  # how a turn ended stands in the last lines
MAX_ENTRIES = 2000  # of one folder
MAX_DAYS = 400

_THREAD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TELLING = ("task_complete", "token_count")


def with_record(events: Iterable[Event], since: float, environment: Mapping[str, str]) -> Iterator[Event]:
    """The events of a call that has ended, and after them what the record of their thread says on its turns from
    `since` (seconds since 1970) on. Nothing where there is no record: that is never an error."""
    thread = ""
    for event in events:
        if event.kind == JSON and mapping(event.data).get("type") == "thread.started":
            thread = string(event.data.get("thread_id"))
        yield event
    path = _find(_sessions(environment), thread) if _THREAD.fullmatch(thread) else None
    for payload in _payloads(_tail(path), since) if path else ():
        yield Event(0.0, RECORD, payload)


def _sessions(environment: Mapping[str, str]) -> str:
    home = environment.get("CODEX_HOME") or os.path.join(environment.get("HOME", "/"), ".codex")
    return os.path.join(home, "sessions")


def _find(sessions: str, thread: str) -> str | None:
    """`2026/11/16/rollout-2026-11-16T00-17-29-THREAD.jsonl`, under the day the conversation began."""
    days = (
        f"{sessions}/{year}/{month}/{day}"
        for year in _newest(sessions)
        for month in _newest(f"{sessions}/{year}")
        for day in _newest(f"{sessions}/{year}/{month}")
    )
    for _, folder in zip(range(MAX_DAYS), days, strict=False):
        for name in _newest(folder):
            if name.startswith("rollout-") and name.endswith(f"-{thread}.jsonl"):
                return f"{folder}/{name}"
    return None


def _newest(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False)]
    except OSError:
        return []
    return sorted(names, reverse=True)


def _tail(path: str) -> list[bytes]:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | PLAIN), "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - MAX_TAIL))
            return file.read(MAX_TAIL).split(b"\n")
    except OSError:
        return []


def _payloads(lines: list[bytes], since: float) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        payload = mapping(record, "payload")
        is_event = mapping(record).get("type") == "event_msg" and payload.get("type") in _TELLING
        if is_event and _moment(string(record.get("timestamp"))) >= since:
            yield payload


def _moment(text: str) -> float:
    """`2026-11-16T00:16:57.809Z`; 0 where it is none."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0
