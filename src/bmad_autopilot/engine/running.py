"""Running a story or an epic from the command line's side: one supervisor, a run's folder, and the loop until it
ends, waits for a person, or is left."""

import os
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..agents.shim.redaction import Redactor, secrets_of
from ..board.sprint import Row
from ..core.errors import EXIT_DONE, EXIT_FAILED, EXIT_HUMAN, EXIT_INTERRUPTED, AutopilotError, UsageError
from ..core.folding import fold
from ..core.records import RunRecord
from ..project.excludes import ensure_excludes
from ..project.open import Project
from ..runs.finding import Run, unfinished
from ..runs.journal import Journal, lane_entry
from ..runs.layout import make_run, runs_folder
from ..runs.state import Status
from ..runs.supervisor import hold
from .lane import Lane, lane_from_json
from .left_out import frozen_lane, keep_left_out
from .loop import LaneLoop
from .policy import with_policy
from .setting_out import NO_CAPS, Caps, new_lane, target_row
from .state_keeping import StateKeeper
from .waiting import Waiting
from .world import World
from .world.ground import Human, Told

SESSION = "main"
EXIT_CODES = {
    "completed": EXIT_DONE,
    "not-done": EXIT_FAILED,
    "failed": EXIT_FAILED,
    "waiting": EXIT_HUMAN,
    "handed-over": EXIT_HUMAN,
    "left": EXIT_INTERRUPTED,
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


def start_run(
    project: Project,
    scope: str,
    key: str,
    *,
    told: Told,
    human: Human | None = None,
    caps: Caps = NO_CAPS,
    retrospective: str | None = None,
    allow_dirty: bool = False,
) -> RunEnd:
    """Run `key` (scope epic, story, or step: only its next step) to its end. A run of the same that was cut short
    or paused is gone on with."""
    project = with_policy(project, told)
    row = target_row(project, scope, key)
    with hold(project.state_folder, f"run {scope} {row.key}") as supervision:
        for before in _under_way(project, scope, row):
            supervision.takes_up(before.id)
            end = _go_on(project, before.folder, told, human, caps, scope="story" if scope == "epic" else scope)
            if end.lane.key == row.key or end.status not in ("completed", "not-done"):
                return end
        lane = new_lane(project, scope, row, caps, retrospective, allow_dirty)
        ensure_excludes(project.root)
        folder = make_run(runs_folder(project.root.path), SESSION, row.key, time.time())
        supervision.takes_up(os.path.basename(folder))
        return _drive(project, lane, folder, told, human, resumed=False)


def resume_run(project: Project, run: str | None = None, *, told: Told, human: Human | None = None) -> RunEnd:
    """The newest run that is not over, or the one named."""
    project = with_policy(project, told)
    found = [one for one in unfinished(runs_folder(project.root.path)) if _lane_of(one) is not None]
    wanted = [one for one in found if run is None or one.id == run] or [
        one for one in found if run is not None and one.id.startswith(run)
    ]
    if not wanted:
        what = f"no unfinished run is called {run}" if run else "there is no unfinished run"
        raise UsageError(what, hint="bmad status")
    with hold(project.state_folder, "resume", wanted[0].id):
        return _go_on(project, wanted[0].folder, told, human, NO_CAPS)


def _lane_of(run: Run) -> Lane | None:
    """None: not a run of the loop, or one of a workflow that nobody understands any more."""
    entry = lane_entry(run.folder)
    try:
        return lane_from_json(entry.data) if entry is not None else None
    except (AutopilotError, LookupError, TypeError):
        return None


def _go_on(project: Project, folder: str, told: Told, human: Human | None, caps: Caps, scope: str = "") -> RunEnd:
    entry = lane_entry(folder)
    assert entry is not None, folder
    lane = frozen_lane(folder, entry.data)
    cost = lane.max_cost if caps.cost is None else caps.cost
    lane = lane._replace(max_cost=cost, max_hours=lane.max_hours if caps.hours is None else caps.hours)
    if scope and lane.scope != "epic":
        lane = lane._replace(scope=scope)
    return _drive(project, lane, folder, told, human, resumed=True)


def _drive(project: Project, lane: Lane, folder: str, told: Told, human: Human | None, *, resumed: bool) -> RunEnd:
    journal = Journal(folder, Redactor(secrets_of(os.environ)).value)
    waiting = Waiting()
    keeper = StateKeeper(project, lane, folder)

    def tell(kind: str, data: Mapping[str, Any], at: float) -> None:
        keeper.told(kind, data, at)
        told(kind, data, at)

    world = World(project, lane, folder, journal, waiting, tell, human)
    try:
        with waiting.signals(lambda stops: told("stopping", {"times": stops}, time.time())):
            if not resumed:
                keep_left_out(folder, lane.dirty)
                world.note("run", {"run_id": os.path.basename(folder), "target": lane.key, **lane.to_json()})
            keeper.begin(fold(world.entries()))
            if resumed:
                world.note("resumed", {})
            loop = LaneLoop(world, lane)
            status = loop.to_end()
        return RunEnd(status, loop.run, folder, lane, resumed)
    finally:
        waiting.close()
        journal.close()


def _under_way(project: Project, scope: str, row: Row) -> list[Run]:
    """Runs to go on with: of the same story or epic; and before an epic's own, those of its single stories, whose
    work lies in the tree."""
    heads = [
        (run, lane) for run in unfinished(runs_folder(project.root.path)) if (lane := _lane_of(run)) is not None
    ]
    heads = [(run, lane) for run, lane in heads if run.state.status is not Status.FAILED]  # aborted: over
    same = [run for run, lane in heads if lane.key == row.key]
    if scope != "epic":
        return same[:1]
    return [run for run, lane in heads if lane.scope != "epic" and lane.epic == row.number] + same[:1]
