"""Runs a story, an epic or a workflow file: takes the supervisor lock, makes the run's folder, and runs the loop
until it ends, waits for a person, or is left."""

import gc
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from ..agents.shim.redact import Redactor, environment_secrets
from ..board.sprint_status import Row
from ..core.errors import AutopilotError, UsageError, command
from ..core.journal_fold import fold
from ..core.lane_scope import LaneScope
from ..core.run_ending import RunEnding
from ..core.run_record import RunRecord
from ..git.git import Git
from ..git.worktree_state import is_on_branch, precondition_error, read_worktree_state
from ..project.git_excludes import ensure_excludes
from ..project.project import Project, task_project
from ..runs.checkpoints import refuse_interrupted_fork, remove_temporary_artefacts
from ..runs.index import Run, mark_paused, open_runs, stale_runs
from ..runs.journal import Journal, lane_entry
from ..runs.layout import SESSION, make_run, runs_folder
from ..runs.supervisor_lock import (
    LOCK_FILE,
    SupervisorLock,
    busy_runs,
    clear_request,
    hold_supervisor_lock,
    read_request,
    workflow_lock_name,
)
from ..workflows.workflow import Workflow
from .commits import first_variables
from .lane import Lane, lane_from_json
from .loop import LaneLoop
from .policy import base_settings_bytes, save_settings, with_base_settings
from .ports import EventSink, Prompter
from .run_refs import clean_runs
from .run_setup import (
    NO_CAPS,
    Caps,
    adopt_lane,
    find_adoptable_run,
    find_target_row,
    leave_out_own_output,
    load_lane,
    new_lane,
    save_left_out,
)
from .slots import LaneLimits
from .state_files import StateFileWriter
from .waiting import Waiter
from .world import LaneContext, build_ports
from .world.delivery import ForgeFactory

# Running a lane: builds its world and runs the loop.

NO_LIMITS = LaneLimits()
EMPTY_MAPPING: Mapping[str, Any] = MappingProxyType({})


class RunEnd(NamedTuple):
    status: RunEnding
    record: RunRecord
    folder: str
    lane: Lane
    resumed: bool = False

    @property
    def run_id(self) -> str:
        return os.path.basename(self.folder)

    @property
    def exit_code(self) -> int:
        return self.status.exit_code


def supervise(project: Project, lane: Lane, command: str, run: str = "") -> AbstractContextManager[SupervisorLock]:
    """Take the lock that keeps other supervisors from this lane's files."""
    name = workflow_lock_name(lane.session, lane.key) if lane.is_workflow else LOCK_FILE
    return hold_supervisor_lock(project.state_folder, command, run, name)


def lane_of_run(run: Run) -> Lane | None:
    """Read from the journal, not from `run.lane`, which runs in a plain list do not have."""
    return read_lane(run.folder)


def read_lane(folder: str) -> Lane | None:
    """None: not a run of the loop, or its workflow is of an unsupported version."""
    entry = lane_entry(folder)
    try:
        return lane_from_json(entry.data) if entry is not None else None
    except (AutopilotError, LookupError, TypeError, ValueError):
        return None


def open_run(project: Project, scope: LaneScope, session: str, *, key: str = "", path: str = "") -> Run | None:
    """The run that a command with this target resumes. A run of an unsupported version is skipped."""
    found = open_runs(runs_folder(project.root.path), scope, key=key or None, path=path or None, session=session)
    return next((run for run in found if lane_of_run(run) is not None), None)


def resume_lane(
    project: Project,
    folder: str,
    on_event: EventSink,
    human: Prompter | None,
    caps: Caps,
    scope: LaneScope | None = None,
    unattended: Mapping[str, str] = EMPTY_MAPPING,
    forge: ForgeFactory | None = None,
    limits: LaneLimits = NO_LIMITS,
    waiter: Waiter | None = None,
) -> RunEnd:
    entry = lane_entry(folder)
    assert entry is not None, folder
    lane = load_lane(folder, entry.data)
    if lane.delivery is None or not is_delivering(folder):
        _require_same_branch(project, lane)
    cost = lane.max_cost if caps.cost is None else caps.cost
    lane = lane._replace(max_cost=cost, max_hours=lane.max_hours if caps.hours is None else caps.hours)
    if scope and lane.scope is not LaneScope.EPIC:
        lane = lane._replace(scope=scope)
    if unattended:
        lane = lane._replace(unattended=dict(unattended))
    return run_lane(
        project, lane, folder, on_event, human, resumed=True, forge=forge, limits=limits, waiter=waiter
    )


