"""A flow's tasks from their files to done: planned, worked on batch by batch through the lanes, gates and delivery
of stories, and reported. Cut short anywhere, the next call goes on."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from ...board.sprint import Board, read_board
from ...board.task_board import batches_in_order
from ...board.task_rows import TaskRow, task_rows
from ...board.tasks import Tasks, read_tasks
from ...core.errors import EXIT_DONE, AutopilotError
from ...core.statuses import DONE
from ...project.open import Project
from ...project.task_view import task_project
from ...runs.question import Question
from ...runs.questions import open_questions
from ...runs.supervisor import hold
from ..autopilot.wishes import Wishes
from ..driving import EXIT_CODES, NOTHING, RunEnd
from ..onlookers import Human, Told
from ..running import start_run
from ..setting_out import NO_CAPS, Caps
from ..world.delivery import ForgeMaker
from .books import is_under_way
from .finishing import finish_tasks, report_path
from .planning import OVER, plan_tasks, settle_books
from .records import SESSION

MOST_NAMED = 8


class TasksEnd(NamedTuple):
    status: str  # a word of RunEnd's
    exit_code: int
    why: str = ""
    tasks_done: int = 0
    tasks_left: int = 0  # also those that somebody has parked
    report: str = ""  # the path, once there is one


def implement_tasks(
    project: Project,
    kind: str,
    *,
    told: Told,
    human: Human | None = None,
    caps: Caps = NO_CAPS,
    unattended: Mapping[str, str] = NOTHING,
    wishes: Wishes | None = None,
    forge: ForgeMaker | None = None,
    allow_dirty: bool = False,
    session: str = SESSION,
) -> TasksEnd:
    """`kind`: which report comes of it. On the branch that is checked out, one batch after another; with `wishes`
    each batch is delivered as an epic is, side by side where those say so."""
    project = task_project(project)
    with hold(project.state_folder, f"tasks {kind}"):
        planned = plan_tasks(project, kind, session, told)
    if planned is None:
        return TasksEnd("completed", EXIT_DONE, "there are no tasks")
    if wishes is not None:
        from .delivering import deliver_batches

        wishes = wishes._replace(session=session, unattended=wishes.unattended or unattended)
        stopped = deliver_batches(project, wishes, told=told, human=human, forge=forge)
    else:
        stopped = _Batches(project, kind, told, human, caps, unattended, allow_dirty, session).run(*planned)
    with hold(project.state_folder, f"tasks {kind}"):
        return _end(project, kind, stopped)


class _Batches:
    def __init__(
        self,
        project: Project,
        kind: str,
        told: Told,
        human: Human | None,
        caps: Caps,
        unattended: Mapping[str, str],
        allow_dirty: bool,
        session: str,
    ) -> None:
        self._project = project
        self._kind = kind
        self._told = told
        self._human = human
        self._caps = caps
        self._unattended = unattended
        self._allow_dirty = allow_dirty
        self._session = session
        self._dollars = 0.0
        self._began = time.time()

    def run(self, board: Board, tasks: Tasks) -> tuple[str, str]:
        """How it ended before its end, and why; empty: it did not."""
        for key in batches_in_order(board, tasks):
            if not self._is_open(key):
                continue
            settle_books(self._project, self._kind, self._session)
            caps = self._left()
            if caps is None:
                return "paused", "what all batches may cost or take is used up"
            end = start_run(
                self._project,
                "epic",
                key,
                told=self._told,
                human=self._human,
                caps=caps,
                allow_dirty=self._allow_dirty,
                session=self._session,
                unattended=self._unattended,
            )
            self._dollars += end.record.dollars
            if end.status != "completed":
                return end.status, _why(end)
        return "", ""

    def _is_open(self, key: str) -> bool:
        """Something of it is to do, or a run of it to be brought to its end. One whose tasks are all over but for
        parked ones stays as it is: whoever parked them goes on with them."""
        board = read_board(self._project.require_board())
        epic = board.rows.get(key)
        if epic is None or is_under_way(self._project, self._session, key):
            return epic is not None
        meanings = {row.meaning for row in board.rows.values() if row.epic == epic.number and row.key != key}
        is_over = epic.meaning in OVER or (meanings <= set(OVER) and meanings != {DONE})
        return not is_over

    def _left(self) -> Caps | None:
        """Of what the command may cost and take: the batches before have had their part."""
        cost, hours = self._caps
        cost = cost - self._dollars if cost is not None else None
        hours = hours - (time.time() - self._began) / 3600 if hours is not None else None
        return Caps(cost, hours) if all(one is None or one > 0 for one in (cost, hours)) else None


def _why(end: RunEnd) -> str:
    questions: list[Question] = []
    with suppress(AutopilotError):
        questions = open_questions(end.folder)
    if questions:
        return f"{questions[0].story or end.lane.key}: {questions[0].in_short}"
    return f"{end.lane.key}: {end.status}, run {end.run_id}"


def _end(project: Project, kind: str, stopped: tuple[str, str]) -> TasksEnd:
    tasks = read_tasks(project.tasks)
    rows = task_rows(read_board(project.require_board()), tasks)
    rowed = {one.task.path for one in rows if one.task is not None}
    open_rows = [one for one in rows if one.row.meaning != DONE]
    came = [task.name for task in tasks.todo if task.path not in rowed]  # while others were worked on
    status, why = stopped
    if not status and all(one.row.meaning in OVER for one in open_rows):
        finish_tasks(project, kind)
    if not status and (open_rows or came):
        named = [*map(_named, open_rows), *(f"{name} (new)" for name in came)]
        status, why = "not-done", f"not done: {', '.join(named[:MOST_NAMED])}{' …' if named[MOST_NAMED:] else ''}"
    path, status = report_path(project, kind), status or "completed"
    done = len(rows) - len(open_rows)
    left = len(open_rows) + len(came)
    return TasksEnd(status, EXIT_CODES[status], why, done, left, path if os.path.isfile(path) else "")


def _named(one: TaskRow) -> str:
    return f"{one.task.name if one.task else one.row.key} ({one.row.status.raw})"
