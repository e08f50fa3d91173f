"""Implements a flow's tasks: plans them, runs them batch by batch like stories, and writes the report.
Interrupted anywhere, the next call continues."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from ...board.sprint_status import Board, board_from_text, read_board
from ...board.sprint_status_writer import set_status
from ...board.task_board import TaskRow, ordered_batches, summarize_tasks, task_rows, write_task_board
from ...board.task_files import DONE as FINISHED
from ...board.task_files import TABLE, FlowTasks, read_tasks
from ...core.errors import (
    EXIT_DONE,
    EXIT_HUMAN,
    EXIT_INTERRUPTED,
    AutopilotError,
    FileError,
    Location,
    Severity,
)
from ...core.lane_scope import LaneScope
from ...core.run_ending import RunEnding
from ...core.statuses import DONE, PARKED, UNKNOWN
from ...git.branches import Branches
from ...git.git import Git
from ...git.history import current_branch
from ...git.trees import read_file
from ...io.files import TextFile
from ...project.project import Project, task_project
from ...runs.question_file import RunQuestion
from ...runs.questions import open_questions
from ...runs.supervisor_lock import hold_supervisor_lock
from ..autopilot.checkouts import require_base_branch
from ..autopilot.options import AutopilotOptions
from ..autopilot.supervisor import run_autopilot
from ..lane import LOCAL
from ..policy import with_base_settings
from ..ports import EventSink, Prompter
from ..run_setup import NO_CAPS, Caps
from ..runner import EMPTY_MAPPING, RunEnd, start_run
from ..world.delivery import ForgeFactory
from .task_records import (
    SESSION,
    commit_changed,
    committed_rows,
    finish_tasks,
    has_unfinished_run,
    is_finish_interrupted,
    report_path,
)

# Planning: read the task files, write or extend their board, commit both.

OVER = (DONE, PARKED, UNKNOWN)


def plan_tasks(project: Project, kind: str, session: str, on_event: EventSink) -> tuple[Board, FlowTasks] | None:
    """`project`: from `task_project`. None: there are no tasks, and there is no board."""
    tasks = read_tasks(project.tasks_folder)
    _require_valid(tasks)
    path = project.require_board()
    if not tasks.todo and not os.path.lexists(path):
        return None
    for one in tasks.diagnostics:
        if one.severity is Severity.WARNING:
            on_event("notice", {"text": str(one)}, time.time())
    write_task_board(tasks, kind, state=project.state_folder, allowed_root=project.work_tree)
    board = read_board(path)
    rows = task_rows(board, tasks)
    _require_task_files(path, rows)
    if _mark_moved_done(project, rows, on_event):
        board = read_board(path)
    commit_task_records(project, kind, session)
    return board, tasks


def commit_task_records(project: Project, kind: str, session: str) -> None:
    """Commit task files and board before a run starts: the run would refuse them or leave them out of its commits.
    While a run is unfinished the changes may be its own, so they stay unless there are new rows."""
    board, tasks = read_board(project.require_board()), read_tasks(project.tasks_folder)
    is_new = not board.rows.keys() <= committed_rows(project)
    if has_unfinished_run(project, session):
        if not is_new:
            return
    elif is_finish_interrupted(project, kind):
        finish_tasks(project, kind)
    paths = [board.path, os.path.join(tasks.folder, TABLE), *(task.path for task in tasks.todo)]
    message = f"Plan tasks: {summarize_tasks(tasks)}" if is_new else "Tasks and their board, as they stand"
    commit_changed(project, paths, message, f"tasks/{kind}/plan-{len(board.rows)}")


def _require_valid(tasks: FlowTasks) -> None:
    """Refuse unclear dependencies and duplicate files before any agent is called."""
    errors = tasks.errors
    if errors:
        first, *more = errors
        found = "; ".join(str(one).partition("\n")[0] for one in more[:5]) or None
        raise FileError(first.message, location=first.location, found=found, hint=first.hint)


def _require_task_files(path: str, rows: list[TaskRow]) -> None:
    for one in rows:
        if one.task is None and one.row.meaning not in OVER:
            raise FileError(
                f"{one.row.key} has no task file any more",
                location=Location(path, one.row.line),
                hint="put the file back, or set the row to skipped",
            )


def _mark_moved_done(project: Project, rows: list[TaskRow], on_event: EventSink) -> bool:
    """Set rows to done whose file a person moved to done/."""
    moved = [one for one in rows if one.task and one.task.state == FINISHED and one.row.meaning not in OVER]
    for one in moved:
        set_status(
            project.require_board(), one.row.key, DONE, state=project.state_folder, allowed_root=project.work_tree
        )
        on_event("notice", {"text": f"{one.row.key} is done: its file lies in done/"}, time.time())
    return bool(moved)


MAX_NAMED = 8


class TasksResult(NamedTuple):
    status: RunEnding
    why: str = ""
    tasks_done: int = 0
    tasks_left: int = 0  # including parked tasks
    report: str = ""  # its path; empty: not written yet

    @property
    def exit_code(self) -> int:
        return self.status.exit_code


class EarlyEnd(NamedTuple):
    """Why the batches stopped before all of them had run."""

    status: RunEnding
    why: str


def implement_tasks(
    project: Project,
    kind: str,
    *,
    on_event: EventSink,
    human: Prompter | None = None,
    caps: Caps = NO_CAPS,
    unattended: Mapping[str, str] = EMPTY_MAPPING,
    options: AutopilotOptions | None = None,
    forge: ForgeFactory | None = None,
    allow_dirty: bool = False,
    session: str = SESSION,
) -> TasksResult:
    """`kind`: names the report. Batches run one after another on the current branch; with `options` each batch is
    delivered like an epic, in parallel if they say so."""
    project = task_project(project)
    with hold_supervisor_lock(project.state_folder, f"tasks {kind}"):
        planned = plan_tasks(project, kind, session, on_event)
    if planned is None:
        return TasksResult(RunEnding.COMPLETED, "there are no tasks")
    if options is not None:
        options = options._replace(session=session, unattended=options.unattended or unattended)
        stopped = deliver_batches(project, options, on_event=on_event, human=human, forge=forge)
    else:
        stopped = _Batches(project, kind, on_event, human, caps, unattended, allow_dirty, session).run(*planned)
    with hold_supervisor_lock(project.state_folder, f"tasks {kind}"):
        return _end(project, kind, stopped)


class _Batches:
    def __init__(
        self,
        project: Project,
        kind: str,
        on_event: EventSink,
        human: Prompter | None,
        caps: Caps,
        unattended: Mapping[str, str],
        allow_dirty: bool,
        session: str,
    ) -> None:
        self._project = project
        self._kind = kind
        self._on_event = on_event
        self._human = human
        self._caps = caps
        self._unattended = unattended
        self._allow_dirty = allow_dirty
        self._session = session
        self._dollars = 0.0
        self._began = time.time()

    def run(self, board: Board, tasks: FlowTasks) -> EarlyEnd | None:
        """None: all batches ran."""
        for key in ordered_batches(board, tasks):
            if not self._is_open(key):
                continue
            commit_task_records(self._project, self._kind, self._session)
            caps = self._remaining_caps()
            if caps is None:
                return EarlyEnd(RunEnding.PAUSED, "what all batches may cost or take is used up")
            end = start_run(
                self._project,
                LaneScope.EPIC,
                key,
                on_event=self._on_event,
                human=self._human,
                caps=caps,
                allow_dirty=self._allow_dirty,
                session=self._session,
                unattended=self._unattended,
            )
            self._dollars += end.record.dollars
            if end.status is not RunEnding.COMPLETED:
                return EarlyEnd(end.status, _why(end))
        return None

    def _is_open(self, key: str) -> bool:
        """The batch has open tasks or an unfinished run. A batch with only finished and parked tasks is left to
        the person who parked them."""
        board = read_board(self._project.require_board())
        epic = board.rows.get(key)
        if epic is None or has_unfinished_run(self._project, self._session, key):
            return epic is not None
        meanings = {row.meaning for row in board.rows.values() if row.epic == epic.number and row.key != key}
        is_over = epic.meaning in OVER or (meanings <= set(OVER) and meanings != {DONE})
        return not is_over

    def _remaining_caps(self) -> Caps | None:
        """The command's limits minus what earlier batches used; None: used up."""
        cost, hours = self._caps
        cost = cost - self._dollars if cost is not None else None
        hours = hours - (time.time() - self._began) / 3600 if hours is not None else None
        return Caps(cost, hours) if all(one is None or one > 0 for one in (cost, hours)) else None


