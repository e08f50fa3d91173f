"""Usage limits: an account that was refused is left alone until its limit resets, in all projects of this user.

Each agent's account has one small file with the time to wake up. A warning never comes here, and parking costs no
retry."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import FileError, Place
from ..files import locked, read_bytes, write_atomic
from .outcomes import Limit

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0

FIRST_WAIT = 15 * MINUTE  # where no reset was announced
LONGEST_GUESS = 5 * HOUR
LONGEST = 8 * DAY  # the longest real limit is a week; what is announced beyond is a broken clock or a broken field
JITTER = (5.0, 30.0)  # seconds after the reset: not every project at once, and not before the server's own clock
CLOCK_SLACK = MINUTE

MAX_FILE = 64 * 1024
MAX_KINDS = 16

# Where a client's login lies, if not in its usual folder: another folder is another account.
_ACCOUNTS = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "copilot": ("COPILOT_HOME", ".copilot"),
}
_AGENT = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


class Parked(NamedTuple):
    agent: str
    kind: str
    until: float
    refused_at: float
    refusals: int  # in a row, each after the time the one before had named
    announced: bool = False  # a reset was named at least once in that row; else the time is a guess


class Parking(NamedTuple):
    """What a limits file says."""

    parked: Parked | None  # the one that holds longest
    diagnostics: tuple[Diagnostic, ...] = ()


def limits_folder(environment: Mapping[str, str]) -> str:
    state = environment.get("XDG_STATE_HOME", "")
    if not os.path.isabs(state):  # the XDG rules: a relative path counts as unset
        state = os.path.join(environment.get("HOME") or os.path.expanduser("~"), ".local", "state")
    return os.path.join(state, "bmad-autopilot", "limits")


def limits_file(folder: str, agent: str, environment: Mapping[str, str]) -> str:
    """The file of the account this agent uses in this environment."""
    assert _AGENT.fullmatch(agent), agent
    variable, usual = _ACCOUNTS.get(agent, ("", ""))
    chosen = environment.get(variable, "") if variable else ""
    home = environment.get("HOME") or os.path.expanduser("~")
    if not chosen or os.path.realpath(chosen) == os.path.realpath(os.path.join(home, usual)):
        return f"{folder}/{agent}.json"
    return f"{folder}/{agent}-{sha256(os.fsencode(os.path.realpath(chosen))).hexdigest()[:12]}.json"


def park(agent: str, before: Parked | None, limit: Limit, now: float, jitter: float) -> Parked:
    """`before`: how this kind of limit was parked last, if no call has completed since; `jitter`: from 0 to 1."""
    if before is not None and _is_from_the_future(before, now):
        before = None
    pause = JITTER[0] + (JITTER[1] - JITTER[0]) * jitter
    announced = limit.resets_at
    if announced is not None and not now < announced <= now + LONGEST:
        announced = None
    if before is not None and now < before.until:
        # Calls that were under way when the first was refused: the same limit, not another refusal.
        if announced is None or announced + pause <= before.until:
            return before
        return before._replace(until=announced + pause, refused_at=now, announced=True)
    refusals = before.refusals + 1 if before is not None else 1
    if announced is not None:
        wait = announced - now
    else:
        wait = min(FIRST_WAIT * 2.0 ** min(refusals - 1, 10), LONGEST_GUESS)
    if before is not None and before.announced:
        # Refused after the time that was named: a longer limit lies behind it.
        wait = max(wait, min(2 * (before.until - before.refused_at), LONGEST))
    named = announced is not None or (before is not None and before.announced)
    return Parked(agent, limit.kind, now + wait + pause, now, refusals, named)


def read_parked(path: str, now: float) -> Parking:
    """A file that cannot be used parks nothing: the next call is refused again and mends it."""
    entries, notes = _read(path)
    for entry in [entry for entry in entries if _is_from_the_future(entry, now)]:
        entries.remove(entry)
        notes.append(_note(path, "clock-went-back", f"the {entry.kind} limit lies in the future, and is ignored"))
    held = [entry for entry in entries if entry.until > now]
    return Parking(max(held, key=lambda entry: entry.until, default=None), tuple(notes))


def record_refusal(path: str, agent: str, limit: Limit, now: float, rng: Callable[[], float]) -> Parked:
    """Park the account. Each kind of limit is kept for itself: a five-hour reset does not end a weekly one."""
    limit = Limit("".join(char for char in limit.kind if char.isprintable())[:64] or "unknown", limit.resets_at)
    with _held(path):
        before = [entry for entry in _read(path)[0] if not _is_from_the_future(entry, now)]
        entries = {entry.kind: entry for entry in before}
        entries[limit.kind] = park(agent, entries.get(limit.kind), limit, now, rng())
        longest_first = sorted(entries.values(), key=lambda entry: -entry.until)
        _write(path, longest_first[:MAX_KINDS])
        return longest_first[0]


def clear(path: str, started: float, now: float) -> None:
    """A call that began at `started` has completed: what was refused before is over. A later refusal stands."""
    if not os.path.lexists(path):
        return
    with _held(path):
        later = [entry for entry in _read(path)[0] if entry.refused_at >= started]
        entries = [entry for entry in later if not _is_from_the_future(entry, now)]
        if entries:
            _write(path, entries)
        else:
            with suppress(FileNotFoundError):
                os.unlink(path)


def _is_from_the_future(entry: Parked, now: float) -> bool:
    return entry.refused_at > now + CLOCK_SLACK


@contextmanager
def _held(path: str) -> Iterator[None]:
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with locked(f"{path}.lock"):
            yield
    except OSError as error:
        raise FileError(f"cannot be written: {error.strerror}", place=Place(path)) from None


def _read(path: str) -> tuple[list[Parked], list[Diagnostic]]:
    if not os.path.lexists(path):
        return [], []
    try:
        data = json.loads(read_bytes(path, limit=MAX_FILE))
        rows = data["parked"]
        entries = [_entry(row) for row in rows[:MAX_KINDS]]
    except (FileError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return [], [_note(path, "broken-limits", "is no limits file of ours, and is ignored")]
    return [entry for entry in entries if entry], [
        _note(path, "broken-limits", "an entry makes no sense, and is ignored")
        for entry in entries
        if entry is None
    ]


def _entry(row: Mapping[str, object]) -> Parked | None:
    agent, kind, refusals = row["agent"], row["kind"], row["refusals"]
    until, refused_at = _time(row["until"]), _time(row["refused_at"])
    if not isinstance(agent, str) or not isinstance(kind, str) or until is None or refused_at is None:
        return None
    if isinstance(refusals, bool) or not isinstance(refusals, int) or not 1 <= refusals <= 10_000:
        return None
    if not 0 < until - refused_at <= LONGEST + MINUTE:
        return None
    return Parked(agent, kind, until, refused_at, refusals, row.get("announced") is True)


def _time(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e12 else None


def _write(path: str, entries: list[Parked]) -> None:
    data = {"version": 1, "parked": [entry._asdict() for entry in entries]}
    write_atomic(path, json.dumps(data, indent=1).encode() + b"\n")


def _note(path: str, code: str, message: str) -> Diagnostic:
    return Diagnostic(Severity.WARNING, code, message, Place(path), f"remove it: rm {path}")