def is_delivering(folder: str) -> bool:
    """Whether its stories are finished: it then needs the work tree only at times, and checks it out itself."""
    entries = Journal(folder, lambda value: value).entries()
    return any(entry.kind == "delivering" for entry in entries)


def _require_same_branch(project: Project, lane: Lane) -> None:
    """Called before anything is recorded: on another branch its rows would look edited by a person, and its work
    missing."""
    refuse_interrupted_fork(project.root.checkout, runs_folder(project.root.path))
    git = Git(project.root.checkout)
    if git.work_tree is None:
        return
    if not lane.is_workflow and lane.branch and not is_on_branch(git, lane.branch):
        problem = precondition_error(read_worktree_state(git), branch=lane.branch)
        if problem is not None:
            raise problem


@contextmanager
def _gc_paused() -> Iterator[None]:
    """Pause garbage collection while a run is read from its journal: none of it is garbage, and collecting doubles
    the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@cache
def _freeze_heap() -> None:
    """Exclude all current objects from garbage collection. Once: after hundreds of lanes all would be kept."""
    gc.freeze()


def run_lane(
    project: Project,
    lane: Lane,
    folder: str,
    on_event: EventSink,
    human: Prompter | None,
    *,
    resumed: bool,
    variables: Mapping[str, Any] = EMPTY_MAPPING,
    forge: ForgeFactory | None = None,
    limits: LaneLimits = NO_LIMITS,
    waiter: Waiter | None = None,
) -> RunEnd:
    """`waiter`: lets the caller wake or stop this run. Closed on return."""
    project = task_project(project) if lane.of_tasks else project  # for every caller, `bmad resume` too
    git = Git(project.root.checkout)
    if not resumed:
        save_left_out(folder, lane.dirty)
    if git.work_tree is not None:
        lane = leave_out_own_output(folder, lane, git.top)
    journal = Journal(folder, Redactor(environment_secrets(os.environ)).value)
    waiter = waiter or Waiter()
    keeper = StateFileWriter(project, lane, folder)

    def tell(kind: str, data: Mapping[str, Any], at: float) -> None:
        keeper.on_event(kind, data, at)
        on_event(kind, data, at)

    ports = build_ports(project, lane, folder, LaneContext(journal, waiter, tell, human, limits, forge))
    records = ports.records
    try:
        with waiter.signals(lambda stops: on_event("stopping", {"times": stops}, time.time())):
            if not resumed:
                save_settings(folder, base_settings_bytes(project))
                head = {"run_id": os.path.basename(folder), "target": lane.key, "settings": records.settings()}
                records.note("run", {**head, "variables": dict(variables), **lane.to_json()})
            with _gc_paused():
                run = fold(records.entries())
                keeper.load(run, records.entries())
            if resumed:
                ports.worktree.recover_check()
                remove_temporary_artefacts(folder)
                if run.settings and run.settings == records.settings():  # the user has answered about these
                    lane = records.apply_settings(keep=run.keeps_initial_settings)
                records.note("resumed", {})
            with _gc_paused():
                loop = LaneLoop(ports, lane)
                _freeze_heap()
            status = loop.run_to_end()
        return RunEnd(status, loop.run, folder, lane, resumed)
    finally:
        limits.slot.release()
        waiter.close()
        journal.close()


def start_run(
    project: Project,
    scope: LaneScope,
    key: str,
    *,
    on_event: EventSink,
    human: Prompter | None = None,
    caps: Caps = NO_CAPS,
    retrospective: str | None = None,
    allow_dirty: bool = False,
    session: str = SESSION,
    unattended: Mapping[str, str] = EMPTY_MAPPING,
    adopt: bool = False,
) -> RunEnd:
    """Run `key` (scope epic, story, or step: only its next step) to its end. An interrupted or paused run of the
    same key is resumed. `adopt`: continue another tool's unfinished run, too."""
    project.bmad.require_supported()
    project = with_base_settings(project, on_event)
    row = find_target_row(project, scope, key)
    with hold_supervisor_lock(project.state_folder, f"run {scope} {row.key}") as supervision:
        for before in _unfinished_runs(project, scope, row, session):
            supervision.set_run(before.id)
            clear_request(before.folder)
            one = LaneScope.STORY if scope is LaneScope.EPIC else scope
            end = resume_lane(project, before.folder, on_event, human, caps, scope=one, unattended=unattended)
            if end.lane.key == row.key or not end.status.is_over:
                return end
            if read_request(before.folder) is not None:  # a request came as its last step ended: start nothing
                return end._replace(status=RunEnding.PAUSED)
        refuse_interrupted_fork(project.root.checkout, runs_folder(project.root.path))
        lane = new_lane(project, scope, row, caps, retrospective, allow_dirty)
        lane = lane._replace(session=session, unattended=dict(unattended))
        left = find_adoptable_run(project, adopt=adopt)
        _tidy_runs(project, on_event)
        folder = make_run_folder(project, lane)
        if left is not None:
            lane = adopt_lane(lane, left, folder)
        supervision.set_run(os.path.basename(folder))
        known = first_variables(lane, os.path.basename(project.root.path))
        return run_lane(project, lane, folder, on_event, human, resumed=False, variables=known)