def _why(end: RunEnd) -> str:
    questions: list[RunQuestion] = []
    with suppress(AutopilotError):
        questions = open_questions(end.folder)
    if questions:
        return f"{questions[0].story or end.lane.key}: {questions[0].summary}"
    return f"{end.lane.key}: {end.status}, run {end.run_id}"


def _end(project: Project, kind: str, stopped: EarlyEnd | None) -> TasksResult:
    tasks = read_tasks(project.tasks_folder)
    rows = task_rows(read_board(project.require_board()), tasks)
    rowed = {one.task.path for one in rows if one.task is not None}
    open_rows = [one for one in rows if one.row.meaning != DONE]
    added = [task.name for task in tasks.todo if task.path not in rowed]  # added during the run
    if stopped is None and all(one.row.meaning in OVER for one in open_rows):
        finish_tasks(project, kind)
    if stopped is None and (open_rows or added):
        named = [*map(_named, open_rows), *(f"{name} (new)" for name in added)]
        why = f"not done: {', '.join(named[:MAX_NAMED])}{' …' if named[MAX_NAMED:] else ''}"
        stopped = EarlyEnd(RunEnding.NOT_DONE, why)
    status, why = stopped or (RunEnding.COMPLETED, "")
    path = report_path(project, kind)
    done = len(rows) - len(open_rows)
    left = len(open_rows) + len(added)
    return TasksResult(status, why, done, left, path if os.path.isfile(path) else "")


