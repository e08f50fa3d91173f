"""Reads and writes the state files of older tools: `.run-epic-state.json` of spec 000, one per lane, and the bash
autopilot's `state.json` and log."""

import os
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from typing import Any, NamedTuple

from ..core.errors import FileError
from ..io.files import refuse_hard_links
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

EPIC_STATE_FILE = ".run-epic-state.json"
MAX_STEPS = 50


class EpicStatus(StrEnum):
    RUNNING = "running"
    PAUSED = "paused"  # stopped or finished


class EpicFailure(NamedTuple):
    phase: str
    story_key: str
    at: float


class CompletedStep(NamedTuple):
    step: str
    story_key: str
    phase: str
    completed_at: float


class EpicState(NamedTuple):
    epic_id: str
    current_story_key: str | None = None
    started_at: float = 0.0
    status: EpicStatus = EpicStatus.RUNNING
    last_failure: EpicFailure | None = None
    last_steps: tuple[CompletedStep, ...] = ()
    last_story_completed: str | None = None
    run_id: str = ""
    others: Mapping[str, Any] = {}


def read_epic_state(path: str) -> EpicState | None:
    """None if there is no file. Raises FileError if it is not a JSON object."""
    data = read_json_object(path, hint=f"remove it: rm {path}; bmad writes it anew")
    if data is None:
        return None
    return EpicState(
        epic_id=as_text(data.get("epicId")),
        current_story_key=as_text(data.get("currentStoryKey")) or None,
        started_at=parse_timestamp(data.get("startedAt")),
        status=_status(data.get("status")),
        last_failure=_failure(data.get("lastFailure")),
        last_steps=tuple(_step(item) for item in as_list(data.get("lastSteps")) if isinstance(item, dict)),
        last_story_completed=as_text(data.get("lastStoryCompleted")) or None,
        run_id=as_text(data.get("runId")),
        others={name: value for name, value in data.items() if name not in _KNOWN},
    )


def write_epic_state(path: str, state: EpicState) -> None:
    """Omits empty optional keys. Keys of other tools are kept."""
    data: JsonObject = {
        "epicId": state.epic_id,
        "currentStoryKey": state.current_story_key,
        "startedAt": to_iso(state.started_at),
        "status": state.status.value,
    }
    if state.last_failure:
        phase, story, at = state.last_failure
        data["lastFailure"] = {"phase": phase, "storyKey": story, "at": to_iso(at)}
    if state.last_steps:
        data["lastSteps"] = [
            {"step": step, "storyKey": story, "phase": phase, "completedAt": to_iso(at)}
            for step, story, phase, at in state.last_steps[-MAX_STEPS:]
        ]
    if state.last_story_completed:
        data["lastStoryCompleted"] = state.last_story_completed
    if state.run_id:
        data["runId"] = state.run_id
    others = {name: value for name, value in state.others.items() if name not in _KNOWN}
    write_json_object(path, {**data, **others}, durable=False)


_KNOWN = frozenset(
    ("epicId", "currentStoryKey", "startedAt", "status", "lastFailure", "lastSteps", "lastStoryCompleted", "runId")
)


def _status(value: object) -> EpicStatus:
    return EpicStatus.RUNNING if as_text(value).strip().lower() == EpicStatus.RUNNING else EpicStatus.PAUSED


def _failure(value: object) -> EpicFailure | None:
    if isinstance(value, str) and value:
        return EpicFailure(value, "", 0.0)
    if not isinstance(value, dict) or not value:
        return None
    return EpicFailure(
        as_text(value.get("phase")), as_text(value.get("storyKey")), parse_timestamp(value.get("at"))
    )


def _step(value: JsonObject) -> CompletedStep:
    step, key, phase = (as_text(value.get(name)) for name in ("step", "storyKey", "phase"))
    return CompletedStep(step, key, phase or step, parse_timestamp(value.get("completedAt")))


# `.autopilot/state.json` and `autopilot.log` in the bash autopilot's format, for tools that read those.

FOLDER, STATE, LOG = ".autopilot", "state.json", "autopilot.log"
MAX_LOG = 5 * 1024 * 1024
MAX_EPICS = 1000


class PendingPull(NamedTuple):
    epic: str
    number: int
    status: str
    checked: float
    review: str = ""  # id of the last Copilot review seen


def write_autopilot_state(
    project: str, phase: str, epic: str, completed: Sequence[str], pending: Sequence[PendingPull]
) -> None:
    """Uses the short form, or the long one if pull requests of other epics are pending: the short form cannot hold
    them."""
    data: dict[str, Any] = {"phase": phase, "current_epic": epic or None, "completed_epics": list(completed)}
    if any(one.epic != epic for one in pending):
        data = {
            "mode": "parallel",
            "active_epic": epic or None,
            "active_phase": phase,
            "active_worktree": None,
            "pending_prs": [_pending_document(one) for one in pending],
            "completed_epics": list(completed),
            "paused_context": None,
        }
    os.makedirs(os.path.join(project, FOLDER), exist_ok=True)
    write_json_object(os.path.join(project, FOLDER, STATE), data)


