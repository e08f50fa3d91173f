"""Driving a lane: its doors opened, and the loop until it ends, waits for a person, or is left."""

import gc
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

from ..agents.shim.redaction import Redactor, secrets_of
from ..core.errors import EXIT_DONE, EXIT_FAILED, EXIT_HUMAN, EXIT_INTERRUPTED, AutopilotError
from ..core.folding import fold
from ..core.records import RunRecord
from ..github.git import Git
from ..github.ground import is_unchanged, look_at_ground, refusal
from ..project.open import Project
from ..project.task_view import task_project
from ..runs.checkpoints import sweep_artefacts
from ..runs.finding import Run
from ..runs.half_forks import refuse_half
from ..runs.journal import Journal, lane_entry
from ..runs.layout import runs_folder
from ..runs.supervisor import NAME, Supervision, hold, workflow_lock
from .lane import Lane, lane_from_json
from .left_out import frozen_lane, keep_left_out, leave_out_output
from .loop import LaneLoop
from .onlookers import Human, Told
from .policy import policy_bytes
from .seats import Seats
from .setting_out import Caps
from .settings_kept import keep_settings
from .state_keeping import StateKeeper
from .waiting import Waiting
from .world import World
from .world.delivery import ForgeMaker
from .world.workflow_world import WorkflowWorld

ALONE = Seats()
NOTHING: Mapping[str, Any] = MappingProxyType({})
EXIT_CODES = {
    "completed": EXIT_DONE,
    "not-done": EXIT_FAILED,
    "failed": EXIT_FAILED,
    "waiting": EXIT_HUMAN,
    "handed-over": EXIT_HUMAN,
    "paused": EXIT_HUMAN,
    "pending": EXIT_HUMAN,  # its pull request waits for others
    "left": EXIT_INTERRUPTED,
    "session-over": EXIT_DONE,  # of a flow: somebody wants the next step begun in another session
    "tasks": EXIT_HUMAN,  # of a flow: it goes on with tasks, on a board of their own
}


class RunEnd(NamedTuple):
    status: str  # a word of EXIT_CODES; not-done: the run is over, and its story is not done
    record: RunRecord
    folder: str
    lane: Lane
    resumed: bool = False

    @property
    def run_id(self) -> str:
        return os.path.basename(self.folder)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]


def supervise(project: Project, lane: Lane, command: str, run: str = "") -> AbstractContextManager[Supervision]:
    """Nobody else drives what this lane would touch."""
    name = workflow_lock(lane.session, lane.key) if lane.is_workflow else NAME
    return hold(project.state_folder, command, run, name)


def lane_of(run: Run) -> Lane | None:
    return lane_at(run.folder)


def lane_at(folder: str) -> Lane | None:
    """None: not a run of the loop, or one of a workflow that nobody understands any more."""
    entry = lane_entry(folder)
    try:
        return lane_from_json(entry.data) if entry is not None else None
    except (AutopilotError, LookupError, TypeError):
        return None


def go_on(
    project: Project,
    folder: str,
    told: Told,
    human: Human | None,
    caps: Caps,
    scope: str = "",
    unattended: Mapping[str, str] = NOTHING,
    forge: ForgeMaker | None = None,
    seats: Seats = ALONE,
    waiting: Waiting | None = None,
) -> RunEnd:
    entry = lane_entry(folder)
    assert entry is not None, folder
    lane = frozen_lane(folder, entry.data)
    if lane.delivery is None or not is_delivering(folder):
        _refuse_elsewhere(project, lane)
    cost = lane.max_cost if caps.cost is None else caps.cost
    lane = lane._replace(max_cost=cost, max_hours=lane.max_hours if caps.hours is None else caps.hours)
    if scope and lane.scope != "epic":
        lane = lane._replace(scope=scope)
    if unattended:
        lane = lane._replace(unattended=dict(unattended))
    return drive(project, lane, folder, told, human, resumed=True, forge=forge, seats=seats, waiting=waiting)


def is_delivering(folder: str) -> bool:
    """Its stories are over: it needs the work tree only now and then, and goes there by itself."""
    entries = Journal(folder, lambda value: value).entries()
    return any(entry.kind == "delivering" for entry in entries)


def _refuse_elsewhere(project: Project, lane: Lane) -> None:
    """Before anything is recorded: on another branch its rows look as if somebody had moved them, and its work as
    if it had never been done."""
    refuse_half(project.root.checkout, runs_folder(project.root.path))
    git = Git(project.root.checkout)
    if git.work_tree is None:
        return
    if not lane.is_workflow and lane.branch and not is_unchanged(git, lane.branch):
        problem = refusal(look_at_ground(git), branch=lane.branch)
        if problem is not None:
            raise problem


@contextmanager
def _without_collecting() -> Iterator[None]:
    """While a run is read from its journal: none of it is garbage, and looking for some doubles the time."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


@cache
def _set_aside() -> None:
    """What the process has by now is never looked at again. Once: whoever drives hundreds would keep them all."""
    gc.freeze()


def _world_of(lane: Lane) -> type[World]:
    if lane.is_flow:
        from .flows.world import FlowWorld  # with a reader of state files, and a walk of folders

        return FlowWorld
    return WorkflowWorld if lane.is_workflow else World


def drive(
    project: Project,
    lane: Lane,
    folder: str,
    told: Told,
    human: Human | None,
    *,
    resumed: bool,
    variables: Mapping[str, Any] = NOTHING,
    forge: ForgeMaker | None = None,
    seats: Seats = ALONE,
    waiting: Waiting | None = None,
) -> RunEnd:
    """`waiting`: by it somebody else ends its waits; it is closed here."""
    project = task_project(project) if lane.of_tasks else project  # whoever opened it: `bmad resume`, too
    git = Git(project.root.checkout)
    if not resumed:
        keep_left_out(folder, lane.dirty)
    if git.work_tree is not None:
        lane = leave_out_output(folder, lane, git.top)
    journal = Journal(folder, Redactor(secrets_of(os.environ)).value)
    waiting = waiting or Waiting()
    keeper = StateKeeper(project, lane, folder)

    def tell(kind: str, data: Mapping[str, Any], at: float) -> None:
        keeper.told(kind, data, at)
        told(kind, data, at)

    world = _world_of(lane)(project, lane, folder, journal, waiting, tell, human)
    world.forge_maker = forge
    world.slot, world.turn, world.held_back, world.checkout_taken = seats
    try:
        with waiting.signals(lambda stops: told("stopping", {"times": stops}, time.time())):
            if not resumed:
                keep_settings(folder, policy_bytes(project))
                head = {"run_id": os.path.basename(folder), "target": lane.key, "settings": world.settings()}
                world.note("run", {**head, "variables": dict(variables), **lane.to_json()})
            with _without_collecting():
                run = fold(world.entries())
                keeper.begin(run, world.entries())
            if resumed:
                world.end_check()
                sweep_artefacts(folder)
                if run.settings and run.settings == world.settings():  # as somebody has answered
                    lane = world.settle(keep=run.keeps_settings)
                world.note("resumed", {})
            with _without_collecting():
                loop = LaneLoop(world, lane)
                _set_aside()
            status = loop.to_end()
        return RunEnd(status, loop.run, folder, lane, resumed)
    finally:
        seats.slot.give_back()
        waiting.close()
        journal.close()
