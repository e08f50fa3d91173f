"""Judges a finished attempt from its files and stores the verdict beside them.

`verdict.json` exists exactly when the attempt has been collected."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, replace

from ..core.errors import FileError
from ..io.files import write_atomic
from .adapter import Agent, AttemptVerdict, Event, KeepsSessionLog, Outcome, UsageLimit, read_events
from .attempt import AttemptResult, CallSpec, read_call_spec, read_object, read_result, spend_from_json
from .event_parsing import as_line
from .shim import attempt_files
from .shim.redact import Redactor, environment_secrets

VERDICT_FILE = "verdict.json"


def has_verdict(folder: str) -> bool:
    return os.path.exists(f"{folder}/{VERDICT_FILE}")


def judge_attempt(folder: str, agent: Agent) -> tuple[CallSpec, AttemptResult, AttemptVerdict]:
    """The attempt's spec, result and verdict, from its own files."""
    spec, result = read_call_spec(folder), read_result(folder)
    assert result is not None, folder
    events: Iterable[Event] = read_all_events(folder)
    if (
        isinstance(agent, KeepsSessionLog) and spec.launcher is None
    ):  # behind a launcher the session log is elsewhere
        events = agent.append_session_log(events, result.started_at, os.environ)
    verdict = agent.judge(events, result.ending, spec.before)
    if verdict.outcome is Outcome.CANCELLED and (why := _cancel_reason(folder)):
        verdict = replace(verdict, message=why)
    return spec, result, verdict


def _cancel_reason(folder: str) -> str:
    """The reason given with the cancellation."""
    try:
        return as_line(read_object(f"{folder}/{attempt_files.CANCEL_FILE}").get("why"))
    except FileError:
        return ""


def read_all_events(folder: str) -> list[Event]:
    return [event for event, _ in read_events(f"{folder}/{attempt_files.EVENTS}")]


def write_verdict(folder: str, verdict: AttemptVerdict) -> None:
    data = Redactor(environment_secrets(os.environ)).value(asdict(verdict))
    write_atomic(f"{folder}/{VERDICT_FILE}", json.dumps(data, indent=1).encode() + b"\n")


def read_verdict(folder: str) -> AttemptVerdict | None:
    """None if the attempt was not collected yet, or the file has an unknown form; it is then judged again."""
    try:
        data = read_object(f"{folder}/{VERDICT_FILE}")
        limit = data.get("limit")
        return AttemptVerdict(
            outcome=Outcome(data["outcome"]),
            message=str(data.get("message", "")),
            session=data.get("session"),
            limit=UsageLimit(limit["kind"], limit["resets_at"]) if limit else None,
            spend=spend_from_json(data.get("spend")),
            session_spend=spend_from_json(data.get("session_spend")),
            turns=data.get("turns"),
            denials=tuple(data.get("denials", ())),
            closing=str(data.get("closing", "")),
            model=data.get("model"),
            version=data.get("version"),
        )
    except (FileError, ValueError, LookupError, TypeError, AttributeError):
        return None
