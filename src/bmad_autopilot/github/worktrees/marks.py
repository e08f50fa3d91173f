"""By what a worktree is known as ours: a mark in its own git folder once it is made, and before that a word in our
state folder that it is being made. Whoever removes the worktree removes its mark."""

import json
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ...core.errors import FileError
from ...files import read_bytes, write_atomic

MARK = "bmad-autopilot-worktree.json"
VERSION = 1


class Mark(NamedTuple):
    epic: str
    part: str  # the project's folder below git's top
    copied: Mapping[str, str]  # path from the top: the stamp of what we put there
    prepared: tuple[str, ...] | None = None  # the commands that came to their end; None: not run yet


class Intent(NamedTuple):
    """Written before anything is made."""

    epic: str
    part: str


def read_mark(admin: str) -> Mark | None:
    """None: there is none, or none that can be read."""
    data = _read(os.path.join(admin, MARK))
    intent, copied, prepared = _intent(data), data.get("copied"), data.get("prepared")
    if intent is None or not isinstance(copied, dict) or not _are_texts(copied.values()):
        return None
    if not isinstance(prepared, list) or not _are_texts(prepared):
        return Mark(intent.epic, intent.part, copied)
    return Mark(intent.epic, intent.part, copied, tuple(prepared))


def write_mark(admin: str, mark: Mark) -> None:
    _write(os.path.join(admin, MARK), mark._asdict())


def read_intent(path: str) -> Intent | None:
    return _intent(_read(path))


def _intent(data: Mapping[str, Any]) -> Intent | None:
    epic, part = data.get("epic"), data.get("part")
    return Intent(epic, part) if isinstance(epic, str) and isinstance(part, str) else None


def write_intent(path: str, intent: Intent) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    _write(path, intent._asdict())


def drop_intent(path: str) -> None:
    with suppress(FileNotFoundError):
        os.unlink(path)


def _are_texts(values: Iterable[object]) -> bool:
    return all(isinstance(value, str) for value in values)


def _read(path: str) -> dict[str, Any]:
    try:
        data = json.loads(read_bytes(path))
    except (FileError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) and data.get("version") == VERSION else {}


def _write(path: str, data: Mapping[str, object]) -> None:
    write_atomic(path, json.dumps({"version": VERSION, **data}).encode())
