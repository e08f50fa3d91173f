"""Helpers shared by all adapters: defensive access to a client's JSON, verdicts for calls without a result event,
and the formatting of events as readable lines."""

import math
import re
import signal
import time
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any, Self

from ..core.text import one_line
from .adapter import ERROR, JSON, TEXT, AttemptVerdict, Event, Outcome, ProcessEnding, Spend, Tokens
from .shim import attempt_files

MAX_MESSAGE = 300
MAX_CLOSING = 20_000
MAX_LISTED = 20
MAX_TIMESTAMP = 100_000_000_000.0  # a larger value is not a time in seconds

_SESSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")

# These endings decide the verdict whatever the agent printed: the call was cancelled, or could not be done at all.
DECISIVE_ENDINGS = (attempt_files.CANCEL, attempt_files.GUARD, attempt_files.NO_START)

# Endings that the agent did not cause itself.
_VERDICT_BY_ENDING = {
    attempt_files.TIME_LIMIT: (Outcome.TIMED_OUT, "stopped at its time limit"),
    attempt_files.STALL: (Outcome.STALLED, "stopped: no progress"),
    attempt_files.CANCEL: (Outcome.CANCELLED, "cancelled"),
    attempt_files.GUARD: (Outcome.SKILL_MISSING, "the agent does not have the skill this step needs"),
    attempt_files.NO_START: (Outcome.MISCONFIGURED, "could not be started"),
    attempt_files.LOST: (Outcome.LOST, "nobody saw how it ended"),
}


def verdict_from_ending(ending: ProcessEnding, stderr: Iterable[str] = ()) -> AttemptVerdict:
    """The verdict on a call whose output has no result event."""
    outcome, message = _VERDICT_BY_ENDING.get(
        ending.cause, (Outcome.CRASHED, _most_informative_line(stderr) or _describe_ending(ending))
    )
    return AttemptVerdict(outcome, as_line((outcome is Outcome.MISCONFIGURED and ending.problem) or message))


def _most_informative_line(texts: Iterable[str]) -> str:
    """The first line about the failure. On a slow machine Copilot (1.0.102) may begin with how long it took to
    unpack itself, and a traceback names its cause last."""
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("Package extraction took ")]
    return (lines[-1] if lines[0].startswith("Traceback ") else lines[0]) if lines else ""


def first_nonempty_line(texts: Iterable[str]) -> str:
    return next((line.strip() for text in texts for line in text.splitlines() if line.strip()), "")


def as_line(value: object, limit: int = MAX_MESSAGE) -> str:
    """A text as one printable line; empty for anything else."""
    return one_line(value, limit) if isinstance(value, str) else ""


def get_dict(value: object, *keys: str) -> dict[str, Any]:
    """The dict at this path of keys; empty if there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def as_str(value: object) -> str:
    return value if isinstance(value, str) else ""


def as_number(value: object) -> float | None:
    """A finite number; None for booleans, NaN and anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def as_count(value: object) -> int:
    """A non-negative integer; 0 for anything that is not a number."""
    return max(0, int(as_number(value) or 0))


def as_session_id(value: object) -> str | None:
    """A conversation's id, if it is safe as an argument."""
    return value if isinstance(value, str) and _SESSION.fullmatch(value) else None


def add_spend(before: Spend, more: Spend) -> Spend:
    """The sum of two spends, for clients that report each call separately."""
    known = [spend.dollars for spend in (before, more) if spend.dollars is not None]
    tokens = [getattr(before.tokens, field.name) + getattr(more.tokens, field.name) for field in fields(Tokens)]
    return Spend(sum(known) if known else None, Tokens(*tokens))


def format_time(value: object) -> str:
    """Seconds since 1970 as readable UTC time; empty if the value is not a time."""
    seconds = as_number(value)
    if seconds is None or not 0 < seconds < MAX_TIMESTAMP:
        return ""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def format_plain_event(event: Event) -> list[str]:
    """Format an event that is not JSON: the line itself, labelled with its source unless that is stdout."""
    line = as_line(event.data)
    if not line:
        return []
    return [line if event.kind == TEXT else f"[{event.kind}] {line}"]


def _describe_ending(ending: ProcessEnding) -> str:
    if ending.cause == attempt_files.SIGNAL:
        return "told to end from outside"
    if ending.signal is not None:
        return f"ended by {_signal_name(ending.signal)}"
    if ending.code is not None:
        return f"exit code {ending.code} and not a word"
    return "ended without a word"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


# Event accumulators consume events one by one, so that a night's worth of them is never held in memory.

_MAX_STDERR = 20
_COLOURS = re.compile(r"\x1b\[[0-9;]*m")


@dataclass
class EventAccumulator:
    """What matters of the events so far; each adapter's subclass extracts it from the client's JSON."""

    stderr: list[str] = field(default_factory=list)  # only for messages

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self:
        accumulator = cls()
        for event in events:
            accumulator.add_event(event)
        return accumulator

    def add_event(self, event: Event) -> None:
        if event.kind == JSON and isinstance(event.data, dict):
            self.add_json(event.data)
        elif event.kind == ERROR and isinstance(event.data, str) and len(self.stderr) < _MAX_STDERR:
            self.stderr.append(_COLOURS.sub("", event.data))

    def add_json(self, data: dict[str, Any]) -> None:
        """Process one JSON event of the client. Unknown events are ignored."""
        raise NotImplementedError


# Formatting for the live view: messages, tool calls, failures.

MAX_LINES = 6  # of one message
MAX_LINE = 160

# The most informative arguments of a tool call, best first; some clients write file_path, others filePath.
_SUMMARY_KEYS = (
    *("command", "file_path", "filePath", "path", "skill", "name", "pattern", "query", "url", "description"),
)


def format_prose(text: str) -> list[str]:
    """The first lines of an agent's message."""
    written = [line for line in text[: 100 * MAX_LINE].splitlines() if line.strip()]
    more = [f"… {len(written) - MAX_LINES} more lines"] if len(written) > MAX_LINES else []
    return [as_line(line, MAX_LINE) for line in written[:MAX_LINES]] + more


def format_tool_call(name: object, arguments: dict[str, Any]) -> str:
    """`bash  npm test`."""
    return f"{as_line(name, 40) or 'tool'}  {summarize_input(arguments)}".rstrip()


def summarize_input(arguments: dict[str, Any]) -> str:
    """The one argument that best describes a tool call."""
    return next((text for key in _SUMMARY_KEYS if (text := as_line(arguments.get(key), MAX_LINE))), "")


def format_failure(why: object) -> str:
    return f"  failed: {as_line(why, MAX_LINE)}".rstrip(": ")


# API failures by HTTP status: the one field that every client passes on unchanged.

_OUTCOME_BY_STATUS = {
    401: Outcome.AUTH,
    402: Outcome.BILLING,
    403: Outcome.AUTH,
    404: Outcome.MISCONFIGURED,  # no such model, or no such address
    408: Outcome.NETWORK,
    413: Outcome.PROMPT_TOO_LONG,
    429: Outcome.LIMIT,
}


def outcome_for_status(status: object) -> Outcome:
    """CRASHED for a missing status and for one that needs no special reaction."""
    known = as_number(status)
    if known is not None and 500 <= known < 600:
        return Outcome.OVERLOADED
    return _OUTCOME_BY_STATUS.get(int(known), Outcome.CRASHED) if known is not None else Outcome.CRASHED
