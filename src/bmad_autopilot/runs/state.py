"""`state.json`: where a run stands, in the fields that 001 names, for people and for other tools."""

import hashlib
import json
import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from .json_files import Object, list_of, number_of, read_object, text_of, write_object
from .times import iso, seconds_of

NAME = "state.json"
SHORT_ID = 6
LONG = 50  # artefacts, from which on the file is for programs alone


class Status(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    PAUSED = "paused"


_STATUSES = {status.value: status for status in Status}


class Artefact(NamedTuple):
    step: int
    name: str
    path: str


class RunState(NamedTuple):
    run_id: str
    workflow_path: str = ""
    session_branch: str = ""
    started_at: float = 0.0
    last_checkpoint: float = 0.0
    status: Status = Status.RUNNING
    steps_completed: tuple[int, ...] = ()
    current_step: int = 0
    total_steps: int = 0
    resume_from_step: int = 0
    session_variables: Mapping[str, Any] = {}  # nobody writes into it
    artefacts_produced: tuple[Artefact, ...] = ()
    checkpoint_id: str = ""
    issues: tuple[Any, ...] = ()
    agent_notes: str = ""
    checkpoint_digest: str = ""
    others: Mapping[str, Any] = {}  # what another tool has put there


def checkpoint_digest(run_id: str, step: int, variables: Mapping[str, Any]) -> str:
    payload = f"{run_id}:{step}:{json.dumps(dict(variables), sort_keys=True)}"
    return hashlib.sha256(payload.encode("utf-8", "surrogatepass")).hexdigest()


def checkpoint_id(run_id: str, step: int, variables: Mapping[str, Any]) -> str:
    return checkpoint_digest(run_id, step, variables)[:SHORT_ID]


def stamped(state: RunState, now: float) -> RunState:
    """The state as a checkpoint of this moment."""
    return marked(state, now, checkpoint_digest(state.run_id, state.current_step, state.session_variables))


def marked(state: RunState, now: float, digest: str) -> RunState:
    """The state at this moment, with the checkpoint that one would go back to."""
    return state._replace(last_checkpoint=now, checkpoint_id=digest[:SHORT_ID], checkpoint_digest=digest)


def write_state(run: str, state: RunState) -> None:
    data: Object = {
        **state._asdict(),
        "started_at": iso(state.started_at),
        "last_checkpoint": iso(state.last_checkpoint),
        "status": state.status.value,
        "session_variables": dict(state.session_variables),
        "artefacts_produced": [artefact._asdict() for artefact in state.artefacts_produced],
    }
    data.update((name, value) for name, value in data.pop("others").items() if name not in data)
    is_long = len(state.artefacts_produced) > LONG
    write_object(os.path.join(run, NAME), data, durable=False, long=is_long)  # made anew from the journal


def read_state(run: str) -> RunState | None:
    """None where there is none; a FileError where it cannot be read. What is missing or odd in it is left out."""
    data = read_object(os.path.join(run, NAME), hint="remove it: bmad makes it anew from the journal")
    if data is None:
        return None
    variables = data.get("session_variables")
    return RunState(
        run_id=text_of(data.get("run_id")) or os.path.basename(run),
        workflow_path=text_of(data.get("workflow_path")),
        session_branch=text_of(data.get("session_branch")),
        started_at=seconds_of(data.get("started_at")),
        last_checkpoint=seconds_of(data.get("last_checkpoint")),
        status=status_of(data.get("status")),
        steps_completed=tuple(n for n in map(number_of, list_of(data.get("steps_completed"))) if n),
        current_step=number_of(data.get("current_step")),
        total_steps=number_of(data.get("total_steps")),
        resume_from_step=number_of(data.get("resume_from_step")),
        session_variables=variables if isinstance(variables, dict) else {},
        artefacts_produced=tuple(map(artefact_of, list_of(data.get("artefacts_produced")))),
        checkpoint_id=text_of(data.get("checkpoint_id")),
        issues=tuple(list_of(data.get("issues"))),
        agent_notes=text_of(data.get("agent_notes")),
        checkpoint_digest=text_of(data.get("checkpoint_digest")),
        others={name: value for name, value in data.items() if name not in RunState._fields},
    )


def status_of(value: object) -> Status:
    """A word nobody knows counts as paused: such a run is neither lost nor taken for running."""
    return _STATUSES.get(text_of(value).strip().lower(), Status.PAUSED)


def artefact_of(value: object) -> Artefact:
    if isinstance(value, dict):
        path = text_of(value.get("path"))
        name = text_of(value.get("name")) or os.path.basename(path)
        return Artefact(number_of(value.get("step")), name, path)
    return Artefact(0, os.path.basename(text_of(value)), text_of(value))
