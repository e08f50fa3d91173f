"""Checks a board against itself, its story files and its epics files, and repairs statuses on request."""

import os
from collections.abc import Iterator
from typing import NamedTuple

from ..core.errors import ConflictError, Diagnostic, Location, Severity, command
from ..core.statuses import (
    BACKLOG,
    DONE,
    IN_PROGRESS,
    LIFECYCLES,
    PARKED,
    UNKNOWN,
    RowKind,
    normalize_word,
    suggest_status,
)
from ..io.exchange import replace_if_unchanged
from ..io.files import BOM, TextFile, read_stable, resolve_inside
from .drift import Drift
from .epics_file import EpicsFile
from .overview import EpicView, duplicate_numbers
from .sprint_status import Board, Row
from .sprint_status_writer import backup_path
from .story_status import StoryStatus, find_status


def check_board(board: Board, epics: list[EpicView]) -> Iterator[Diagnostic]:
    """Diagnostics from the board alone."""
    finished = {epic.key for epic in epics if is_ready_to_close(epic)}
    for row in board.rows.values():
        if row.key not in finished:  # the epic's diagnostic below suggests `done` instead of a new spelling
            yield from _check_row(board, row)
    for row in board.shadowed:
        last = board.rows[row.key]
        differs = row.status.raw != last.status.raw
        yield _row_diagnostic(
            board,
            row,
            Severity.ERROR if differs else Severity.WARNING,
            "duplicate-key",
            f"{row.key} stands here as {row.status.raw} and again on line {last.line} as {last.status.raw}",
            "keep one of the lines",
        )
    for number, rows in duplicate_numbers([row for epic in epics for row in epic.stories]):
        for row in rows[1:]:
            message = f"{row.key} has the number {number}, as {rows[0].key} (line {rows[0].line})"
            yield _row_diagnostic(
                board, row, Severity.WARNING, "duplicate-number", message, "give it a number of its own"
            )
    for epic in epics:
        yield from _check_epic(board, epic)


def _check_row(board: Board, row: Row) -> Iterator[Diagnostic]:
    set_it = command("board", "set", row.key)
    if row.kind is RowKind.OTHER:
        hint = "name it like 1-2-account-management, or move it out of development_status"
        yield _row_diagnostic(
            board, row, Severity.NOTE, "unrecognised-key", f"{row.key} names neither epic nor story", hint
        )
    elif row.meaning not in (*LIFECYCLES[row.kind], PARKED):
        near = suggest_status(row.status.raw, row.kind)
        message = f"{row.key}: {row.status.raw or 'no status'} is not a status of {row.kind.with_article}"
        hint = f"{set_it} {near or 'STATUS'}"
        yield _row_diagnostic(board, row, Severity.WARNING, "unknown-status", message, hint)
    elif row.status.is_legacy:
        how = "spelled" if normalize_word(row.status.raw) == row.meaning else "an older word for"
        message = f"{row.key}: {row.status.raw} is {how} {row.meaning}"
        yield _row_diagnostic(board, row, Severity.NOTE, "legacy-status", message, f"{set_it} {row.meaning}")


def is_ready_to_close(epic: EpicView) -> bool:
    """Whether all stories are done and the epic's own row is not."""
    is_open = epic.row is not None and epic.row.meaning not in (DONE, PARKED, UNKNOWN)
    return is_open and bool(epic.stories) and epic.done_count == len(epic.stories)


def _check_epic(board: Board, epic: EpicView) -> Iterator[Diagnostic]:
    if epic.row is None:
        for row in epic.stories:
            message = f"{row.key} belongs to no epic of this board"
            hint = f"add a row {epic.key}" if epic.number else "begin its key with the number of an epic"
            yield _row_diagnostic(board, row, Severity.WARNING, "orphaned-story", message, hint)
        return
    waiting = [row for row in epic.stories if row.meaning not in (DONE, PARKED)]
    if epic.row.meaning == DONE and waiting:
        message = f"{epic.key} is done, but {waiting[0].key} is {waiting[0].status.raw}"
        hint = command("board", "set", epic.key, "in-progress", "--force")
        yield _row_diagnostic(board, epic.row, Severity.WARNING, "done-epic-open-story", message, hint)
    elif is_ready_to_close(epic):
        message = f"all stories of {epic.key} are done, the epic is {epic.row.status.raw}"
        yield _row_diagnostic(
            board, epic.row, Severity.NOTE, "finished-epic", message, command("board", "set", epic.key, "done")
        )
    elif not epic.stories and epic.row.meaning not in (DONE, PARKED, UNKNOWN):
        yield _row_diagnostic(board, epic.row, Severity.NOTE, "empty-epic", f"{epic.key} has no stories")


