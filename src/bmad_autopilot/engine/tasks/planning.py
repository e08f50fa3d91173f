"""Before a task is worked on: all of them read, their board written or added to, both committed."""

import os
import time

from ...board.sprint import Board, read_board
from ...board.store import set_status
from ...board.task_batches import summary
from ...board.task_board import write_task_board
from ...board.task_rows import TaskRow, task_rows
from ...board.tasks import DONE as FINISHED
from ...board.tasks import TABLE, Tasks, read_tasks
from ...core.diagnostics import Severity
from ...core.errors import FileError, Place
from ...core.statuses import DONE, PARKED, UNKNOWN
from ...project.open import Project
from ..onlookers import Told
from .books import commit_changed, is_under_way, rows_committed
from .finishing import finish_tasks, is_half_finished

OVER = (DONE, PARKED, UNKNOWN)


def plan_tasks(project: Project, kind: str, session: str, told: Told) -> tuple[Board, Tasks] | None:
    """`project`: as seen with its tasks. None: there is no task, and never was."""
    tasks = read_tasks(project.tasks)
    _refuse(tasks)
    path = project.require_board()
    if not tasks.todo and not os.path.lexists(path):
        return None
    for one in tasks.diagnostics:
        if one.severity is Severity.WARNING:
            told("notice", {"text": str(one)}, time.time())
    write_task_board(tasks, kind, state=project.state_folder, inside=project.inside)
    board = read_board(path)
    rows = task_rows(board, tasks)
    _refuse_missing(path, rows)
    if _follow_folder(project, rows, told):
        board = read_board(path)
    settle_books(project, kind, session)
    return board, tasks


def settle_books(project: Project, kind: str, session: str) -> None:
    """What was written about tasks is committed before a run begins, which would refuse it or leave it out of all
    its commits. While one is under way, what lies there may be its own: that stays, unless rows are new."""
    board, tasks = read_board(project.require_board()), read_tasks(project.tasks)
    is_new = not board.rows.keys() <= rows_committed(project)
    if is_under_way(project, session):
        if not is_new:
            return
    elif is_half_finished(project, kind):
        finish_tasks(project, kind)
    paths = [board.path, os.path.join(tasks.folder, TABLE), *(task.path for task in tasks.todo)]
    message = f"Plan tasks: {summary(tasks)}" if is_new else "Tasks and their board, as they stand"
    commit_changed(project, paths, message, f"tasks/{kind}/plan-{len(board.rows)}")


def _refuse(tasks: Tasks) -> None:
    """Before anything is spent: who waits for whom must be clear, and which file is whose."""
    errors = tasks.errors
    if errors:
        first, *more = errors
        found = "; ".join(str(one).partition("\n")[0] for one in more[:5]) or None
        raise FileError(first.message, place=first.place, found=found, hint=first.hint)


def _refuse_missing(path: str, rows: list[TaskRow]) -> None:
    for one in rows:
        if one.task is None and one.row.meaning not in OVER:
            raise FileError(
                f"{one.row.key} has no task file any more",
                place=Place(path, one.row.line),
                hint="put the file back, or set the row to skipped",
            )


def _follow_folder(project: Project, rows: list[TaskRow], told: Told) -> bool:
    """A person who has moved a task's file to done/ has said that it is done."""
    moved = [one for one in rows if one.task and one.task.state == FINISHED and one.row.meaning not in OVER]
    for one in moved:
        set_status(project.require_board(), one.row.key, DONE, state=project.state_folder, inside=project.inside)
        told("notice", {"text": f"{one.row.key} is done: its file lies in done/"}, time.time())
    return bool(moved)
