"""Running a flow: its steps in the loop, its tasks on a board of their own, its state file told how it ended."""

import os
import time
from collections.abc import Mapping
from typing import NamedTuple

from ...board.tasks import read_tasks
from ...core.commands import command
from ...core.errors import AutopilotError, FileError
from ...core.folding import fold
from ...github.git import Git
from ...github.ground import look_at_ground
from ...project.commands import NO_CHECKS
from ...project.open import Project
from ...runs.finding import Run, unfinished
from ...runs.flow_state_store import load_flow_state, set_flow_state
from ...runs.journal import Journal
from ...runs.layout import SESSION, runs_folder
from ...runs.question import By
from ...runs.questions import answer, questions_of
from ...runs.requests import clear_request
from ...runs.state import Status
from ...workflows.flow_list import Flow, places_of
from ..autopilot.wishes import Wishes
from ..driving import NOTHING, RunEnd, drive, go_on, lane_at, lane_of, supervise
from ..lane import Lane
from ..onlookers import Human, Told
from ..policy import checks_of, with_policy
from ..running import new_folder
from ..setting_out import NO_CAPS, Caps, users_files
from .about import TASKS_FOLDER
from .performing import BOUNDARY, TASKS, with_session
from .position import index_of, part_of, told_apart
from .questions import BOUNDARY as BOUNDARY_QUESTION
from .standing import state_path

MAX_ROUNDS = 50  # of tasks in one command: each has ended before the next

_REASONS = {
    "completed": "completed step",
    "session-over": BOUNDARY,
    "left": "user paused",
    "paused": "user paused",
    "waiting": "waits for an answer",
    "handed-over": "handed over",
    "failed": "given up",
}


class Wish(NamedTuple):
    """What a command wants of a flow."""

    caps: Caps = NO_CAPS
    unattended: Mapping[str, str] = NOTHING
    delivery: Wishes | None = None  # of its tasks; None: batch by batch, on the branch that is checked out


def start_flow(
    project: Project, flow: Flow, wish: Wish, *, told: Told, human: Human | None = None, session: str = SESSION
) -> RunEnd:
    """Go on with a flow where it stands. A run of it that was cut short is gone on with; one that has come to the
    end of a session is over: this is the next."""
    project.bmad.require_supported()
    project = with_policy(project, told)
    lane = _lane(project, flow, wish, session)
    with supervise(project, lane, command("flow", "run", flow.name)) as supervision:
        before = flow_under_way(project, flow.name, session)
        if before is not None:
            _begin_session(before)
            supervision.takes_up(before.id)
            clear_request(before.folder)
            end = _to_end(project, before.folder, wish, told, human, None)
            if end.status != "session-over":
                return end
        if not lane.checks:
            told("notice", {"text": NO_CHECKS}, time.time())
        folder = new_folder(project, lane)
        supervision.takes_up(os.path.basename(folder))
        return _to_end(project, folder, wish, told, human, lane)


def resume_flow(project: Project, folder: str, wish: Wish, *, told: Told, human: Human | None = None) -> RunEnd:
    """The same session goes on: what it asked is still to be answered."""
    return _to_end(project, folder, wish, told, human, None)


def flow_under_way(project: Project, name: str, session: str = SESSION) -> Run | None:
    for run in unfinished(runs_folder(project.root.path)):
        lane = lane_of(run) if run.state.status is not Status.FAILED else None
        if lane is not None and lane.is_flow and (lane.key, lane.session) == (name, session):
            return run
    return None


def _lane(project: Project, flow: Flow, wish: Wish, session: str) -> Lane:
    config = project.config
    git = Git(project.root.checkout)
    ground = look_at_ground(git) if git.work_tree is not None else None
    return Lane(
        "flow",
        flow.name,
        None,
        flow.workflow._replace(steps=told_apart(flow.steps)),
        max_cost=config.max_cost if wish.caps.cost is None else wish.caps.cost,
        max_hours=config.max_hours if wish.caps.hours is None else wish.caps.hours,
        checks=checks_of(project),
        session=session,
        path=state_path(project, flow),
        unattended=dict(wish.unattended),
        dirty=users_files(git, ground) if ground else (),
    )


