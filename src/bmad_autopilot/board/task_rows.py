"""The tasks' own board: an epic for each batch, a row for each task, and which is whose.

The task stands behind its row as a comment, `1-2-login: ready-for-dev  # task: AZ-12_login`: names of files hold
what no key can. Where a comment was lost, the slug tells, which no two rows share."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..core.statuses import READY, Kind
from .sprint import Board, Row, inline_comments
from .task_batches import MOST, batches
from .tasks import Task, Tasks, is_task_name

_HEAD = """\
# The tasks of this folder, batch by batch. bmad writes it, adds to it and takes nothing away.
# Behind each row stands its task's file, behind each batch what its report is about.

project: tasks

development_status:
"""
_TASK = re.compile(r"task:\s*(\S.*?)\s*")
_KIND = re.compile(r"kind:\s*([\w.-]{1,60})\s*")


class TaskRow(NamedTuple):
    row: Row
    task: Task | None  # None: its file is gone
    kind: str  # of the report that its batch goes into; empty: nobody says


def task_rows(board: Board, tasks: Tasks) -> list[TaskRow]:
    """All rows of tasks, in the board's order."""
    comments = inline_comments(board, board.rows.values())
    kinds = {row.number: _matched(_KIND, comments.get(row.key)) for row in board.of_kind(Kind.EPIC)}
    owners = _owners(board, comments, tasks)
    return [TaskRow(row, owners.get(row.key), kinds.get(row.epic or "", "")) for row in board.of_kind(Kind.STORY)]


def named_task(board: Board, row: Row) -> str:
    """What stands behind the row; empty: nothing that names a file."""
    name = _matched(_TASK, inline_comments(board, [row]).get(row.key))
    return name if is_task_name(f"{name}.md") else ""


def _owners(board: Board, comments: Mapping[str, str], tasks: Tasks) -> dict[str, Task]:
    by_name = {task.name: task for task in reversed(tasks.tasks)}
    slugs: dict[str, list[Task]] = {}
    for task in tasks.tasks:
        slugs.setdefault(_slug(task), []).append(task)
    owners: dict[str, Task] = {}
    nameless: list[Row] = []
    for row in board.of_kind(Kind.STORY):
        name = _matched(_TASK, comments.get(row.key))
        if name in by_name:
            owners[row.key] = by_name[name]
        elif not name:
            nameless.append(row)
    taken = {task.path for task in owners.values()}
    for row in nameless:
        rest = row.key.split("-", 2)[-1]
        found = [one for one in _by_slug(rest, slugs, tasks) if one.path not in taken]
        if len(found) == 1:
            owners[row.key] = found[0]
            taken.add(found[0].path)
    return owners


def _by_slug(rest: str, slugs: Mapping[str, list[Task]], tasks: Tasks) -> list[Task]:
    own = slugs.get(rest, [])
    return own if len(own) == 1 else [task for task in tasks.tasks if _apart(task) == rest]


def planned(tasks: Tasks, board: Board | None, kind: str, most: int = MOST) -> list[str]:
    """The lines, without their indent, for tasks that are to do and have no row yet."""
    known = task_rows(board, tasks) if board is not None else []
    rowed = {one.task.path for one in known if one.task is not None}
    fresh = [task for task in tasks.todo if task.path not in rowed]
    epics = [row.number for row in board.of_kind(Kind.EPIC)] if board is not None else []
    first = 1 + max((int(number) for number in epics if number.isdigit() and len(number) < 9), default=0)
    taken = {one.row.key.split("-", 2)[-1] for one in known}
    return [
        line for at, batch in enumerate(batches(fresh, most), first) for line in _lines(at, batch, kind, taken)
    ]


def _lines(epic: int, batch: Sequence[Task], kind: str, taken: set[str]) -> Iterator[str]:
    yield f"epic-{epic}: backlog  # kind: {kind}"
    for number, task in enumerate(batch, 1):
        slug = _slug(task)
        slug = slug if slug not in taken else _apart(task)
        taken.add(slug)
        yield f"{epic}-{number}-{slug}: {READY}  # task: {task.name}"


def _slug(task: Task) -> str:
    """It begins with a letter: digits there would be read as part of the row's number."""
    return task.slug if task.slug[:1].isalpha() else f"task-{task.slug}".strip("-")


def _apart(task: Task) -> str:
    return f"{_slug(task)}-{re.sub(r'[^a-z0-9]+', '-', task.number).strip('-')}"


def new_board(lines: Iterable[str]) -> bytes:
    return (_HEAD + "".join(f"  {line}\n" for line in lines)).encode()


def with_lines(board: Board, lines: Sequence[str]) -> bytes:
    """The board with these rows more, below its last one; every other byte stays."""
    text, last = board.cells.text, max(cell[2] for cell in board.cells.cells)
    raw = text.raw.split(b"\n")
    model = raw[last - 1]
    indent, end = model[: len(model) - len(model.lstrip(b" "))], b"\r" if model.endswith(b"\r") else b""
    is_last = last == len(raw)  # without a line's end behind it
    more = [indent + line.encode() + end for line in lines]
    return b"\n".join([*raw[:last], *more, *raw[last:]]) + (b"" if not is_last else b"\n")


def _matched(pattern: re.Pattern[str], comment: str | None) -> str:
    found = pattern.fullmatch(comment) if comment else None
    return found[1] if found else ""