def _pending_document(one: PendingPull) -> dict[str, Any]:
    return {
        "epic": one.epic,
        "pr_number": one.number,
        "worktree": None,
        "status": one.status,
        "last_check": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(one.checked)),
        "last_copilot_id": one.review or None,
    }


def completed_epics(project: str) -> tuple[str, ...]:
    """Reads either form. An unreadable file gives no epics: merged ones can be detected from git."""
    try:
        data = read_json_object(os.path.join(project, FOLDER, STATE))
    except FileError:
        return ()
    found = as_list(data.get("completed_epics")) if data else []
    return tuple(filter(None, (as_text(one) for one in found[:MAX_EPICS])))


def log_line(project: str, text: str) -> None:
    """Appends a line with a timestamp. A log over MAX_LOG is rotated and the previous one kept. Write errors are
    ignored."""
    from ..agents.shim.redact import redact

    path = os.path.join(project, FOLDER, LOG)
    line = redact(" ".join(text.split()))[:2000]
    with suppress(OSError, FileError):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.lexists(path) and os.path.getsize(path) > MAX_LOG:
            os.replace(path, f"{path}.1")
        # Agents can write there too: follow no link, and never block on a pipe without a reader.
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        with open(fd, "a", encoding="utf-8", errors="replace") as file:
            refuse_hard_links(fd, path)
            file.write(f"{time.strftime('%Y-%m-%d %H:%M:%S')} {line}\n")


# Unfinished runs of other tools, found by their state files: the Cursor commands of spec 000 and the bash script
# of spec 002. Nothing is changed here; resuming one starts from the board.

SCRIPT_STATE = os.path.join(".autopilot", "state.json")
COMMANDS, SCRIPT = "the /run-epic command", "the bmad-autopilot script"
MAX_LISTED = 200

_FINISHED_PHASES = ("done", "completed", "complete")


class ForeignPull(NamedTuple):
    epic: str
    number: int  # 0: unknown
    status: str = ""


class ForeignRun(NamedTuple):
    tool: str
    path: str
    epic: str = ""
    story: str = ""
    phase: str = ""
    status: str = ""  # running, paused, blocked
    since: float = 0.0
    failure: str = ""  # last failure: `dev of 1-2-login`
    completed: tuple[str, ...] = ()  # epics
    pending: tuple[ForeignPull, ...] = ()
    problem: str = ""  # why the file cannot be read


def find_foreign_run(root: str, implementation: str) -> ForeignRun | None:
    """`root`: the project's folder, `implementation`: the folder of its stories. None if there is no such run, it
    is finished, or it is our own."""
    return _from_commands(os.path.join(implementation, EPIC_STATE_FILE)) or _from_script(
        os.path.join(root, SCRIPT_STATE)
    )


def _from_commands(path: str) -> ForeignRun | None:
    try:
        state = read_epic_state(path)
    except FileError:
        return None  # our own file is written atomically and can be regenerated
    if state is None or state.run_id or not (state.epic_id or state.current_story_key):
        return None
    is_over = not state.current_story_key or as_text(state.others.get("completedAt"))
    if state.status is not EpicStatus.RUNNING and is_over:
        return None
    failure = state.last_failure
    return ForeignRun(
        COMMANDS,
        path,
        state.epic_id,
        state.current_story_key or "",
        state.last_steps[-1].phase if state.last_steps else "",
        state.status.value,
        state.started_at,
        " of ".join(filter(None, (failure.phase, failure.story_key))) if failure else "",
    )


def _from_script(path: str) -> ForeignRun | None:
    try:
        data = read_json_object(path)
    except FileError as error:
        return ForeignRun(SCRIPT, path, status="unknown", problem=error.message)
    if data is None:
        return None
    paused = data.get("paused_context")
    context: JsonObject = paused if isinstance(paused, dict) else {}
    epic = (
        _clean_name(data.get("current_epic"))
        or _clean_name(data.get("active_epic"))
        or _clean_name(context.get("epic"))
    )
    phase = (
        _clean_name(data.get("phase"))
        or _clean_name(data.get("active_phase"))
        or _clean_name(context.get("phase"))
    )
    pending = tuple(
        _read_pending(item) for item in as_list(data.get("pending_prs"))[:MAX_LISTED] if isinstance(item, dict)
    )
    if not epic and not pending:
        return None
    if phase.lower() in _FINISHED_PHASES and not pending:
        return None
    completed = tuple(filter(None, map(_clean_name, as_list(data.get("completed_epics"))[:MAX_LISTED])))
    status = (
        "blocked" if phase.upper() == "BLOCKED" else "paused" if _clean_name(context.get("epic")) else "running"
    )
    return ForeignRun(SCRIPT, path, epic, "", phase, status, _modified_at(path), "", completed, pending)


def _read_pending(item: JsonObject) -> ForeignPull:
    return ForeignPull(
        _clean_name(item.get("epic")), as_count(item.get("pr_number")), _clean_name(item.get("status"))
    )


def _clean_name(value: object) -> str:
    """Bash writes empty values as the words `null` and `none`."""
    text = as_text(value).strip()
    return "" if text.lower() in ("null", "none", "[]", "{}") else text


def _modified_at(path: str) -> float:
    """The file has no timestamp of its own."""
    try:
        return os.lstat(path).st_mtime
    except OSError:
        return 0.0
