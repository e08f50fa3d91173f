"""Writing the tasks' board: made once, added to later, never written anew."""

import os

from ..core.errors import ConflictError, FileError, Place
from ..core.graph import Edge, Graph, Source, build, sorted_by_waiting
from ..core.statuses import Kind
from ..exchange import replace_unchanged
from ..files import Text, locked, read_settled, resolve_inside, write_atomic
from ..project.traces import BOARD_NAME
from .sprint import Board, Row, board_from_text
from .store import ROUNDS, backup_path
from .task_batches import MOST
from .task_rows import named_task, new_board, planned, task_rows, with_lines
from .tasks import DONE, TODO, Tasks, read_tasks


def write_task_board(tasks: Tasks, kind: str, *, state: str, inside: str = "", most: int = MOST) -> int:
    """Rows for the tasks that have none yet; how many batches were added. `state`: our folder, for the lock;
    `inside`: the folder that a symbolic link may not lead out of (default: the tasks' own)."""
    path = os.path.join(tasks.folder, BOARD_NAME)
    os.makedirs(state, exist_ok=True)
    target = resolve_inside(path, inside or tasks.folder)
    with locked(os.path.join(state, "board.lock")):
        for _ in range(ROUNDS):
            before = board_from_text(read_settled(target, follow=False)) if os.path.lexists(target) else None
            lines = planned(tasks, before, kind, most)
            if not lines:
                return 0
            after = new_board(lines) if before is None or not before.rows else with_lines(before, lines)
            _check(path, before, after, lines)
            if before is None:
                write_atomic(target, after)
            elif not replace_unchanged(target, before.cells.text.raw, after, backup_path(state, path)):
                continue
            return sum(line.startswith("epic-") for line in lines)
    raise ConflictError(f"was changed {ROUNDS} times by somebody else meanwhile", place=Place(path))


def _check(path: str, before: Board | None, after: bytes, lines: list[str]) -> None:
    """What stood there stands there still, and the rest is just what was added."""
    old = [cell[:2] for cell in before.cells.cells] if before is not None else []
    added = [(key, rest.partition("  #")[0].strip()) for key, _, rest in (line.partition(":") for line in lines)]
    try:
        now = [cell[:2] for cell in board_from_text(Text(path, after)).cells.cells]
    except FileError:
        now = []
    if now != [*old, *added]:
        hint = f"write them by hand, below the others: {added[0][0]}: {added[0][1]} …"
        raise FileError("has no place for more rows that we can be sure of", place=Place(path), hint=hint)


def batch_graph(board: Board, tasks: Tasks) -> Graph:
    """Which batch waits for which, by what their tasks need. A need that is met, or of no row, holds nobody up."""
    rows = task_rows(board, tasks)
    epics = {one.task.number: one.row.epic or "" for one in rows if one.task is not None}
    edges = [
        Edge(one.row.epic or "", epics[need], Source.STORIES)
        for one in rows
        if one.task is not None
        for need in one.task.needs
        if need in epics and epics[need] != one.row.epic
    ]
    return build([row.number for row in board.of_kind(Kind.EPIC)], edges)


def batches_in_order(board: Board, tasks: Tasks) -> list[str]:
    """Keys of the epics, each after those it waits for."""
    keys = {row.number: row.key for row in board.of_kind(Kind.EPIC)}
    return [keys[number] for number in sorted_by_waiting(batch_graph(board, tasks))]


def task_file(board: Board, row: Row, folder: str) -> str | None:
    """The file of a row's task. Asked for all the time: where the row names it, no other is opened."""
    name = named_task(board, row)
    places = (os.path.join(folder, part, f"{name}.md") for part in (TODO, DONE, "")) if name else ()
    found = next(filter(os.path.isfile, places), None)
    if found is not None or name:
        return found
    return next(
        (one.task.path for one in task_rows(board, read_tasks(folder)) if one.row == row and one.task), None
    )
