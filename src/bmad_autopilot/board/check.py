"""Everything worth saying about a board, line by line."""

from collections.abc import Iterator

from ..core.commands import command
from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import Place
from ..core.statuses import DONE, LIFE, PARKED, UNKNOWN, Kind, plain_word, suggest_status
from .epics import EpicsFile
from .overview import EpicView
from .reconcile import Drift
from .risks import same_numbers
from .sprint import Board, Row


def check_board(board: Board, epics: list[EpicView]) -> Iterator[Diagnostic]:
    """Diagnostics from the board alone."""
    finished = {epic.key for epic in epics if is_finished(epic)}
    for row in board.rows.values():
        if row.key not in finished:  # it has a better status than a newer word for the old one
            yield from _check_row(board, row)
    for row in board.shadowed:
        last = board.rows[row.key]
        differs = row.status.raw != last.status.raw
        yield _at(
            board,
            row,
            Severity.ERROR if differs else Severity.WARNING,
            "duplicate-key",
            f"{row.key} stands here as {row.status.raw} and again on line {last.line} as {last.status.raw}",
            "keep one of the lines",
        )
    for number, rows in same_numbers([row for epic in epics for row in epic.stories]):
        for row in rows[1:]:
            message = f"{row.key} has the number {number}, as {rows[0].key} (line {rows[0].line})"
            yield _at(board, row, Severity.WARNING, "duplicate-number", message, "give it a number of its own")
    for epic in epics:
        yield from _check_epic(board, epic)


def _check_row(board: Board, row: Row) -> Iterator[Diagnostic]:
    set_it = command("board", "set", row.key)
    if row.kind is Kind.OTHER:
        hint = "name it like 1-2-account-management, or move it out of development_status"
        yield _at(board, row, Severity.NOTE, "unrecognised-key", f"{row.key} names neither epic nor story", hint)
    elif row.meaning not in (*LIFE[row.kind], PARKED):
        near = suggest_status(row.status.raw, row.kind)
        message = f"{row.key}: {row.status.raw or 'no status'} is not a status of {row.kind.with_article}"
        hint = f"{set_it} {near or 'STATUS'}"
        yield _at(board, row, Severity.WARNING, "unknown-status", message, hint)
    elif row.status.is_legacy:
        how = "spelled" if plain_word(row.status.raw) == row.meaning else "an older word for"
        message = f"{row.key}: {row.status.raw} is {how} {row.meaning}"
        yield _at(board, row, Severity.NOTE, "legacy-status", message, f"{set_it} {row.meaning}")


def is_finished(epic: EpicView) -> bool:
    """All stories done, the epic's own row not yet."""
    is_open = epic.row is not None and epic.row.meaning not in (DONE, PARKED, UNKNOWN)
    return is_open and bool(epic.stories) and epic.finished == len(epic.stories)


def _check_epic(board: Board, epic: EpicView) -> Iterator[Diagnostic]:
    if epic.row is None:
        for row in epic.stories:
            message = f"{row.key} belongs to no epic of this board"
            hint = f"add a row {epic.key}" if epic.number else "begin its key with the number of an epic"
            yield _at(board, row, Severity.WARNING, "orphaned-story", message, hint)
        return
    waiting = [row for row in epic.stories if row.meaning not in (DONE, PARKED)]
    if epic.row.meaning == DONE and waiting:
        message = f"{epic.key} is done, but {waiting[0].key} is {waiting[0].status.raw}"
        hint = command("board", "set", epic.key, "in-progress", "--force")
        yield _at(board, epic.row, Severity.WARNING, "done-epic-open-story", message, hint)
    elif is_finished(epic):
        message = f"all stories of {epic.key} are done, the epic is {epic.row.status.raw}"
        yield _at(
            board, epic.row, Severity.NOTE, "finished-epic", message, command("board", "set", epic.key, "done")
        )
    elif not epic.stories and epic.row.meaning not in (DONE, PARKED, UNKNOWN):
        yield _at(board, epic.row, Severity.NOTE, "empty-epic", f"{epic.key} has no stories")


def check_drift(board: Board, drift: list[Drift]) -> Iterator[Diagnostic]:
    for item in drift:
        severity = Severity.NOTE if item.code == "file-behind" else Severity.WARNING
        hint = "bmad board repair" if item.further else None
        if item.code == "no-story-file":
            hint = f"see which step makes it: {command('run-story', item.row.key, '--dry-run')}"
            yield _at(board, item.row, severity, item.code, item.message, hint)
        elif item.code == "unclear-story-file":
            hint = f"name its file {item.row.key}.md"
            yield _at(board, item.row, severity, item.code, item.message, hint)
        else:
            yield Diagnostic(severity, item.code, item.message, item.place, hint)


def check_epics(board: Board, epics: EpicsFile) -> Iterator[Diagnostic]:
    """Stories that stand in one of board and epics file only, matched by number."""
    rows = {row.number: row for row in board.rows.values() if row.kind is Kind.STORY}
    planned = {story.number for story in epics.stories()}
    for story in epics.stories():
        if story.number not in rows and not story.deleted:
            message = f"story {story.number} ({story.title[:50]}) is not on the board"
            hint = "run BMAD's sprint-planning again"
            yield Diagnostic(Severity.NOTE, "not-on-board", message, Place(story.file, story.line), hint)
    for number, row in rows.items():
        if planned and number not in planned and row.meaning not in (DONE, PARKED):
            yield _at(board, row, Severity.NOTE, "not-in-epics", f"{row.key} stands in no epics file")


def _at(
    board: Board, row: Row, severity: Severity, code: str, message: str, hint: str | None = None
) -> Diagnostic:
    return Diagnostic(severity, code, message, Place(board.path, row.line), hint)
