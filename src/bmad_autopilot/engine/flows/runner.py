"""Runs a flow: its steps in the engine's loop, its tasks on their own board, and its state file's session."""

import os
import time
from collections.abc import Mapping
from typing import NamedTuple

from ...board.task_files import read_tasks
from ...core.errors import AutopilotError, FileError, command
from ...core.journal_fold import fold
from ...core.lane_scope import LaneScope
from ...core.run_ending import RunEnding
from ...git.git import Git
from ...git.worktree_state import read_worktree_state
from ...project.commands import NO_CHECKS
from ...project.project import Project
from ...runs.flow_state_writer import load_flow_state, write_flow_state
from ...runs.index import Run
from ...runs.journal import Journal
from ...runs.layout import SESSION
from ...runs.question_file import AnswerSource
from ...runs.questions import questions_of, record_answer
from ...runs.supervisor_lock import clear_request
from ...workflows.flows import Flow, folder_placeholders
from ..autopilot.options import AutopilotOptions
from ..lane import Lane
from ..policy import check_commands, with_base_settings
from ..ports import EventSink, Prompter
from ..run_setup import NO_CAPS, Caps, users_files
from ..runner import (
    EMPTY_MAPPING,
    RunEnd,
    make_run_folder,
    open_run,
    read_lane,
    resume_lane,
    run_lane,
    supervise,
)
from .model import index_of, part_of, with_unique_names
from .perform import BOUNDARY, with_session
from .questions import BOUNDARY as BOUNDARY_QUESTION
from .questions import TASKS_FOLDER
from .status import state_path

MAX_ROUNDS = 50  # rounds of tasks in one command, run one after another

_REASONS = {
    RunEnding.COMPLETED: "completed step",
    RunEnding.SESSION_OVER: BOUNDARY,
    RunEnding.DETACHED: "user paused",
    RunEnding.PAUSED: "user paused",
    RunEnding.WAITING: "waits for an answer",
    RunEnding.HANDED_OVER: "handed over",
    RunEnding.FAILED: "given up",
}


class FlowOptions(NamedTuple):
    """Options of a command that runs a flow."""

    caps: Caps = NO_CAPS
    unattended: Mapping[str, str] = EMPTY_MAPPING
    delivery: AutopilotOptions | None = None  # of its tasks; None: batch by batch on the current branch


def start_flow(
    project: Project,
    flow: Flow,
    options: FlowOptions,
    *,
    on_event: EventSink,
    human: Prompter | None = None,
    session: str = SESSION,
) -> RunEnd:
    """Run a flow from its current position. An interrupted run is resumed; a run that has reached the end of its
    session is finished, and a new one starts."""
    project.bmad.require_supported()
    project = with_base_settings(project, on_event)
    lane = _lane(project, flow, options, session)
    with supervise(project, lane, command("flow", "run", flow.name)) as supervision:
        before = open_run(project, LaneScope.FLOW, session, key=flow.name)
        if before is not None:
            _start_new_session(before)
            supervision.set_run(before.id)
            clear_request(before.folder)
            end = _run_to_end(project, before.folder, options, on_event, human, None)
            if end.status is not RunEnding.SESSION_OVER:
                return end
        if not lane.checks:
            on_event("notice", {"text": NO_CHECKS}, time.time())
        folder = make_run_folder(project, lane)
        supervision.set_run(os.path.basename(folder))
        return _run_to_end(project, folder, options, on_event, human, lane)


def resume_flow(
    project: Project, folder: str, options: FlowOptions, *, on_event: EventSink, human: Prompter | None = None
) -> RunEnd:
    """Continue the same session; its open questions stay open."""
    return _run_to_end(project, folder, options, on_event, human, None)


def _lane(project: Project, flow: Flow, options: FlowOptions, session: str) -> Lane:
    config = project.config
    git = Git(project.root.checkout)
    ground = read_worktree_state(git) if git.work_tree is not None else None
    return Lane(
        LaneScope.FLOW,
        flow.name,
        None,
        flow.workflow._replace(steps=with_unique_names(flow.steps)),
        max_cost=config.max_cost if options.caps.cost is None else options.caps.cost,
        max_hours=config.max_hours if options.caps.hours is None else options.caps.hours,
        checks=check_commands(project),
        session=session,
        path=state_path(project, flow),
        unattended=dict(options.unattended),
        dirty=users_files(git, ground) if ground else (),
    )


def _start_new_session(run: Run) -> None:
    """Running the command again starts a new session: answer the open boundary question so."""
    for path, asked in questions_of(run.folder)[0]:
        if asked.answer is None and asked.cause == BOUNDARY_QUESTION:
            record_answer(path, "new-session", AnswerSource.HUMAN)


def _run_to_end(
    project: Project,
    folder: str,
    options: FlowOptions,
    on_event: EventSink,
    human: Prompter | None,
    lane: Lane | None,
) -> RunEnd:
    """`lane`: of a new run. A resumed run finishes its interrupted tasks first."""
    end = _interrupted_at_tasks(folder) if lane is None else None
    for _ in range(MAX_ROUNDS):
        if lane is not None:
            known = folder_placeholders(project)  # names of BMAD's folders in flow files
            end, lane = run_lane(project, lane, folder, on_event, human, resumed=False, variables=known), None
        elif end is None:
            end = resume_lane(project, folder, on_event, human, options.caps, unattended=options.unattended)
        if end.status is not RunEnding.TASKS:
            break
        status = _implement(project, end, options, on_event, human)
        if status is not RunEnding.COMPLETED:
            end = end._replace(status=status)
            break
        end = None
    assert end is not None, "more rounds of tasks than anybody plans"
    _close_session(project, end)
    return end


def _interrupted_at_tasks(folder: str) -> RunEnd | None:
    lane = read_lane(folder)
    record = fold((one.kind, one.data, one.at) for one in Journal(folder, lambda value: value).entries())
    return (
        RunEnd(RunEnding.TASKS, record, folder, lane, resumed=True)
        if lane is not None and record.implementing
        else None
    )


def _implement(
    project: Project, end: RunEnd, options: FlowOptions, on_event: EventSink, human: Prompter | None
) -> RunEnding:
    """The ending of its tasks. Their result is journaled, which makes the following steps due again."""
    from .tasks import implement_tasks  # imports everything that runs epics

    name = end.record.implementing
    done = implement_tasks(
        project,
        _tasks_step(end),
        on_event=on_event,
        human=human,
        caps=options.caps,
        unattended=options.unattended,
        options=options.delivery,
        allow_dirty=True,
    )
    if done.status is not RunEnding.COMPLETED:
        if done.why:
            on_event("notice", {"text": f"{name}: {done.why}"}, time.time())
        return done.status
    if not done.report:
        _close_session(project, end._replace(status=RunEnding.FAILED))
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
    """The kind of tasks of the step where the loop ended."""
    steps = end.lane.workflow.steps
    index = index_of(steps, end.record.implementing)
    assert index is not None
    return part_of(steps[index]).tasks


def _close_session(project: Project, end: RunEnd) -> None:
    """Write the ending to the state file. An unwritable file keeps the entry of the last step."""
    root = project.root
    path = os.path.join(root.checkout, end.lane.path)
    try:
        state = load_flow_state(path, inside=root.checkout)
        if state is not None:
            reason = _REASONS.get(end.status, end.status)
            notes = f"{state.name} comes next" if end.status is RunEnding.SESSION_OVER else state.last.notes
            wanted = with_session(state, time.time(), reason, notes)
            write_flow_state(path, wanted, inside=root.checkout, state_folder=root.state_folder, base=state)
    except FileError:
        return
