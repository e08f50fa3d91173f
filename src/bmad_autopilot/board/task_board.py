"""Plans a flow's tasks in batches and writes their board. Rows are added, never rewritten."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..core.dependency_graph import DependencyGraph, DependencySource, Edge, build_graph, topological_order
from ..core.errors import ConflictError, FileError, Location
from ..core.statuses import READY, RowKind
from ..io.exchange import replace_if_unchanged
from ..io.files import TextFile, hold_lock, read_stable, resolve_inside, write_atomic
from ..project.root import BOARD_NAME
from .sprint_status import Board, Row, board_from_text, inline_comments
from .sprint_status_writer import MAX_ATTEMPTS, backup_path
from .task_files import DONE, TODO, FlowTask, FlowTasks, is_task_name, read_tasks

# Batches: the tasks of a batch depend only on tasks of earlier batches. Pure functions.

MAX_BATCH = 4  # tasks of one batch


class TaskSummary(NamedTuple):
    """The summary shown before the implementation starts."""

    tasks: int
    batches: int
    points: int
    unestimated: int = 0

    def __str__(self) -> str:
        text = f"{_counted(self.tasks, 'task')} in {_counted(self.batches, 'batch', 'batches')}, "
        text += _counted(self.points, "complexity point")
        return text + (f" ({self.unestimated} without any)" if self.unestimated else "")


def plan_batches(tasks: Sequence[FlowTask], batch_size: int = MAX_BATCH) -> tuple[tuple[FlowTask, ...], ...]:
    """Group the open tasks, in natural order as far as dependencies allow. Tasks in a cycle, and those that wait
    for them, are in no batch: `task_files.find_cycles` reports them."""
    waiting = [task for task in tasks if task.state == TODO]
    open_numbers = {task.number for task in waiting}
    found = []
    while waiting:
        batch = [task for task in waiting if not open_numbers.intersection(task.depends_on)][:batch_size]
        if not batch:
            break
        found.append(tuple(batch))
        taken = {task.path for task in batch}
        waiting = [task for task in waiting if task.path not in taken]
        open_numbers = {task.number for task in waiting}
    return tuple(found)


def summarize_tasks(tasks: FlowTasks, batch_size: int = MAX_BATCH) -> TaskSummary:
    todo = tasks.todo
    points = [task.points for task in todo]
    known = [point for point in points if point is not None]
    return TaskSummary(len(todo), len(plan_batches(todo, batch_size)), sum(known), len(points) - len(known))


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or f'{one}s'}"


# The tasks' board: an epic per batch, a row per task.
#
# A comment behind each row names its task, `1-2-login: ready-for-dev # task: AZ-12_login`: file names contain
# characters that keys cannot. If the comment is lost, the slug identifies the task; slugs are unique.

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
    task: FlowTask | None  # None: its file is gone
    kind: str  # of its batch's report; empty: unknown


def task_rows(board: Board, tasks: FlowTasks) -> list[TaskRow]:
    """The rows of all tasks, in the board's order."""
    comments = inline_comments(board, board.rows.values())
    kinds = {row.number: _matched(_KIND, comments.get(row.key)) for row in board.of_kind(RowKind.EPIC)}
    owners = _owners(board, comments, tasks)
    return [
        TaskRow(row, owners.get(row.key), kinds.get(row.epic or "", "")) for row in board.of_kind(RowKind.STORY)
    ]


def task_name_of_row(board: Board, row: Row) -> str:
    """The task name in the row's comment; empty: none that names a file."""
    name = _matched(_TASK, inline_comments(board, [row]).get(row.key))
    return name if is_task_name(f"{name}.md") else ""


def _owners(board: Board, comments: Mapping[str, str], tasks: FlowTasks) -> dict[str, FlowTask]:
    by_name = {task.name: task for task in reversed(tasks.tasks)}
    slugs: dict[str, list[FlowTask]] = {}
    for task in tasks.tasks:
        slugs.setdefault(_slug(task), []).append(task)
    owners: dict[str, FlowTask] = {}
    nameless: list[Row] = []
    for row in board.of_kind(RowKind.STORY):
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


def _by_slug(rest: str, slugs: Mapping[str, list[FlowTask]], tasks: FlowTasks) -> list[FlowTask]:
    own = slugs.get(rest, [])
    return own if len(own) == 1 else [task for task in tasks.tasks if _unique_slug(task) == rest]


def plan_rows(tasks: FlowTasks, board: Board | None, kind: str, batch_size: int = MAX_BATCH) -> list[str]:
    """The lines, without indent, for the open tasks that have no row yet."""
    known = task_rows(board, tasks) if board is not None else []
    rowed = {one.task.path for one in known if one.task is not None}
    fresh = [task for task in tasks.todo if task.path not in rowed]
    epics = [row.number for row in board.of_kind(RowKind.EPIC)] if board is not None else []
    first = 1 + max((int(number) for number in epics if number.isdigit() and len(number) < 9), default=0)
    taken = {one.row.key.split("-", 2)[-1] for one in known}
    return [
        line
        for at, batch in enumerate(plan_batches(fresh, batch_size), first)
        for line in _lines(at, batch, kind, taken)
    ]


