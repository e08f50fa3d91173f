"""An attempt's verdict, worked out once from what it left and kept beside it: `verdict.json` is there exactly when
the attempt has been harvested."""

import json
import os
from collections.abc import Iterable
from dataclasses import asdict, replace

from ..core.errors import FileError
from ..files import write_atomic
from .attempts import Result, Spec, read_result, read_spec
from .events import Event, read_events
from .judging import clip
from .outcomes import Limit, Outcome, Verdict
from .protocol import Agent, KeepsRecord
from .shim import records
from .shim.redaction import Redactor, secrets_of
from .typed_records import read_object, spend_of

VERDICT = "verdict.json"


def is_harvested(folder: str) -> bool:
    return os.path.exists(f"{folder}/{VERDICT}")


def judge(folder: str, agent: Agent) -> tuple[Spec, Result, Verdict]:
    """What the attempt came to, from its own files."""
    spec, result = read_spec(folder), read_result(folder)
    assert result is not None, folder
    events: Iterable[Event] = all_events(folder)
    if isinstance(agent, KeepsRecord) and spec.launcher is None:  # behind a launcher the record is elsewhere
        events = agent.recorded(events, result.started_at, os.environ)
    verdict = agent.judge(events, result.ending, spec.before)
    if verdict.outcome is Outcome.CANCELLED and (why := _why(folder)):
        verdict = replace(verdict, message=why)
    return spec, result, verdict


def _why(folder: str) -> str:
    """What whoever cancelled it gave as the reason."""
    try:
        return clip(read_object(f"{folder}/{records.CANCEL}").get("why"))
    except FileError:
        return ""


def all_events(folder: str) -> list[Event]:
    return [event for event, _ in read_events(f"{folder}/{records.EVENTS}")]


def write_verdict(folder: str, verdict: Verdict) -> None:
    data = Redactor(secrets_of(os.environ)).value(asdict(verdict))
    write_atomic(f"{folder}/{VERDICT}", json.dumps(data, indent=1).encode() + b"\n")


def read_verdict(folder: str) -> Verdict | None:
    """None: not harvested, or not in a form we know, which is then worked out anew."""
    try:
        data = read_object(f"{folder}/{VERDICT}")
        limit = data.get("limit")
        return Verdict(
            outcome=Outcome(data["outcome"]),
            message=str(data.get("message", "")),
            session=data.get("session"),
            limit=Limit(limit["kind"], limit["resets_at"]) if limit else None,
            spend=spend_of(data.get("spend")),
            session_spend=spend_of(data.get("session_spend")),
            turns=data.get("turns"),
            denials=tuple(data.get("denials", ())),
            closing=str(data.get("closing", "")),
            model=data.get("model"),
            version=data.get("version"),
        )
    except (FileError, ValueError, LookupError, TypeError, AttributeError):
        return None
