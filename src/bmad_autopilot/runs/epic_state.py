"""`.run-epic-state.json`: where an epic stands, in the form that 000 documents, one for each lane."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from .json_files import Object, list_of, read_object, text_of, write_object
from .times import iso, seconds_of

NAME = ".run-epic-state.json"
MAX_STEPS = 50


class Status(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"  # stopped, or over


class Failure(NamedTuple):
    phase: str
    story_key: str
    at: float


class StepDone(NamedTuple):
    step: str
    story_key: str
    phase: str
    completed_at: float


class EpicState(NamedTuple):
    epic_id: str
    current_story_key: str | None = None
    started_at: float = 0.0
    status: Status = Status.RUNNING
    last_failure: Failure | None = None
    last_steps: tuple[StepDone, ...] = ()
    last_story_completed: str | None = None
    run_id: str = ""
    others: Mapping[str, Any] = {}


def read_epic_state(path: str) -> EpicState | None:
    """None where there is none; a FileError where it is no JSON object."""
    data = read_object(path, hint=f"remove it: rm {path}; bmad writes it anew")
    if data is None:
        return None
    return EpicState(
        epic_id=text_of(data.get("epicId")),
        current_story_key=text_of(data.get("currentStoryKey")) or None,
        started_at=seconds_of(data.get("startedAt")),
        status=_status(data.get("status")),
        last_failure=_failure(data.get("lastFailure")),
        last_steps=tuple(_step(item) for item in list_of(data.get("lastSteps")) if isinstance(item, dict)),
        last_story_completed=text_of(data.get("lastStoryCompleted")) or None,
        run_id=text_of(data.get("runId")),
        others={name: value for name, value in data.items() if name not in _KNOWN},
    )


def write_epic_state(path: str, state: EpicState) -> None:
    """What is not there is left out, but for the keys that must be there. Keys of others are kept."""
    data: Object = {
        "epicId": state.epic_id,
        "currentStoryKey": state.current_story_key,
        "startedAt": iso(state.started_at),
        "status": state.status.value,
    }
    if state.last_failure:
        phase, story, at = state.last_failure
        data["lastFailure"] = {"phase": phase, "storyKey": story, "at": iso(at)}
    if state.last_steps:
        data["lastSteps"] = [
            {"step": step, "storyKey": story, "phase": phase, "completedAt": iso(at)}
            for step, story, phase, at in state.last_steps[-MAX_STEPS:]
        ]
    if state.last_story_completed:
        data["lastStoryCompleted"] = state.last_story_completed
    if state.run_id:
        data["runId"] = state.run_id
    others = {name: value for name, value in state.others.items() if name not in _KNOWN}
    write_object(path, {**data, **others}, durable=False)


_KNOWN = frozenset(
    ("epicId", "currentStoryKey", "startedAt", "status", "lastFailure", "lastSteps", "lastStoryCompleted", "runId")
)


def _status(value: object) -> Status:
    return Status.RUNNING if text_of(value).strip().lower() == Status.RUNNING else Status.PAUSED


def _failure(value: object) -> Failure | None:
    if isinstance(value, str) and value:
        return Failure(value, "", 0.0)
    if not isinstance(value, dict) or not value:
        return None
    return Failure(text_of(value.get("phase")), text_of(value.get("storyKey")), seconds_of(value.get("at")))


def _step(value: Object) -> StepDone:
    step, key, phase = (text_of(value.get(name)) for name in ("step", "storyKey", "phase"))
    return StepDone(step, key, phase or step, seconds_of(value.get("completedAt")))
