"""Running a workflow's own file of steps: under a lock of its own, so that two may run in two sessions."""

import os
import time
from collections.abc import Mapping
from typing import Any

from ..core.commands import command
from ..core.errors import UsageError
from ..project.open import Project
from ..runs.finding import Run, unfinished
from ..runs.journal import lane_entry
from ..runs.layout import SESSION, folder_name, runs_folder
from ..runs.requests import clear_request
from ..runs.state import Status
from ..workflows.pipelines import Workflow
from .driving import NOTHING, RunEnd, drive, go_on, lane_of, supervise
from .lane import Lane
from .onlookers import Human, Told
from .policy import with_policy
from .running import new_folder
from .setting_out import NO_CAPS, Caps


def start_workflow(
    project: Project,
    workflow: Workflow,
    path: str,
    variables: Mapping[str, Any],
    *,
    told: Told,
    human: Human | None = None,
    caps: Caps = NO_CAPS,
    session: str = SESSION,
    unattended: Mapping[str, str] = NOTHING,
    anew: bool = False,
) -> RunEnd:
    """Run a file of steps to its end. A run of the same file in the same session that is not over is gone on with,
    unless another is wanted: `anew`."""
    project = with_policy(project, told)
    config = project.config
    lane = Lane(
        "workflow",
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
        before = None if anew else workflow_under_way(project, path, session)
        if before is not None:
            _compare(before, workflow, variables, told)
            supervision.takes_up(before.id)
            clear_request(before.folder)
            return go_on(project, before.folder, told, human, caps)
        folder = new_folder(project, lane)
        supervision.takes_up(os.path.basename(folder))
        return drive(project, lane, folder, told, human, resumed=False, variables=variables)


def workflow_under_way(project: Project, path: str, session: str = SESSION) -> Run | None:
    """The newest run of this file that is not over. One that somebody has aborted is."""
    for run in unfinished(runs_folder(project.root.path)):
        if run.session == folder_name(session) and run.state.status is not Status.FAILED:
            lane = lane_of(run)
            if lane is not None and (lane.scope, lane.path) == ("workflow", path):
                return run
    return None


def _compare(run: Run, workflow: Workflow, variables: Mapping[str, Any], told: Told) -> None:
    """A run keeps the steps and the variables it began with."""
    entry, lane = lane_entry(run.folder), lane_of(run)
    began = entry.data.get("variables") if entry is not None else None
    if (began or {}) != dict(variables):
        raise UsageError(
            f"{run.id} is not over, and began with other variables",
            found=", ".join(sorted(_differing(began or {}, variables))),
            hint=f"go on with it: {command('resume', run.id)}; or begin another: --new, or --session NAME",
        )
    if lane is not None and lane.workflow != workflow:
        text = f"the file has changed since {run.id} began, which keeps its steps; --new begins another run"
        told("notice", {"text": text}, time.time())


def _differing(one: Mapping[str, Any], other: Mapping[str, Any]) -> set[str]:
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}