def _lines(epic: int, batch: Sequence[FlowTask], kind: str, taken: set[str]) -> Iterator[str]:
    yield f"epic-{epic}: backlog  # kind: {kind}"
    for number, task in enumerate(batch, 1):
        slug = _slug(task)
        slug = slug if slug not in taken else _unique_slug(task)
        taken.add(slug)
        yield f"{epic}-{number}-{slug}: {READY}  # task: {task.name}"


def _slug(task: FlowTask) -> str:
    """A slug that starts with a letter: leading digits would be parsed as part of the row's number."""
    return task.slug if task.slug[:1].isalpha() else f"task-{task.slug}".strip("-")


def _unique_slug(task: FlowTask) -> str:
    return f"{_slug(task)}-{re.sub(r'[^a-z0-9]+', '-', task.number).strip('-')}"


def render_board(lines: Iterable[str]) -> bytes:
    return (_HEAD + "".join(f"  {line}\n" for line in lines)).encode()


def append_rows(board: Board, lines: Sequence[str]) -> bytes:
    """The board with these rows added below its last one; every other byte stays."""
    text, last = board.cells.text, max(cell[2] for cell in board.cells.cells)
    raw = text.raw.split(b"\n")
    model = raw[last - 1]
    indent, end = model[: len(model) - len(model.lstrip(b" "))], b"\r" if model.endswith(b"\r") else b""
    is_last = last == len(raw)  # the last row has no line end
    more = [indent + line.encode() + end for line in lines]
    return b"\n".join([*raw[:last], *more, *raw[last:]]) + (b"" if not is_last else b"\n")


def _matched(pattern: re.Pattern[str], comment: str | None) -> str:
    found = pattern.fullmatch(comment) if comment else None
    return found[1] if found else ""


def write_task_board(
    tasks: FlowTasks, kind: str, *, state: str, allowed_root: str = "", batch_size: int = MAX_BATCH
) -> int:
    """Add rows for the tasks that have none; returns the number of batches added. `state`: our folder, for the
    lock; `allowed_root`: the folder that a symbolic link may not lead out of (default: the tasks' own)."""
    path = os.path.join(tasks.folder, BOARD_NAME)
    os.makedirs(state, exist_ok=True)
    target = resolve_inside(path, allowed_root or tasks.folder)
    with hold_lock(os.path.join(state, "board.lock")):
        for _ in range(MAX_ATTEMPTS):
            before = board_from_text(read_stable(target, follow=False)) if os.path.lexists(target) else None
            lines = plan_rows(tasks, before, kind, batch_size)
            if not lines:
                return 0
            after = render_board(lines) if before is None or not before.rows else append_rows(before, lines)
            _check(path, before, after, lines)
            if before is None:
                write_atomic(target, after)
            elif not replace_if_unchanged(target, before.cells.text.raw, after, backup_path(state, path)):
                continue
            return sum(line.startswith("epic-") for line in lines)
    raise ConflictError(f"was changed {MAX_ATTEMPTS} times by somebody else meanwhile", location=Location(path))


def _check(path: str, before: Board | None, after: bytes, lines: list[str]) -> None:
    """Verify that the old rows are unchanged and only the new rows were added."""
    old = [cell[:2] for cell in before.cells.cells] if before is not None else []
    added = [(key, rest.partition("  #")[0].strip()) for key, _, rest in (line.partition(":") for line in lines)]
    try:
        now = [cell[:2] for cell in board_from_text(TextFile(path, after)).cells.cells]
    except FileError:
        now = []
    if now != [*old, *added]:
        hint = f"write them by hand, below the others: {added[0][0]}: {added[0][1]} …"
        raise FileError("has no place for more rows that we can be sure of", location=Location(path), hint=hint)


def batch_graph(board: Board, tasks: FlowTasks) -> DependencyGraph:
    """The dependencies between batches, from those of their tasks. Those on tasks without a row are ignored."""
    rows = task_rows(board, tasks)
    epics = {one.task.number: one.row.epic or "" for one in rows if one.task is not None}
    edges = [
        Edge(one.row.epic or "", epics[need], DependencySource.STORIES)
        for one in rows
        if one.task is not None
        for need in one.task.depends_on
        if need in epics and epics[need] != one.row.epic
    ]
    return build_graph([row.number for row in board.of_kind(RowKind.EPIC)], edges)


def ordered_batches(board: Board, tasks: FlowTasks) -> list[str]:
    """The keys of the epics, each after those it waits for."""
    keys = {row.number: row.key for row in board.of_kind(RowKind.EPIC)}
    return [keys[number] for number in topological_order(batch_graph(board, tasks))]


def find_task_file(board: Board, row: Row, folder: str) -> str | None:
    """The file of a row's task. Called often: if the row names the file, no other is opened."""
    name = task_name_of_row(board, row)
    places = (os.path.join(folder, part, f"{name}.md") for part in (TODO, DONE, "")) if name else ()
    found = next(filter(os.path.isfile, places), None)
    if found is not None or name:
        return found
    return next(
        (one.task.path for one in task_rows(board, read_tasks(folder)) if one.row == row and one.task), None
    )