def _tidy_runs(project: Project, on_event: EventSink) -> None:
    """Set runs without a supervisor to paused, and archive old runs."""
    runs = runs_folder(project.root.path)
    for run in stale_runs(runs, project.state_folder):
        mark_paused(run)
        text = f"run {run.id} was cut short, and is paused now: bmad resume --run {run.id} goes on with it"
        on_event("notice", {"text": text}, time.time())
    old = clean_runs(project.root, time.time(), busy=busy_runs(project.state_folder))
    if old:
        text = f"{len(old)} old {'run' if len(old) == 1 else 'runs'} moved to the archive: bmad runs --all"
        on_event("notice", {"text": text}, time.time())


def make_run_folder(project: Project, lane: Lane) -> str:
    ensure_excludes(project.root)
    return make_run(runs_folder(project.root.path), lane.session, lane.key, time.time())


def _unfinished_runs(project: Project, scope: LaneScope, row: Row, session: str) -> list[Run]:
    """Runs to resume: of the same story or epic, preferring the branch that is checked out. Before an epic's own
    run come those of its single stories, whose work is in the tree."""
    of_tasks = bool(project.tasks_folder)
    found = open_runs(runs_folder(project.root.path), session=session, of_tasks=of_tasks)
    lanes = ((run, lane_of_run(run)) for run in found)
    heads = [(run, lane) for run, lane in lanes if lane is not None and not lane.is_workflow]
    git = Git(project.root.checkout)
    here = [(run, lane) for run, lane in heads if git.work_tree is None or is_on_branch(git, lane.branch)]
    same = [run for run, lane in (*here, *heads) if lane.key == row.key][:1]
    if scope is not LaneScope.EPIC:
        return same
    return [run for run, lane in here if lane.scope is not LaneScope.EPIC and lane.epic == row.number] + same


# Running a workflow file: under its own lock, so that two may run in two sessions.


def start_workflow(
    project: Project,
    workflow: Workflow,
    path: str,
    variables: Mapping[str, Any],
    *,
    on_event: EventSink,
    human: Prompter | None = None,
    caps: Caps = NO_CAPS,
    session: str = SESSION,
    unattended: Mapping[str, str] = EMPTY_MAPPING,
    force_new: bool = False,
) -> RunEnd:
    """Run a workflow file to its end. An unfinished run of the same file in the same session is resumed, unless
    `force_new`."""
    project = with_base_settings(project, on_event)
    config = project.config
    lane = Lane(
        LaneScope.WORKFLOW,
        workflow.name,
        None,
        workflow,
        max_cost=config.max_cost if caps.cost is None else caps.cost,
        max_hours=config.max_hours if caps.hours is None else caps.hours,
        session=session,
        path=path,
        unattended=dict(unattended),
    )
    with supervise(project, lane, command("workflow", "run", path)) as supervision:
        before = None if force_new else open_run(project, LaneScope.WORKFLOW, session, path=path)
        if before is not None:
            _require_same_inputs(before, workflow, variables, on_event)
            supervision.set_run(before.id)
            clear_request(before.folder)
            return resume_lane(project, before.folder, on_event, human, caps)
        folder = make_run_folder(project, lane)
        supervision.set_run(os.path.basename(folder))
        return run_lane(project, lane, folder, on_event, human, resumed=False, variables=variables)


def _require_same_inputs(run: Run, workflow: Workflow, variables: Mapping[str, Any], on_event: EventSink) -> None:
    """A run keeps the steps and variables it began with: refuse other variables, report other steps."""
    entry, lane = lane_entry(run.folder), lane_of_run(run)
    began = entry.data.get("variables") if entry is not None else None
    if (began or {}) != dict(variables):
        raise UsageError(
            f"{run.id} is not over, and began with other variables",
            found=", ".join(sorted(_differing(began or {}, variables))),
            hint=f"go on with it: {command('resume', run.id)}; or begin another: --new, or --session NAME",
        )
    if lane is not None and lane.workflow != workflow:
        text = f"the file has changed since {run.id} began, which keeps its steps; --new begins another run"
        on_event("notice", {"text": text}, time.time())


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
