"""Keeps the files that other tools and people read about a run up to date: `state.json` and `workflow-status.md`
(001), `.run-epic-state.json` (000)."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ..core.errors import FileError
from ..core.journal_fold import apply_entry
from ..core.lane_scope import LaneScope
from ..core.run_record import RunRecord, StepRecord
from ..project.project import Project
from ..runs.legacy_state import EPIC_STATE_FILE as EPIC_STATE
from ..runs.legacy_state import (
    CompletedStep,
    EpicFailure,
    EpicState,
    EpicStatus,
    read_epic_state,
    write_epic_state,
)
from ..runs.state_file import RunState, RunStatus, StepArtefact, with_checkpoint, with_new_checkpoint, write_state
from ..runs.status_page import MAX_STEPS as SHOWN
from ..runs.status_page import StatusPage, StepLine, write_status_page
from .lane import Lane
from .ports import RunEvent

# `step` is the intent: a reader sees a step before it starts.
WRITE_ON = frozenset(
    "run resumed story step ended accepted round asked answered commit finished left waiting pending".split()
)
HISTORY_KINDS = ("accepted", "asked")  # kinds of entries that the epic's state includes
MAX_STEPS = 20  # shown in the epic's state

_STATUSES = {"completed": RunStatus.COMPLETED, "failed": RunStatus.FAILED}


class StateFileWriter:
    """Listens to the journal and folds it on its own, so that it writes only what is recorded."""

    def __init__(self, project: Project, lane: Lane, folder: str) -> None:
        self._project = project
        self._epic_state = os.path.join(project.folders.implementation, EPIC_STATE)
        self._lane = lane
        self._folder = folder
        self._run = RunRecord()
        self._done: list[CompletedStep] = []
        self._failure: EpicFailure | None = None
        self._paused = False
        self._foreign_fields = self._read_foreign_fields()
        self._pages: dict[int, StepArtefact] = {}  # output page of each completed step
        self._steps: list[tuple[str, StepRecord]] = []  # in order, each with its story

    def load(self, run: RunRecord, entries: Iterable[RunEvent]) -> None:
        self._run = run
        for kind, data, at in entries:
            if kind in HISTORY_KINDS:
                self._note(kind, data, at)
        for checkpoint in run.checkpoints:
            self._add_artefacts(checkpoint)
        found = [(story.key, step) for story in run.stories.values() for step in story.steps]
        self._steps = sorted(found, key=lambda one: one[1].number)

    def _add_artefacts(self, checkpoint: Mapping[str, Any]) -> None:
        for one in checkpoint["artefacts"]:
            self._pages[int(one["step"])] = StepArtefact(int(one["step"]), str(one["name"]), str(one["path"]))

    def on_event(self, kind: str, data: Mapping[str, Any], at: float) -> None:
        apply_entry(self._run, kind, data, at)
        if data.get("checkpoint"):
            self._add_artefacts(data["checkpoint"])
        if kind == "step":
            self._steps.append((str(data["story"]), self._run.stories[str(data["story"])].steps[-1]))
        self._note(kind, data, at)
        if kind in WRITE_ON:
            self._paused = kind in ("left", "waiting", "pending", "finished")
            self._write(at)

    def _note(self, kind: str, data: Mapping[str, Any], at: float) -> None:
        """Remember completed steps and failures for the epic's state."""
        if kind == "accepted" and data.get("number") is not None:
            step = str(data.get("step", ""))
            self._done.append(CompletedStep(step, str(data.get("story", "")), step, at))
        if kind == "asked" and data.get("code") == "failed":
            self._failure = EpicFailure(str(data.get("step", "")), str(data.get("story", "")), at)

    def _write(self, at: float) -> None:
        state = self._state()
        checkpoint = self._run.checkpoints[-1] if self._run.checkpoints else None
        state = (
            with_new_checkpoint(state, at)
            if checkpoint is None
            else with_checkpoint(state, at, str(checkpoint["digest"]))
        )
        write_state(self._folder, state)
        write_status_page(self._folder, self._page(state))
        if not self._lane.is_workflow:
            write_epic_state(self._epic_state, self._build_epic_state(state.status))

    def _state(self) -> RunState:
        run, lane = self._run, self._lane
        completed = tuple(step.number for _, step in self._steps if step.accepted)
        return RunState(
            os.path.basename(self._folder),
            workflow_path=lane.path or lane.workflow.name,
            session_branch=lane.session,
            started_at=run.started_at,
            status=_STATUSES.get(run.final_status, RunStatus.PAUSED if self._paused else RunStatus.RUNNING),
            steps_completed=completed,
            current_step=run.steps,
            total_steps=max(run.steps, lane.stories * len(lane.workflow.steps)),
            resume_from_step=max(completed, default=0) + 1,
            session_variables=run.variables,
            artefacts_produced=tuple(self._pages.values()),
            issues=tuple(filter(None, [run.question and run.question.get("text")])),
        )

    def _page(self, state: RunState) -> StatusPage:
        lane = self._lane
        shown = self._steps[-SHOWN:]
        at_work = next((step for _, step in reversed(shown) if _is_called(step)), None)
        return StatusPage(
            lane.workflow.name,
            state.run_id,
            lane.session,
            state.status.value,
            state.started_at,
            state.last_checkpoint,
            self._agent(at_work) if at_work else "",
            state.current_step,
            state.total_steps,
            tuple(self._line(key, step) for key, step in shown),
            state.session_variables,
            state.artefacts_produced,
            tuple(map(str, state.issues)),
            f"bmad resume --run {state.run_id}",
            len(self._steps) - len(shown),
            len(state.steps_completed),
        )

    def _line(self, story: str, step: StepRecord) -> StepLine:
        ended = [call.outcome for call in step.calls if call.outcome is not None]
        seconds = sum(float(one.get("seconds", 0.0)) for one in ended)
        page = self._pages.get(step.number)
        output = page.path if page else str(ended[-1].get("finding", "")) if ended else ""
        story = story if not self._lane.is_workflow else ""
        return StepLine(step.number, step.step, self._status(step), self._agent(step), seconds, output, story)

    def _status(self, step: StepRecord) -> str:
        if step.accepted:
            return "done"
        if step.closed:
            answers = (one.get("means") for one in self._run.answers if one.get("number") == step.number)
            return "skipped" if "skip" in answers else "failed"
        asked = self._run.question
        if asked is not None and asked.get("number") == step.number:
            return "waiting"
        return "running"

    def _agent(self, step: StepRecord) -> str:
        if step.last_call is not None and step.last_call.agent:
            return step.last_call.agent
        workflow = self._lane.workflow
        role = next((one.role for one in (*workflow.steps, workflow.fix) if one.name == step.step), "dev")
        config = self._project.config
        return config.agent_of(role) if role in config.roles else role  # a command has no agent

    def _build_epic_state(self, status: RunStatus) -> EpicState:
        finished = [story.key for story in self._run.stories.values() if story.finished]
        return EpicState(
            self._lane.key if self._lane.scope is LaneScope.EPIC else f"epic-{self._lane.epic}",
            self._story(),
            self._run.started_at,
            EpicStatus.RUNNING if status is RunStatus.RUNNING else EpicStatus.PAUSED,
            self._failure,
            tuple(self._done[-MAX_STEPS:]),
            finished[-1] if finished else None,
            os.path.basename(self._folder),
            self._foreign_fields,
        )

    def _read_foreign_fields(self) -> Mapping[str, Any]:
        """Fields that another tool has put into the epic's state; they are preserved."""
        try:
            state = read_epic_state(self._epic_state)
        except FileError:
            return {}
        return state.others if state else {}

    def _story(self) -> str:
        return next(reversed(self._run.stories), self._lane.key)


def _is_called(step: StepRecord) -> bool:
    return step.is_open and step.last_call is not None and step.last_call.outcome is None