def _named(one: TaskRow) -> str:
    return f"{one.task.name if one.task else one.row.key} ({one.row.status.raw})"


# Delivery of batches like epics: a branch and a pull request each, in parallel if asked for.

_ENDINGS = {EXIT_HUMAN: RunEnding.WAITING, EXIT_INTERRUPTED: RunEnding.DETACHED}


def deliver_batches(
    project: Project,
    options: AutopilotOptions,
    *,
    on_event: EventSink,
    human: Prompter | None,
    forge: ForgeFactory | None,
) -> EarlyEnd | None:
    """None: everything is merged, and the base is checked out."""
    project = with_base_settings(project, on_event)
    git = Git(project.root.checkout)
    branches = Branches(git, project.config.github.remote)
    base = require_base_branch(branches, project.config)
    missing = _missing_from_base(project, git, branches, base)
    if missing:
        return EarlyEnd(RunEnding.WAITING, missing)
    end = run_autopilot(project, options, on_event=on_event, human=human, forge=forge)
    if end.exit_code != EXIT_DONE:
        asked = next((f"{state.lane.key}: {state.why}" for state in end.lanes if state.why), "")
        ending = _ENDINGS.get(end.exit_code, RunEnding.FAILED)
        return EarlyEnd(ending, end.limit_reached or end.why or asked)
    return _update_checkout(project, git, branches, base)


def _head(project: Project, branches: Branches, base: str) -> str:
    """The commit the next batch would start from."""
    return branches.branch_head(base) if project.config.delivery == LOCAL else branches.fetch(base)[base]


def _missing_from_base(project: Project, git: Git, branches: Branches, base: str) -> str:
    """Why batches cannot start: open rows are missing on the base, which they start from."""
    path = os.path.relpath(os.path.realpath(project.require_board()), git.top)
    head = _head(project, branches, base)
    raw = read_file(git, head, path) if head else None
    there = board_from_text(TextFile(path, raw)).rows if raw is not None else {}
    here = read_board(project.require_board()).rows
    missing = [key for key, row in here.items() if key not in there and row.meaning not in (DONE, PARKED, UNKNOWN)]
    if not missing:
        return ""
    where = base if project.config.delivery == LOCAL else f"{project.config.github.remote}/{base}"
    return f"the plan of the tasks is not on {where} yet ({missing[0]} …): merge or push this branch, then go on"


def _update_checkout(project: Project, git: Git, branches: Branches, base: str) -> EarlyEnd | None:
    """Check out the updated base, so that task files and report are committed on top of it."""
    head, here = _head(project, branches, base), branches.branch_head(base)
    try:
        if head != here and branches.contains(head, here):
            branches.move_branch(base, head, here)
        if current_branch(git) != base:
            branches.switch(base)
    except AutopilotError as error:
        return EarlyEnd(RunEnding.WAITING, f"all is merged; bring {base} here, then go on: {error.message}")
    if not branches.contains(branches.branch_head(base), head):
        why = f"all is merged; {base} here has commits of its own: git pull, then go on"
        return EarlyEnd(RunEnding.WAITING, why)
    return None
