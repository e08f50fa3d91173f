"""Derives the progress of a checkpoint-protocol run from its journal. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..io.json_files import as_count, as_text
from .index import OPENED
from .journal import JournalEntry
from .layout import SESSION
from .state_file import RunState, RunStatus, StepArtefact, checkpoint_digest, parse_artefact, parse_status
from .status_page import StatusPage, StepLine

MAX_NOTES = 20_000
MAX_PENDING = 100  # pending steps that are shown


@dataclass
class StepProgress:
    name: str = ""
    started_at: float = 0.0
    completed_at: float = 0.0  # 0: not completed
    output: str = ""


@dataclass
class ProtocolProgress:
    run: str
    workflow: str = ""
    path: str = ""
    session: str = SESSION
    status: RunStatus = RunStatus.RUNNING
    step: int = 0  # the step to resume at
    total: int = 0
    variables: dict[str, Any] = field(default_factory=dict)
    steps: dict[int, StepProgress] = field(default_factory=dict)
    artefacts: tuple[StepArtefact, ...] = ()
    notes: list[str] = field(default_factory=list)
    issues: list[str] = field(default_factory=list)
    started_at: float = 0.0
    updated_at: float = 0.0
    recorded_digest: str = ""  # the digest of the last checkpoint
    marks: set[str] = field(default_factory=set)  # digests of the recorded calls: repeating one changes nothing

    @property
    def completed(self) -> list[int]:
        return sorted(number for number, step in self.steps.items() if step.completed_at)

    @property
    def current(self) -> int:
        """Stays at the last step once all are completed."""
        return min(self.step, self.total) if self.total else self.step

    @property
    def digest(self) -> str:
        return self.recorded_digest or checkpoint_digest(self.run, self.step, self.variables)

    def get_step(self, number: int) -> StepProgress:
        return self.steps.setdefault(number, StepProgress())


def fold_progress(run: str, entries: Iterable[JournalEntry]) -> ProtocolProgress | None:
    """None if this is not a checkpoint-protocol run."""
    progress = None
    for entry in entries:
        if progress is None:
            if entry.kind != OPENED:
                return None
            progress = ProtocolProgress(run, started_at=entry.at)
        _apply(progress, entry)
    return progress


def _apply(progress: ProtocolProgress, entry: JournalEntry) -> None:
    data = entry.data
    mark = as_text(data.get("mark"))
    if entry.kind == OPENED:
        progress.workflow, progress.path = as_text(data.get("workflow")), as_text(data.get("path"))
        progress.session = as_text(data.get("session")) or SESSION
    elif entry.kind == "saved":
        progress.marks = {mark}  # steps completed before may be completed again from here
        _apply_saved(progress, data, entry.at)
    elif entry.kind == "checkpoint":
        progress.marks.add(mark)
        _apply_completed(progress, data, entry.at)
    elif entry.kind == "finished":
        progress.marks = {mark}
        progress.status = parse_status(data.get("status"))
        _add_note(progress, data.get("summary"), progress.status is RunStatus.FAILED)
    elif entry.kind == "forked":  # started at a checkpoint of another run
        progress.started_at, progress.status = entry.at, RunStatus.RUNNING
    else:
        return
    progress.updated_at = entry.at


def _apply_saved(progress: ProtocolProgress, data: Mapping[str, Any], moment: float) -> None:
    progress.step = as_count(data.get("step"))
    progress.total = as_count(data.get("total")) or progress.total
    progress.status = parse_status(data.get("status"))
    _apply_variables(progress, data)
    step = progress.get_step(progress.step)
    step.name = as_text(data.get("name")) or step.name
    step.started_at, step.completed_at = moment, 0.0


def _apply_completed(progress: ProtocolProgress, data: Mapping[str, Any], moment: float) -> None:
    step = progress.get_step(as_count(data.get("step")))
    step.completed_at = moment
    step.name = as_text(data.get("name")) or step.name
    progress.step = as_count(data.get("next")) or progress.step
    progress.status = RunStatus.RUNNING
    _apply_variables(progress, data)
    made = data.get("artefact")
    if isinstance(made, dict):
        one = parse_artefact(made)
        step.output = one.path
        progress.artefacts = (*(other for other in progress.artefacts if other.path != one.path), one)
    _add_note(progress, data.get("note"), False)


def _apply_variables(progress: ProtocolProgress, data: Mapping[str, Any]) -> None:
    made = data.get("checkpoint")
    variables = made.get("variables") if isinstance(made, dict) else None
    if isinstance(made, dict) and isinstance(variables, dict):
        progress.variables = variables
        progress.recorded_digest = as_text(made.get("digest"))


def _add_note(progress: ProtocolProgress, value: object, is_issue: bool) -> None:
    text = as_text(value).strip()
    if text:
        (progress.issues if is_issue else progress.notes).append(text)


def state_of_progress(progress: ProtocolProgress) -> RunState:
    """Fills every field that spec 001 defines."""
    digest = progress.digest
    return RunState(
        progress.run,
        workflow_path=progress.path or progress.workflow,
        session_branch=progress.session,
        started_at=progress.started_at,
        last_checkpoint=progress.updated_at,
        status=progress.status,
        steps_completed=tuple(progress.completed),
        current_step=progress.current,
        total_steps=progress.total,
        resume_from_step=progress.step,
        session_variables=progress.variables,
        artefacts_produced=progress.artefacts,
        checkpoint_id=digest[:6],
        issues=tuple(progress.issues),
        agent_notes="\n".join(progress.notes)[-MAX_NOTES:],
        checkpoint_digest=digest,
    )


def page_of_progress(progress: ProtocolProgress, resume: str) -> StatusPage:
    return StatusPage(
        workflow=progress.workflow,
        run_id=progress.run,
        session=progress.session,
        status=progress.status.value,
        started_at=progress.started_at,
        updated_at=progress.updated_at,
        current_step=progress.current,
        total_steps=progress.total,
        steps=tuple(_step_lines(progress)),
        variables=progress.variables,
        artefacts=progress.artefacts,
        issues=tuple(progress.issues),
        resume=resume,
    )


def _step_lines(progress: ProtocolProgress) -> Iterable[StepLine]:
    last = min(progress.total, max(progress.steps, default=0) + MAX_PENDING)
    for number in sorted({*progress.steps, *range(1, last + 1)}):
        step = progress.steps.get(number, StepProgress())
        seconds = step.completed_at - step.started_at if step.completed_at and step.started_at else None
        yield StepLine(
            number, step.name or f"step {number}", _step_status(progress, number, step), "", seconds, step.output
        )


def _step_status(progress: ProtocolProgress, number: int, step: StepProgress) -> str:
    if step.completed_at:
        return "done"
    if number != progress.step or progress.status is RunStatus.COMPLETED:
        return "pending"
    return {RunStatus.FAILED: "failed", RunStatus.PAUSED: "waiting"}.get(progress.status, "running")
