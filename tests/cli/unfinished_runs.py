"""Runs of the loop that are not over, as it leaves them."""

import os
import time
from pathlib import Path

from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.engine.lane import DeliveryPlan, Lane
from bmad_autopilot.runs.journal import Journal
from bmad_autopilot.runs.layout import make_run, runs_folder
from bmad_autopilot.runs.state_file import RunState, RunStatus, write_state
from bmad_autopilot.workflows.workflow import PIPELINES
from tests.support.bmad_project import SampleProject

BEGAN = 1_800_000_000.0


def unfinished_run(
    sample: SampleProject,
    story: str,
    *,
    status: RunStatus = RunStatus.PAUSED,
    after: float = 0.0,
    delivery: DeliveryPlan | None = None,
    session: str = "main",
    epic: str = "1",
) -> Path:
    key = f"epic-{epic}"
    folder = Path(make_run(runs_folder(str(sample.root)), session, key, BEGAN + after))
    lane = Lane(LaneScope.EPIC, key, epic, PIPELINES["lean"], delivery=delivery, session=session)
    note(folder, "run", target=key, **lane.to_json())
    keep_state(folder, story, status, after, key)
    return folder


def note(folder: Path, kind: str, /, **data: object) -> None:
    journal = Journal(str(folder), lambda value: value)
    journal.append(kind, **data)
    journal.close()


def keep_state(folder: Path, story: str, status: RunStatus, after: float = 0.0, target: str = "epic-1") -> None:
    variables = {"target": target, "story": story}
    state = RunState(folder.name, status=status, current_step=1, session_variables=variables)
    write_state(str(folder), state._replace(last_checkpoint=time.time() + after))


def attempt(run: Path, step: str) -> Path:
    folder = run / "steps" / step / "attempt-1"
    os.makedirs(folder)
    return folder
