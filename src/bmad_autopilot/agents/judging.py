"""What all adapters share when they judge: careful access to what a client printed, and the endings without
a word from it."""

import math
import re
import signal
import time
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

from .events import TEXT, Event
from .outcomes import Outcome, Spend, Tokens, Verdict
from .protocol import Ending
from .shim import endings

MAX_MESSAGE = 300
MAX_CLOSING = 20_000
MAX_LISTED = 20
LATEST = 100_000_000_000.0  # a later moment is no time in seconds

_SESSION = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,99}")

# These stand whatever the agent still said: somebody stopped it, or it could not do what it was asked.
OVERRULING = (endings.CANCEL, endings.GUARD, endings.NO_START)

# Ends that were no doing of the agent's.
_ENDED_BY = {
    endings.TIME_LIMIT: (Outcome.TIMED_OUT, "stopped at its time limit"),
    endings.STALL: (Outcome.STALLED, "stopped: no progress"),
    endings.CANCEL: (Outcome.CANCELLED, "cancelled"),
    endings.GUARD: (Outcome.SKILL_MISSING, "the agent does not have the skill this step needs"),
    endings.NO_START: (Outcome.MISCONFIGURED, "could not be started"),
    endings.LOST: (Outcome.LOST, "nobody saw how it ended"),
}


def by_ending(ending: Ending, stderr: Iterable[str] = ()) -> Verdict:
    """The verdict on a call that left no word of its own on how it went."""
    outcome, message = _ENDED_BY.get(ending.by, (Outcome.CRASHED, _telling_line(stderr) or _how(ending)))
    return Verdict(outcome, clip((outcome is Outcome.MISCONFIGURED and ending.problem) or message))


def _telling_line(texts: Iterable[str]) -> str:
    """The first that is about what went wrong: Copilot (1.0.102) may begin with how long it took to unpack itself
    on a slow machine, and a traceback tells its cause last."""
    lines = [line.strip() for text in texts for line in text.splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith("Package extraction took ")]
    return (lines[-1] if lines[0].startswith("Traceback ") else lines[0]) if lines else ""


def first_line(texts: Iterable[str]) -> str:
    return next((line.strip() for text in texts for line in text.splitlines() if line.strip()), "")


def clip(text: object, most: int = MAX_MESSAGE) -> str:
    """One line, bounded, without control characters."""
    if not isinstance(text, str):
        return ""
    flat = " ".join("".join(c if c.isprintable() else " " for c in text[: 4 * most]).split())
    return flat if len(flat) <= most else flat[: most - 1] + "…"


def mapping(value: object, *keys: str) -> dict[str, Any]:
    """The object found under these keys, one below the other; an empty one where there is none."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def listing(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def string(value: object) -> str:
    return value if isinstance(value, str) else ""


def number(value: object) -> float | None:
    """A finite number that is none of JSON's booleans or NaN."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def count(value: object) -> int:
    """A number of things; 0 where it is none."""
    return max(0, int(number(value) or 0))


def session(value: object) -> str | None:
    """A conversation's name, if it can be a word of argv."""
    return value if isinstance(value, str) and _SESSION.fullmatch(value) else None


def added(before: Spend, more: Spend) -> Spend:
    """For clients that count each call by itself."""
    known = [spend.dollars for spend in (before, more) if spend.dollars is not None]
    tokens = [getattr(before.tokens, field.name) + getattr(more.tokens, field.name) for field in fields(Tokens)]
    return Spend(sum(known) if known else None, Tokens(*tokens))


def moment(value: object) -> str:
    """Seconds since 1970 as a time a person reads; nothing where it is none."""
    seconds = number(value)
    if seconds is None or not 0 < seconds < LATEST:
        return ""
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))


def plain_lines(event: Event) -> list[str]:
    """What is no JSON of the client's: a bare line, and where it comes from unless it is its output."""
    line = clip(event.data)
    if not line:
        return []
    return [line if event.kind == TEXT else f"[{event.kind}] {line}"]


def _how(ending: Ending) -> str:
    if ending.by == endings.SIGNAL:
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
