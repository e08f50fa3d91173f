"""Where a run stands that agents keep themselves, from its journal. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from .finding import OPENED
from .journal_lines import Entry
from .json_files import number_of, text_of
from .layout import SESSION
from .state import Artefact, RunState, Status, artefact_of, checkpoint_digest, status_of
from .status_page import Page, StepLine

MAX_NOTES = 20_000
MAX_PENDING = 100  # steps to come that are shown


@dataclass
class StepProgress:
    name: str = ""
    began: float = 0.0
    done: float = 0.0  # when it was completed; 0: it is not
    output: str = ""


@dataclass
class Progress:
    run: str
    workflow: str = ""
    path: str = ""
    session: str = SESSION
    status: Status = Status.RUNNING
    step: int = 0  # the one to go on with
    total: int = 0
    variables: dict[str, Any] = field(default_factory=dict)
    steps: dict[int, StepProgress] = field(default_factory=dict)
    artefacts: tuple[Artefact, ...] = ()
    notes: list[str] = field(default_factory=list)
    issues: list[str] = field(default_factory=list)
    began: float = 0.0
    last: float = 0.0
    recorded: str = ""  # the digest of the last checkpoint
    marks: set[str] = field(default_factory=set)  # of the calls that are recorded: the same again changes nothing

    @property
    def completed(self) -> list[int]:
        return sorted(number for number, step in self.steps.items() if step.done)

    @property
    def current(self) -> int:
        """After the last one it is still the last one."""
        return min(self.step, self.total) if self.total else self.step

    @property
    def digest(self) -> str:
        return self.recorded or checkpoint_digest(self.run, self.step, self.variables)

    def of(self, number: int) -> StepProgress:
        return self.steps.setdefault(number, StepProgress())


def fold(run: str, entries: Iterable[Entry]) -> Progress | None:
    """None: it is no such run."""
    progress = None
    for entry in entries:
        if progress is None:
            if entry.kind != OPENED:
                return None
            progress = Progress(run, began=entry.at)
        _apply(progress, entry)
    return progress


def _apply(at: Progress, entry: Entry) -> None:
    data = entry.data
    mark = text_of(data.get("mark"))
    if entry.kind == OPENED:
        at.workflow, at.path = text_of(data.get("workflow")), text_of(data.get("path"))
        at.session = text_of(data.get("session")) or SESSION
    elif entry.kind == "saved":
        at.marks = {mark}  # what was completed before may be completed again from here
        _saved(at, data, entry.at)
    elif entry.kind == "checkpoint":
        at.marks.add(mark)
        _completed(at, data, entry.at)
    elif entry.kind == "finished":
        at.marks = {mark}
        at.status = status_of(data.get("status"))
        _note(at, data.get("summary"), at.status is Status.FAILED)
    elif entry.kind == "forked":  # begun at a checkpoint of another run
        at.began, at.status = entry.at, Status.RUNNING
    else:
        return
    at.last = entry.at


def _saved(at: Progress, data: Mapping[str, Any], moment: float) -> None:
    at.step = number_of(data.get("step"))
    at.total = number_of(data.get("total")) or at.total
    at.status = status_of(data.get("status"))
    _take_variables(at, data)
    step = at.of(at.step)
    step.name = text_of(data.get("name")) or step.name
    step.began, step.done = moment, 0.0


def _completed(at: Progress, data: Mapping[str, Any], moment: float) -> None:
    step = at.of(number_of(data.get("step")))
    step.done = moment
    step.name = text_of(data.get("name")) or step.name
    at.step = number_of(data.get("next")) or at.step
    at.status = Status.RUNNING
    _take_variables(at, data)
    made = data.get("artefact")
    if isinstance(made, dict):
        one = artefact_of(made)
        step.output = one.path
        at.artefacts = (*(other for other in at.artefacts if other.path != one.path), one)
    _note(at, data.get("note"), False)


def _take_variables(at: Progress, data: Mapping[str, Any]) -> None:
    made = data.get("checkpoint")
    variables = made.get("variables") if isinstance(made, dict) else None
    if isinstance(made, dict) and isinstance(variables, dict):
        at.variables = variables
        at.recorded = text_of(made.get("digest"))


def _note(at: Progress, said: object, is_issue: bool) -> None:
    text = text_of(said).strip()
    if text:
        (at.issues if is_issue else at.notes).append(text)


def state_of_progress(at: Progress) -> RunState:
    """All of 001's fields."""
    digest = at.digest
    return RunState(
        at.run,
        workflow_path=at.path or at.workflow,
        session_branch=at.session,
        started_at=at.began,
        last_checkpoint=at.last,
        status=at.status,
        steps_completed=tuple(at.completed),
        current_step=at.current,
        total_steps=at.total,
        resume_from_step=at.step,
        session_variables=at.variables,
        artefacts_produced=at.artefacts,
        checkpoint_id=digest[:6],
        issues=tuple(at.issues),
        agent_notes="\n".join(at.notes)[-MAX_NOTES:],
        checkpoint_digest=digest,
    )


def page_of_progress(at: Progress, resume: str) -> Page:
    return Page(
        workflow=at.workflow,
        run_id=at.run,
        session=at.session,
        status=at.status.value,
        started_at=at.began,
        updated_at=at.last,
        current_step=at.current,
        total_steps=at.total,
        steps=tuple(_lines(at)),
        variables=at.variables,
        artefacts=at.artefacts,
        issues=tuple(at.issues),
        resume=resume,
    )


def _lines(at: Progress) -> Iterable[StepLine]:
    last = min(at.total, max(at.steps, default=0) + MAX_PENDING)
    for number in sorted({*at.steps, *range(1, last + 1)}):
        step = at.steps.get(number, StepProgress())
        seconds = step.done - step.began if step.done and step.began else None
        yield StepLine(number, step.name or f"step {number}", _word(at, number, step), "", seconds, step.output)


def _word(at: Progress, number: int, step: StepProgress) -> str:
    if step.done:
        return "done"
    if number != at.step or at.status is Status.COMPLETED:
        return "pending"
    return {Status.FAILED: "failed", Status.PAUSED: "waiting"}.get(at.status, "running")
