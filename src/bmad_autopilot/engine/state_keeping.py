"""What other tools and people read of a run: `state.json` and `workflow-status.md` (001), `.run-epic-state.json`
(000), kept true as it goes on."""

import os
from collections.abc import Iterable, Mapping
from typing import Any

from ..core.errors import FileError
from ..core.folding import apply
from ..core.records import RunRecord, StepRecord
from ..project.open import Project
from ..runs.epic_state import NAME as EPIC_STATE
from ..runs.epic_state import EpicState, Failure, StepDone, read_epic_state, write_epic_state
from ..runs.epic_state import Status as EpicStatus
from ..runs.state import Artefact, RunState, Status, marked, stamped, write_state
from ..runs.status_page import MAX_STEPS as SHOWN
from ..runs.status_page import Page, StepLine, write_status_page
from .doors import Entry
from .lane import Lane

# `step` is the intent: a reader sees what is about to be done before it is.
MOMENTS = frozenset(
    "run resumed story step ended accepted round asked answered commit finished left waiting pending".split()
)
PAST = ("accepted", "asked")  # what the epic's state tells of
MAX_STEPS = 20  # shown in the epic's state

_STATUSES = {"completed": Status.COMPLETED, "failed": Status.FAILED}


class StateKeeper:
    """Listens to the journal; folds it for itself, so that what it writes is what is recorded."""

    def __init__(self, project: Project, lane: Lane, folder: str) -> None:
        self._project = project
        self._epic_state = os.path.join(project.folders.implementation, EPIC_STATE)
        self._lane = lane
        self._folder = folder
        self._run = RunRecord()
        self._done: list[StepDone] = []
        self._failure: Failure | None = None
        self._paused = False
        self._others = self._of_others()
        self._pages: dict[int, Artefact] = {}  # what each completed step left
        self._steps: list[tuple[str, StepRecord]] = []  # in their order, each with its story

    def begin(self, run: RunRecord, entries: Iterable[Entry]) -> None:
        self._run = run
        for kind, data, at in entries:
            if kind in PAST:
                self._note(kind, data, at)
        for made in run.checkpoints:
            self._keep(made)
        found = [(story.key, step) for story in run.stories.values() for step in story.steps]
        self._steps = sorted(found, key=lambda one: one[1].number)

    def _keep(self, made: Mapping[str, Any]) -> None:
        for one in made["artefacts"]:
            self._pages[int(one["step"])] = Artefact(int(one["step"]), str(one["name"]), str(one["path"]))

    def told(self, kind: str, data: Mapping[str, Any], at: float) -> None:
        apply(self._run, kind, data, at)
        if data.get("checkpoint"):
            self._keep(data["checkpoint"])
        if kind == "step":
            self._steps.append((str(data["story"]), self._run.stories[str(data["story"])].steps[-1]))
        self._note(kind, data, at)
        if kind in MOMENTS:
            self._paused = kind in ("left", "waiting", "pending", "finished")
            self._write(at)

    def _note(self, kind: str, data: Mapping[str, Any], at: float) -> None:
        """What the epic's state tells of the past."""
        if kind == "accepted" and data.get("number") is not None:
            step = str(data.get("step", ""))
            self._done.append(StepDone(step, str(data.get("story", "")), step, at))
        if kind == "asked" and data.get("code") == "failed":
            self._failure = Failure(str(data.get("step", "")), str(data.get("story", "")), at)

    def _write(self, at: float) -> None:
        state = self._state()
        made = self._run.checkpoints[-1] if self._run.checkpoints else None
        state = stamped(state, at) if made is None else marked(state, at, str(made["digest"]))
        write_state(self._folder, state)
        write_status_page(self._folder, self._page(state))
        if not self._lane.is_workflow:
            write_epic_state(self._epic_state, self._of_epic(state.status))

    def _state(self) -> RunState:
        run, lane = self._run, self._lane
        completed = tuple(step.number for _, step in self._steps if step.accepted)
        return RunState(
            os.path.basename(self._folder),
            workflow_path=lane.path or lane.workflow.name,
            session_branch=lane.session,
            started_at=run.began,
            status=_STATUSES.get(run.ended, Status.PAUSED if self._paused else Status.RUNNING),
            steps_completed=completed,
            current_step=run.steps,
            total_steps=max(run.steps, lane.stories * len(lane.workflow.steps)),
            resume_from_step=max(completed, default=0) + 1,
            session_variables=run.variables,
            artefacts_produced=tuple(self._pages.values()),
            issues=tuple(filter(None, [run.question and run.question.get("text")])),
        )

    def _page(self, state: RunState) -> Page:
        lane = self._lane
        shown = self._steps[-SHOWN:]
        at_work = next((step for _, step in reversed(shown) if _is_called(step)), None)
        return Page(
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
        ended = [call.ended for call in step.calls if call.ended is not None]
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
        if step.last is not None and step.last.agent:
            return step.last.agent
        workflow = self._lane.workflow
        role = next((one.role for one in (*workflow.steps, workflow.fix) if one.name == step.step), "dev")
        config = self._project.config
        return config.agent_of(role) if role in config.roles else role  # a command has no agent

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
            self._others,
        )

    def _of_others(self) -> Mapping[str, Any]:
        """What another tool has put into the epic's state is not ours to throw away."""
        try:
            state = read_epic_state(self._epic_state)
        except FileError:
            return {}
        return state.others if state else {}

    def _story(self) -> str:
        return next(reversed(self._run.stories), self._lane.key)


def _is_called(step: StepRecord) -> bool:
    return step.open and step.last is not None and step.last.ended is None