def check_drift(board: Board, drift: list[Drift]) -> Iterator[Diagnostic]:
    for item in drift:
        severity = Severity.NOTE if item.code == "file-behind" else Severity.WARNING
        hint = "bmad board repair" if item.target_status else None
        if item.code == "no-story-file":
            hint = f"see which step makes it: {command('run-story', item.row.key, '--dry-run')}"
            yield _row_diagnostic(board, item.row, severity, item.code, item.message, hint)
        elif item.code == "unclear-story-file":
            hint = f"name its file {item.row.key}.md"
            yield _row_diagnostic(board, item.row, severity, item.code, item.message, hint)
        else:
            yield Diagnostic(severity, item.code, item.message, item.location, hint)


def check_epics(board: Board, epics: EpicsFile) -> Iterator[Diagnostic]:
    """Stories that are only on the board or only in the epics file, matched by number."""
    rows = {row.number: row for row in board.rows.values() if row.kind is RowKind.STORY}
    planned = {story.number for story in epics.stories()}
    for story in epics.stories():
        if story.number not in rows and not story.is_deleted:
            message = f"story {story.number} ({story.title[:50]}) is not on the board"
            hint = "run BMAD's sprint-planning again"
            yield Diagnostic(Severity.NOTE, "not-on-board", message, Location(story.file, story.line), hint)
    for number, row in rows.items():
        if planned and number not in planned and row.meaning not in (DONE, PARKED):
            yield _row_diagnostic(board, row, Severity.NOTE, "not-in-epics", f"{row.key} stands in no epics file")


def _row_diagnostic(
    board: Board, row: Row, severity: Severity, code: str, message: str, hint: str | None = None
) -> Diagnostic:
    return Diagnostic(severity, code, message, Location(board.path, row.line), hint)


# Repairs of differing statuses: forwards only, and only on request.


class Repair(NamedTuple):
    """One status to change: in the board, or (with `file`) in a story file."""

    key: str
    before: str
    after: str
    reason: str
    location: Location
    file: StoryStatus | None = None


def plan_repairs(board: Board, epics: list[EpicView], drift: list[Drift]) -> list[Repair]:
    repairs = [_repair_from_drift(board, item) for item in drift if item.target_status is not None]
    raised = {repair.key: repair.after for repair in repairs if repair.file is None}
    repairs += [repair for epic in epics if (repair := _repair_epic(board, epic, raised))]
    taken = {repair.key for repair in repairs if repair.file is None}
    for row in board.rows.values():
        if row.status.is_legacy and row.meaning in LIFECYCLES[row.kind] and row.key not in taken:
            repairs.append(_repair_row(board, row, row.meaning, "an older or odd spelling"))
    twice = {row.key for row in board.shadowed}  # the writer refuses to edit a key with two lines
    repairs = [repair for repair in repairs if repair.key not in twice]
    return sorted(
        repairs, key=lambda repair: (repair.file is not None, repair.location.file, repair.location.line or 0)
    )


def _repair_from_drift(board: Board, item: Drift) -> Repair:
    assert item.target_status is not None
    if item.code == "board-behind":
        return _repair_row(board, item.row, item.target_status, f"its {item.file_kind} says {item.file_status}")
    assert item.story_status is not None
    why = f"the board says {item.row.status.raw}"
    return Repair(item.row.key, item.story_status.raw, item.target_status, why, item.location, item.story_status)


def _repair_epic(board: Board, epic: EpicView, raised: dict[str, str]) -> Repair | None:
    """Raise an epic to in-progress once a story has started, to done once all stories are."""
    if epic.row is None or epic.row.meaning in (DONE, PARKED, UNKNOWN):
        return None
    words = [raised.get(row.key, row.meaning) for row in epic.stories]
    if words and all(word == DONE for word in words):
        return _repair_row(board, epic.row, DONE, "all its stories are done")
    if epic.row.meaning == BACKLOG and any(word not in (BACKLOG, PARKED, UNKNOWN) for word in words):
        return _repair_row(board, epic.row, IN_PROGRESS, "its stories have begun")
    return None


def _repair_row(board: Board, row: Row, status: str, reason: str) -> Repair:
    return Repair(row.key, row.status.raw, status, reason, Location(board.path, row.line))


def repair_story_file(
    path: str, expected: StoryStatus, status: str, *, state: str, allowed_root: str = ""
) -> None:
    """Change the status token of a story file if it is still `expected`. Agents write these files: it is replaced
    only if unchanged. `allowed_root`: the folder that a symbolic link may not lead out of (default: the file's
    own)."""
    target = resolve_inside(path, allowed_root or os.path.dirname(path) or ".")
    text = read_stable(target, follow=False)
    new = text.text[: expected.start] + status + text.text[expected.end :]
    after = TextFile(target, ((BOM if text.bom else "") + new).encode("utf-8"))
    proof = find_status(after.text)
    if proof is None or proof.raw != status:
        raise ConflictError("its status line cannot be changed safely", location=Location(path, expected.line))
    os.makedirs(state, exist_ok=True)
    same = find_status(text.text) == expected
    if not same or not replace_if_unchanged(target, text.raw, after.raw, backup_path(state, target)):
        raise ConflictError("changed meanwhile", location=Location(path, expected.line), hint="bmad board repair")