def _begin_session(run: Run) -> None:
    """Whoever gives the command anew has begun another session: that is what was asked."""
    for path, asked in questions_of(run.folder)[0]:
        if asked.answer is None and asked.cause == BOUNDARY_QUESTION:
            answer(path, "new-session", By.HUMAN)


def _to_end(
    project: Project, folder: str, wish: Wish, told: Told, human: Human | None, lane: Lane | None
) -> RunEnd:
    """`lane`: of a new run. Tasks that were under way when it was cut short come first."""
    end = _at_tasks(folder) if lane is None else None
    for _ in range(MAX_ROUNDS):
        if lane is not None:
            known = places_of(project)  # what a flow's words call BMAD's folders
            end, lane = drive(project, lane, folder, told, human, resumed=False, variables=known), None
        elif end is None:
            end = go_on(project, folder, told, human, wish.caps, unattended=wish.unattended)
        if end.status != TASKS:
            break
        status = _implement(project, end, wish, told, human)
        if status != "completed":
            end = end._replace(status=status)
            break
        end = None
    assert end is not None, "more rounds of tasks than anybody plans"
    _close_session(project, end)
    return end


def _at_tasks(folder: str) -> RunEnd | None:
    lane = lane_at(folder)
    record = fold((one.kind, one.data, one.at) for one in Journal(folder, lambda value: value).entries())
    return RunEnd(TASKS, record, folder, lane, resumed=True) if lane is not None and record.implementing else None


def _implement(project: Project, end: RunEnd, wish: Wish, told: Told, human: Human | None) -> str:
    """How its tasks ended. What came of them is written down: by it the steps after them are due once more."""
    from ..tasks.implementing import implement_tasks  # all that runs epics

    name = end.record.implementing
    done = implement_tasks(
        project,
        _tasks_step(end),
        told=told,
        human=human,
        caps=wish.caps,
        unattended=wish.unattended,
        wishes=wish.delivery,
        allow_dirty=True,
    )
    if done.status != "completed":
        if done.why:
            told("notice", {"text": f"{name}: {done.why}"}, time.time())
        return done.status
    if not done.report:
        _close_session(project, end._replace(status="failed"))
        raise _no_tasks(name)
    total = len(read_tasks(os.path.join(project.root.checkout, TASKS_FOLDER)).tasks)
    tasks = "1 task" if done.tasks_done == 1 else f"{done.tasks_done} tasks"
    journal = Journal(end.folder, lambda value: value)
    try:
        journal.append("implemented", step=name, outcome=f"{tasks} done, of {total} in all")
    finally:
        journal.close()
    return done.status


def _no_tasks(step: str) -> AutopilotError:
    return AutopilotError(
        f"{step} has no tasks",
        expected="files in _docs/02_tasks/todo",
        hint="bmad flow reset STEP, with the step that plans them; or bmad flow skip STEP",
    )


def _tasks_step(end: RunEnd) -> str:
    """Which tasks are due: of the step that the loop has ended at."""
    steps = end.lane.workflow.steps
    index = index_of(steps, end.record.implementing)
    assert index is not None
    return part_of(steps[index]).tasks


def _close_session(project: Project, end: RunEnd) -> None:
    """How it ended stands in the state file too. One that cannot be written keeps what the last step wrote."""
    root = project.root
    path = os.path.join(root.checkout, end.lane.path)
    try:
        state = load_flow_state(path, inside=root.checkout)
        if state is not None:
            reason = _REASONS.get(end.status, end.status)
            notes = f"{state.name} comes next" if end.status == "session-over" else state.last.notes
            wanted = with_session(state, time.time(), reason, notes)
            set_flow_state(path, wanted, inside=root.checkout, state=root.state_folder, seen=state)
    except FileError:
        return
