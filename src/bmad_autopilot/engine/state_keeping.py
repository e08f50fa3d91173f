"""What other tools read of a run: `state.json` (001) and `.run-epic-state.json` (000), kept true as it goes on."""

import os
from collections.abc import Mapping
from typing import Any

from ..core.folding import apply
from ..core.records import RunRecord
from ..project.open import Project
from ..runs.epic_state import EpicState, Failure, StepDone, write_epic_state
from ..runs.epic_state import Status as EpicStatus
from ..runs.state import RunState, Status, stamped, write_state
from .lane import Lane

EPIC_STATE = ".run-epic-state.json"
MOMENTS = frozenset("run resumed story accepted round asked answered commit finished left waiting".split())
MAX_STEPS = 50  # shown in the epic's state

_STATUSES = {"completed": Status.COMPLETED, "failed": Status.FAILED}


class StateKeeper:
    """Listens to the journal; folds it for itself, so that what it writes is what is recorded."""

    def __init__(self, project: Project, lane: Lane, folder: str) -> None:
        self._epic_state = os.path.join(project.folders.implementation, EPIC_STATE)
        self._lane = lane
        self._folder = folder
        self._run = RunRecord()
        self._done: list[StepDone] = []
        self._failure: Failure | None = None
        self._paused = False

    def begin(self, run: RunRecord) -> None:
        self._run = run

    def told(self, kind: str, data: Mapping[str, Any], at: float) -> None:
        apply(self._run, kind, data, at)
        if kind == "accepted" and data.get("number") is not None:
            self._done.append(StepDone(str(data["step"]), str(data["story"]), str(data["step"]), at))
        if kind == "asked" and data.get("code") == "failed":
            self._failure = Failure(str(data.get("step", "")), str(data.get("story", "")), at)
        if kind in MOMENTS:
            self._paused = kind in ("left", "waiting", "finished")
            self._write(at)

    def _write(self, at: float) -> None:
        run, lane = self._run, self._lane
        steps = [step for story in run.stories.values() for step in story.steps]
        completed = tuple(sorted(step.number for step in steps if step.accepted))
        status = _STATUSES.get(run.ended, Status.PAUSED if self._paused else Status.RUNNING)
        state = RunState(
            os.path.basename(self._folder),
            workflow_path=lane.workflow.name,
            session_branch="main",
            started_at=run.began,
            status=status,
            steps_completed=completed,
            current_step=run.steps,
            total_steps=max(run.steps, lane.stories * len(lane.workflow.steps)),
            resume_from_step=max(completed, default=0) + 1,
            session_variables={"target": lane.key, "story": self._story(), "branch": lane.branch},
            issues=tuple(filter(None, [run.question and run.question.get("text")])),
        )
        write_state(self._folder, stamped(state, at))
        write_epic_state(self._epic_state, self._of_epic(status))

    def _of_epic(self, status: Status) -> EpicState:
        finished = [story.key for story in self._run.stories.values() if story.finished]
        return EpicState(
            self._lane.key if self._lane.scope == "epic" else f"epic-{self._lane.epic}",
            self._story(),
            self._run.began,
            EpicStatus.RUNNING if status is Status.RUNNING else EpicStatus.PAUSED,
            self._failure,
            tuple(self._done[-MAX_STEPS:]),
            finished[-1] if finished else None,
            os.path.basename(self._folder),
        )

    def _story(self) -> str:
        return next(reversed(self._run.stories), self._lane.key)
