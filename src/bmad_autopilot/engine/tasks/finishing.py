"""Once tasks are done: their files go to done/, the report is written, and both are committed."""

import os

from ...board.sprint import read_board
from ...board.task_rows import TaskRow, task_rows
from ...board.tasks import DONE as FINISHED
from ...board.tasks import TODO, read_tasks
from ...core.errors import ConflictError, Place
from ...core.statuses import DONE
from ...files import read_bytes, resolve_inside, write_atomic
from ...project.open import Project
from ...project.traces import REPORTS_FOLDER
from ...runs.layout import folder_name, runs_folder
from .books import changed_of, commit_changed
from .records import work_of
from .report import report_text


def report_path(project: Project, kind: str) -> str:
    return os.path.join(project.root.checkout, REPORTS_FOLDER, f"implementation_report_{folder_name(kind)}.md")


def finish_tasks(project: Project, kind: str) -> list[str]:
    """Of all that is done on the board, whenever that was: whatever was cut short here is done by the next call.
    The reports' paths."""
    rows = task_rows(read_board(project.require_board()), read_tasks(project.tasks))
    kinds = sorted({one.kind or kind for one in rows if (one.kind or kind) == kind or _is_new(one)})
    reports = [_write_report(project, name, [one for one in rows if (one.kind or kind) == name]) for name in kinds]
    moved = [path for one in rows if one.row.meaning == DONE for path in _moved(one, project.tasks)]
    done = sum(one.row.meaning == DONE for one in rows if (one.kind or kind) == kind)
    message = f"Implementation report: {kind}, {done} {'task' if done == 1 else 'tasks'} done"
    commit_changed(project, [*moved, *reports], message, f"tasks/{kind}/report-{done}")
    return reports


def _is_new(one: TaskRow) -> bool:
    """Done, and not in a report yet."""
    return one.row.meaning == DONE and one.task is not None and one.task.state == TODO


def _write_report(project: Project, kind: str, rows: list[TaskRow]) -> str:
    path = report_path(project, kind)
    keys = frozenset(one.row.key for one in rows)
    text = report_text(kind, rows, work_of(runs_folder(project.root.path), keys)).encode()
    target = resolve_inside(path, project.inside)
    if not os.path.lexists(target) or read_bytes(target, follow=False) != text:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        write_atomic(target, text)
    return path


def is_half_finished(project: Project, kind: str) -> bool:
    """Files were moved, or a report written, and the commit of both is missing."""
    rows = task_rows(read_board(project.require_board()), read_tasks(project.tasks))
    places = [path for one in rows if one.row.meaning == DONE for path in _places(one, project.tasks)]
    reports = [report_path(project, one) for one in {kind, *(one.kind or kind for one in rows)}]
    here = [one.task.path for one in rows if one.task is not None and one.task.state == TODO]
    return bool(changed_of(project, [*places, *reports]) - changed_of(project, here))


def _moved(one: TaskRow, folder: str) -> tuple[str, ...]:
    """Where its file lay and where it lies: both are part of the commit, also of one that was cut short."""
    if one.task is not None and one.task.state == TODO:
        target = os.path.join(folder, FINISHED, os.path.basename(one.task.path))
        if os.path.lexists(target):
            hint = "look which of the two counts, and move the other away"
            raise ConflictError("is there already", place=Place(target), found=one.task.path, hint=hint)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.rename(one.task.path, target)
    return _places(one, folder)


def _places(one: TaskRow, folder: str) -> tuple[str, ...]:
    if one.task is None:
        return ()
    name = os.path.basename(one.task.path)
    return tuple(os.path.join(folder, part, name) for part in (FINISHED, TODO, ""))
