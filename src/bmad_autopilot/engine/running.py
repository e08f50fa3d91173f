"""Running a story or an epic from the command line's side: one supervisor, a run's folder, and the loop until it
ends, waits for a person, or is left."""

import os
import time
from collections.abc import Mapping

from ..board.sprint import Row
from ..github.git import Git
from ..github.ground import is_unchanged
from ..project.excludes import ensure_excludes
from ..project.open import Project
from ..runs.cut_short import cut_short, set_paused
from ..runs.finding import Run, unfinished
from ..runs.half_forks import refuse_half
from ..runs.layout import SESSION, make_run, runs_folder
from ..runs.requests import clear_request, read_request
from ..runs.state import Status
from ..runs.supervisor import busy_runs, hold
from .adopting import adopt_lane, take_over
from .checkpointing import first_variables
from .cleaning import clean_runs
from .driving import NOTHING, RunEnd, drive, go_on, lane_of
from .lane import Lane
from .onlookers import Human, Told
from .policy import with_policy
from .setting_out import NO_CAPS, Caps, new_lane, target_row


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
    session: str = SESSION,
    unattended: Mapping[str, str] = NOTHING,
    adopt: bool = False,
) -> RunEnd:
    """Run `key` (scope epic, story, or step: only its next step) to its end. A run of the same that was cut short
    or paused is gone on with. `adopt`: also where another tool has left one behind."""
    project.bmad.require_supported()
    project = with_policy(project, told)
    row = target_row(project, scope, key)
    with hold(project.state_folder, f"run {scope} {row.key}") as supervision:
        for before in _under_way(project, scope, row, session):
            supervision.takes_up(before.id)
            clear_request(before.folder)
            one = "story" if scope == "epic" else scope
            end = go_on(project, before.folder, told, human, caps, scope=one, unattended=unattended)
            if end.lane.key == row.key or end.status not in ("completed", "not-done"):
                return end
            if read_request(before.folder) is not None:  # asked for while its last step ended: nothing more begins
                return end._replace(status="paused")
        refuse_half(project.root.checkout, runs_folder(project.root.path))
        lane = new_lane(project, scope, row, caps, retrospective, allow_dirty)
        lane = lane._replace(session=session, unattended=dict(unattended))
        left = take_over(project, adopt=adopt)
        _tidy(project, told)
        folder = new_folder(project, lane)
        if left is not None:
            lane = adopt_lane(lane, left, folder)
        supervision.takes_up(os.path.basename(folder))
        known = first_variables(lane, os.path.basename(project.root.path))
        return drive(project, lane, folder, told, human, resumed=False, variables=known)


def _tidy(project: Project, told: Told) -> None:
    """Runs that nobody looks after are set to paused, old ones go into the archive."""
    runs = runs_folder(project.root.path)
    for run in cut_short(runs, project.state_folder):
        set_paused(run)
        text = f"run {run.id} was cut short, and is paused now: bmad resume --run {run.id} goes on with it"
        told("notice", {"text": text}, time.time())
    old = clean_runs(project.root, time.time(), busy=busy_runs(project.state_folder))
    if old:
        text = f"{len(old)} old {'run' if len(old) == 1 else 'runs'} moved to the archive: bmad runs --all"
        told("notice", {"text": text}, time.time())


def new_folder(project: Project, lane: Lane) -> str:
    ensure_excludes(project.root)
    return make_run(runs_folder(project.root.path), lane.session, lane.key, time.time())


def _under_way(project: Project, scope: str, row: Row, session: str) -> list[Run]:
    """Runs to go on with: of the same story or epic, rather one of the branch that is checked out; and before an
    epic's own, those of its single stories, whose work lies in the tree."""
    found = [(run, lane_of(run)) for run in unfinished(runs_folder(project.root.path))]
    heads = [
        (run, lane)
        for run, lane in found
        if lane is not None and not lane.is_workflow and lane.session == session
        if lane.of_tasks == bool(project.tasks)
        if run.state.status is not Status.FAILED  # aborted: over
    ]
    git = Git(project.root.checkout)
    here = [(run, lane) for run, lane in heads if git.work_tree is None or is_unchanged(git, lane.branch)]
    same = [run for run, lane in (*here, *heads) if lane.key == row.key][:1]
    if scope != "epic":
        return same
    return [run for run, lane in here if lane.scope != "epic" and lane.epic == row.number] + same
