"""Going on with a run that is not over, and going back to a checkpoint of any run."""

import os
import time
from collections.abc import Mapping

from ..core.errors import AutopilotError
from ..project.open import Project
from ..runs.checkpoints import Checkpoint
from ..runs.finding import Run
from ..runs.layout import runs_folder
from ..runs.requests import clear_request
from ..runs.supervisor import hold
from .driving import NOTHING, RunEnd, go_on, lane_at, lane_of, supervise
from .forking import Fork, fork_run
from .onlookers import Human, Told
from .policy import with_policy
from .setting_out import NO_CAPS


def resume_run(
    project: Project,
    run: Run,
    *,
    told: Told,
    human: Human | None = None,
    unattended: Mapping[str, str] = NOTHING,
) -> RunEnd:
    project.bmad.require_supported()
    lane = lane_of(run)
    if lane is None:
        raise _not_understood(run.id)
    project = with_policy(project, told)
    with supervise(project, lane, "resume", run.id):
        clear_request(run.folder)
        if lane.is_flow:
            from .flows.running import Wish, resume_flow

            return resume_flow(project, run.folder, Wish(unattended=unattended), told=told, human=human)
        return go_on(project, run.folder, told, human, NO_CAPS, unattended=unattended)


def _not_understood(run: str) -> AutopilotError:
    return AutopilotError(
        f"{run} cannot be gone on with",
        found="a run of another tool, or of a version whose workflow nobody understands any more",
        hint=f"bmad runs show {run}",
    )


def fork_protocol(project: Project, at: Checkpoint) -> Fork:
    """Likewise of a run that agents keep with `bmad checkpoint`: nobody drives the new one either."""
    from ..agents.shim.redaction import Redactor, secrets_of
    from ..runs.protocol import Keeper

    with hold(project.state_folder, f"resume --checkpoint {at.id}"):
        fork = fork_run(project, at)
        redact = Redactor(secrets_of(os.environ)).value
        Keeper(runs_folder(project.root.path), redact, time.time()).taken_over(fork.folder)
        return fork


def resume_fork(project: Project, at: Checkpoint, *, told: Told, human: Human | None = None) -> RunEnd:
    """Another run from an old checkpoint on, on a branch of its own. The run it was taken from stays as it is."""
    project.bmad.require_supported()
    project = with_policy(project, told)
    lane = lane_at(at.folder)
    if lane is None:
        raise _not_understood(at.run)
    with supervise(project, lane, f"resume --checkpoint {at.id}") as supervision:
        fork = fork_run(project, at)
        supervision.takes_up(fork.run_id)
        clear_request(fork.folder)
        told("forked", {**fork.said, "steps": lane.stories * len(lane.workflow.steps)}, time.time())
        return go_on(project, fork.folder, told, human, NO_CAPS)
