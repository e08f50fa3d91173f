"""Looks at made-up work: two folders as dictionaries, and the story between them."""

from collections.abc import Mapping
from typing import Any

from bmad_autopilot.core.changes import ChangeKind, FileChange
from bmad_autopilot.core.step_output import StepOutput
from bmad_autopilot.gates.evidence import Document, Evidence
from bmad_autopilot.gates.judge import judge_work

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


def changes_between(before: Folder, after: Folder, renamed: Mapping[str, str]) -> tuple[FileChange, ...]:
    """As git lists them; `renamed` maps new names to old ones."""
    found = []
    for path in sorted({*before, *after}):
        if path in renamed.values() and path not in after:
            continue
        mode = "120000" if isinstance(after.get(path), Link) else "100644"
        if path in renamed:
            found.append(FileChange(path, ChangeKind.RENAMED, renamed[path], mode))
        elif path not in after:
            found.append(FileChange(path, ChangeKind.DELETED))
        elif path not in before:
            found.append(FileChange(path, ChangeKind.ADDED, mode=mode))
        elif after[path] != before[path]:
            found.append(FileChange(path, ChangeKind.MODIFIED, mode=mode))
    return tuple(found)


def look(
    before: Folder | None = None,
    after: Folder | None = None,
    *,
    renamed: Mapping[str, str] | None = None,
    story: str | bytes | None = STORY,
    story_before: str | None = None,
    more: tuple[FileChange, ...] = (),
    **rest: Any,
) -> Evidence:
    """An honest step's look, but for what is given."""
    old, new = before or {}, after if after is not None else {"src/sign_in.py": "pass\n"}

    def contents(path: str, now: bool) -> bytes | None:
        value = (new if now else old).get(path)
        return value.encode() if isinstance(value, str) else value

    fields: dict[str, Any] = {
        "required_output": StepOutput.CODE,
        "key": "1-2-sign-in",
        "number": "1.2",
        "changes": (*changes_between(old, new, renamed or {}), *more),
        "contents": contents,
        "differs_from_baseline": True,
        "changed_in_attempt": True,
        "story": _document(story),
        "story_before": _document(story_before),
    }
    return Evidence(**{**fields, **rest})


def _document(text: str | bytes | None) -> Document | None:
    if text is None:
        return None
    return Document(STORY_PATH, text.encode() if isinstance(text, str) else text)


def codes(work: Evidence) -> list[str]:
    return [objection.code for objection in judge_work(work)]
