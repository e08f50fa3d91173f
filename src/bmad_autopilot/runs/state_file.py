"""Reads and writes `state.json`: a run's state in the fields of spec 001, for users and other tools."""

import hashlib
import json
import os
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from ..core.json_types import Count
from ..io.json_files import (
    JsonObject,
    as_count,
    as_list,
    as_text,
    parse_timestamp,
    read_json_object,
    to_iso,
    write_json_object,
)

STATE_FILE = "state.json"
SHORT_ID = 6
COMPACT_ABOVE = 50  # with more artefacts the file is written without indentation


class RunStatus(StrEnum):
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    PAUSED = "paused"


_STATUSES = {status.value: status for status in RunStatus}


class StepArtefact(NamedTuple):
    step: Count
    name: str
    path: str


class RunState(NamedTuple):
    run_id: str
    workflow_path: str = ""
    session_branch: str = ""
    started_at: float = 0.0
    last_checkpoint: float = 0.0
    status: RunStatus = RunStatus.RUNNING
    steps_completed: tuple[int, ...] = ()
    current_step: int = 0
    total_steps: int = 0
    resume_from_step: int = 0
    session_variables: Mapping[str, Any] = {}  # read-only
    artefacts_produced: tuple[StepArtefact, ...] = ()
    checkpoint_id: str = ""
    issues: tuple[Any, ...] = ()
    agent_notes: str = ""
    checkpoint_digest: str = ""
    others: Mapping[str, Any] = {}  # keys of other tools


def checkpoint_digest(run_id: str, step: int, variables: Mapping[str, Any]) -> str:
    payload = f"{run_id}:{step}:{json.dumps(dict(variables), sort_keys=True)}"
    return hashlib.sha256(payload.encode("utf-8", "surrogatepass")).hexdigest()


def checkpoint_id(run_id: str, step: int, variables: Mapping[str, Any]) -> str:
    return checkpoint_digest(run_id, step, variables)[:SHORT_ID]


def with_new_checkpoint(state: RunState, now: float) -> RunState:
    """The state with a new checkpoint at this moment."""
    return with_checkpoint(
        state, now, checkpoint_digest(state.run_id, state.current_step, state.session_variables)
    )


def with_checkpoint(state: RunState, now: float, digest: str) -> RunState:
    """The state at this moment, with the given checkpoint as the one to return to."""
    return state._replace(last_checkpoint=now, checkpoint_id=digest[:SHORT_ID], checkpoint_digest=digest)


def write_state(run: str, state: RunState) -> None:
    data: JsonObject = {
        **state._asdict(),
        "started_at": to_iso(state.started_at),
        "last_checkpoint": to_iso(state.last_checkpoint),
        "status": state.status.value,
        "session_variables": dict(state.session_variables),
        "artefacts_produced": [artefact._asdict() for artefact in state.artefacts_produced],
    }
    data.update((name, value) for name, value in data.pop("others").items() if name not in data)
    is_long = len(state.artefacts_produced) > COMPACT_ABOVE
    write_json_object(
        os.path.join(run, STATE_FILE), data, durable=False, one_line_per_field=is_long
    )  # can be regenerated from the journal


def read_state(run: str) -> RunState | None:
    """None if there is no file. Raises FileError if it cannot be read. Missing or invalid fields get defaults."""
    data = read_json_object(os.path.join(run, STATE_FILE), hint="remove it: bmad makes it anew from the journal")
    if data is None:
        return None
    variables = data.get("session_variables")
    return RunState(
        run_id=as_text(data.get("run_id")) or os.path.basename(run),
        workflow_path=as_text(data.get("workflow_path")),
        session_branch=as_text(data.get("session_branch")),
        started_at=parse_timestamp(data.get("started_at")),
        last_checkpoint=parse_timestamp(data.get("last_checkpoint")),
        status=parse_status(data.get("status")),
        steps_completed=tuple(n for n in map(as_count, as_list(data.get("steps_completed"))) if n),
        current_step=as_count(data.get("current_step")),
        total_steps=as_count(data.get("total_steps")),
        resume_from_step=as_count(data.get("resume_from_step")),
        session_variables=variables if isinstance(variables, dict) else {},
        artefacts_produced=tuple(map(parse_artefact, as_list(data.get("artefacts_produced")))),
        checkpoint_id=as_text(data.get("checkpoint_id")),
        issues=tuple(as_list(data.get("issues"))),
        agent_notes=as_text(data.get("agent_notes")),
        checkpoint_digest=as_text(data.get("checkpoint_digest")),
        others={name: value for name, value in data.items() if name not in RunState._fields},
    )


def parse_status(value: object) -> RunStatus:
    """An unknown status counts as paused, so the run is neither lost nor taken for running."""
    return _STATUSES.get(as_text(value).strip().lower(), RunStatus.PAUSED)


def parse_artefact(value: object) -> StepArtefact:
    if isinstance(value, dict):
        path = as_text(value.get("path"))
        name = as_text(value.get("name")) or os.path.basename(path)
        return StepArtefact(as_count(value.get("step")), name, path)
    return StepArtefact(0, os.path.basename(as_text(value)), as_text(value))
