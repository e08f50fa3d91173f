"""Looks at made-up work: two folders as dictionaries, and the story between them."""

from collections.abc import Mapping
from typing import Any

from bmad_autopilot.core.changes import Change, Kind
from bmad_autopilot.core.owes import Owes
from bmad_autopilot.gates.look import Document, WorkLook
from bmad_autopilot.gates.work import judge_work

STORY_PATH = "_bmad-output/implementation-artifacts/1-2-sign-in.md"
STORY = """\
# Story 1.2: Sign in

Status: review

## Story

As a visitor, I want to sign in.

## Acceptance Criteria

1. A visitor with an account can sign in
2. Anyone else is told why not

## Tasks / Subtasks

- [x] Task 1: the form (AC: 1)
  - [x] Subtask 1.1
- [x] Task 2: the message (AC: 2)
"""


class Link(str):
    """A symbolic link's target."""


Folder = Mapping[str, str | bytes | Link]


def changes_between(before: Folder, after: Folder, renamed: Mapping[str, str]) -> tuple[Change, ...]:
    """As git lists them; `renamed` maps new names to old ones."""
    found = []
    for path in sorted({*before, *after}):
        if path in renamed.values() and path not in after:
            continue
        mode = "120000" if isinstance(after.get(path), Link) else "100644"
        if path in renamed:
            found.append(Change(path, Kind.RENAMED, renamed[path], mode))
        elif path not in after:
            found.append(Change(path, Kind.DELETED))
        elif path not in before:
            found.append(Change(path, Kind.ADDED, mode=mode))
        elif after[path] != before[path]:
            found.append(Change(path, Kind.MODIFIED, mode=mode))
    return tuple(found)


def look(
    before: Folder | None = None,
    after: Folder | None = None,
    *,
    renamed: Mapping[str, str] | None = None,
    story: str | bytes | None = STORY,
    story_before: str | None = None,
    more: tuple[Change, ...] = (),
    **rest: Any,
) -> WorkLook:
    """An honest step's look, but for what is given."""
    old, new = before or {}, after if after is not None else {"src/sign_in.py": "pass\n"}

    def contents(path: str, now: bool) -> bytes | None:
        value = (new if now else old).get(path)
        return value.encode() if isinstance(value, str) else value

    fields: dict[str, Any] = {
        "owes": Owes.CODE,
        "key": "1-2-sign-in",
        "number": "1.2",
        "changes": (*changes_between(old, new, renamed or {}), *more),
        "contents": contents,
        "code_differs": True,
        "code_moved": True,
        "story": _document(story),
        "story_before": _document(story_before),
    }
    return WorkLook(**{**fields, **rest})


def _document(text: str | bytes | None) -> Document | None:
    if text is None:
        return None
    return Document(STORY_PATH, text.encode() if isinstance(text, str) else text)


def codes(work: WorkLook) -> list[str]:
    return [objection.code for objection in judge_work(work)]
