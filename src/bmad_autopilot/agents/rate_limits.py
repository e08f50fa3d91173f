"""Parks an account that hit a usage limit until the limit resets, across all projects of this user.

Each agent's account has one small file with the time to resume. Only refusals are recorded, never warnings, and
parking costs no retry."""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from typing import NamedTuple

from ..core.backoff import backoff
from ..core.errors import Diagnostic, FileError, Location, Severity
from ..io.files import hold_lock, read_bytes, write_atomic
from .adapter import Outcome, UsageLimit

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0

FIRST_WAIT = 15 * MINUTE  # if no reset was announced
MAX_GUESS = 5 * HOUR
MAX_WAIT = 8 * DAY  # the longest real limit is a week; a later reset means a broken clock or a broken field
JITTER = (5.0, 30.0)  # seconds after the reset: not every project at once, and not before the server's own clock
CLOCK_SLACK = MINUTE

MAX_FILE = 64 * 1024
MAX_KINDS = 16

# The variable that moves a client's login folder, and the default folder: another folder is another account.
_ACCOUNTS = {
    "claude": ("CLAUDE_CONFIG_DIR", ".claude"),
    "codex": ("CODEX_HOME", ".codex"),
    "copilot": ("COPILOT_HOME", ".copilot"),
}
_AGENT = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


class ParkedAccount(NamedTuple):
    agent: str
    kind: str
    until: float
    refused_at: float
    refusals: int  # consecutive, each after the previous parking time had passed
    announced: bool = False  # a reset time was announced at least once in the series; otherwise `until` is a guess


class ParkingStatus(NamedTuple):
    """The contents of a limits file."""

    parked: ParkedAccount | None  # the limit with the latest end
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


def compute_parking(
    agent: str, previous: ParkedAccount | None, limit: UsageLimit, now: float, jitter: float
) -> ParkedAccount:
    """Compute how long to park. `previous`: the last parking for this kind of limit, if no call has completed
    since; `jitter`: from 0 to 1."""
    if previous is not None and _is_from_the_future(previous, now):
        previous = None
    pause = JITTER[0] + (JITTER[1] - JITTER[0]) * jitter
    announced = limit.resets_at
    if announced is not None and not now < announced <= now + MAX_WAIT:
        announced = None
    if previous is not None and now < previous.until:
        # This call was already running when the first was refused: the same limit, not another refusal.
        if announced is None or announced + pause <= previous.until:
            return previous
        return previous._replace(until=announced + pause, refused_at=now, announced=True)
    refusals = previous.refusals + 1 if previous is not None else 1
    if announced is not None:
        wait = announced - now
    else:
        wait = backoff(FIRST_WAIT, refusals, most=MAX_GUESS)
    if previous is not None and previous.announced:
        # Refused again after the announced time: a longer limit is in effect.
        wait = max(wait, min(2 * (previous.until - previous.refused_at), MAX_WAIT))
    is_announced = announced is not None or (previous is not None and previous.announced)
    return ParkedAccount(agent, limit.kind, now + wait + pause, now, refusals, is_announced)


def read_parked(path: str, now: float) -> ParkingStatus:
    """An unusable file parks nothing: the next refusal rewrites it."""
    entries, notes = _read(path)
    for entry in [entry for entry in entries if _is_from_the_future(entry, now)]:
        entries.remove(entry)
        notes.append(
            _warning(path, "clock-went-back", f"the {entry.kind} limit lies in the future, and is ignored")
        )
    active = [entry for entry in entries if entry.until > now]
    return ParkingStatus(max(active, key=lambda entry: entry.until, default=None), tuple(notes))


def record_refusal(
    path: str, agent: str, limit: UsageLimit, now: float, rng: Callable[[], float]
) -> ParkedAccount:
    """Park the account. Each kind of limit is stored separately: a five-hour reset does not end a weekly limit."""
    limit = UsageLimit(
        "".join(char for char in limit.kind if char.isprintable())[:64] or "unknown", limit.resets_at
    )
    with _locked_file(path):
        before = [entry for entry in _read(path)[0] if not _is_from_the_future(entry, now)]
        entries = {entry.kind: entry for entry in before}
        entries[limit.kind] = compute_parking(agent, entries.get(limit.kind), limit, now, rng())
        longest_first = sorted(entries.values(), key=lambda entry: -entry.until)
        _write(path, longest_first[:MAX_KINDS])
        return longest_first[0]


def clear_refusals(path: str, started: float, now: float) -> None:
    """Drop refusals from before `started`, when a now completed call began. Later refusals are kept."""
    if not os.path.lexists(path):
        return
    with _locked_file(path):
        later = [entry for entry in _read(path)[0] if entry.refused_at >= started]
        entries = [entry for entry in later if not _is_from_the_future(entry, now)]
        if entries:
            _write(path, entries)
        else:
            with suppress(FileNotFoundError):
                os.unlink(path)


def _is_from_the_future(entry: ParkedAccount, now: float) -> bool:
    return entry.refused_at > now + CLOCK_SLACK


@contextmanager
def _locked_file(path: str) -> Iterator[None]:
    try:
        os.makedirs(os.path.dirname(path), 0o700, exist_ok=True)
        with hold_lock(f"{path}.lock"):
            yield
    except OSError as error:
        raise FileError(f"cannot be written: {error.strerror}", location=Location(path)) from None


def _read(path: str) -> tuple[list[ParkedAccount], list[Diagnostic]]:
    if not os.path.lexists(path):
        return [], []
    try:
        data = json.loads(read_bytes(path, limit=MAX_FILE))
        rows = data["parked"]
        entries = [_parse_entry(row) for row in rows[:MAX_KINDS]]
    except (FileError, ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return [], [_warning(path, "broken-limits", "is no limits file of ours, and is ignored")]
    return [entry for entry in entries if entry], [
        _warning(path, "broken-limits", "an entry makes no sense, and is ignored")
        for entry in entries
        if entry is None
    ]


def _parse_entry(row: Mapping[str, object]) -> ParkedAccount | None:
    agent, kind, refusals = row["agent"], row["kind"], row["refusals"]
    until, refused_at = _parse_time(row["until"]), _parse_time(row["refused_at"])
    if not isinstance(agent, str) or not isinstance(kind, str) or until is None or refused_at is None:
        return None
    if isinstance(refusals, bool) or not isinstance(refusals, int) or not 1 <= refusals <= 10_000:
        return None
    if not 0 < until - refused_at <= MAX_WAIT + MINUTE:
        return None
    return ParkedAccount(agent, kind, until, refused_at, refusals, row.get("announced") is True)


def _parse_time(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < 1e12 else None


def _write(path: str, entries: list[ParkedAccount]) -> None:
    data = {"version": 1, "parked": [entry._asdict() for entry in entries]}
    write_atomic(path, json.dumps(data, indent=1).encode() + b"\n")


def _warning(path: str, code: str, message: str) -> Diagnostic:
    return Diagnostic(Severity.WARNING, code, message, Location(path), f"remove it: rm {path}")


# Retry policies. Each cause is counted separately.


class RetryPolicy(NamedTuple):
    """Delays in seconds, and the number of retries."""

    first_delay: float
    factor: float
    max_delay: float
    max_retries: int


# Transient failures are retried for hours. A failure of the agent is retried once, immediately, and the new prompt
# says what went wrong. A lost call is not the agent's fault, but a call that kills its shim every time must end.
RETRY_POLICIES: dict[Outcome, RetryPolicy] = {
    Outcome.OVERLOADED: RetryPolicy(30, 2, 1800, 12),
    Outcome.NETWORK: RetryPolicy(10, 2, 1800, 12),
    Outcome.CRASHED: RetryPolicy(0, 1, 0, 1),
    Outcome.STALLED: RetryPolicy(0, 1, 0, 1),
    Outcome.MAX_TURNS: RetryPolicy(0, 1, 0, 1),
    Outcome.LOST: RetryPolicy(2, 2, 60, 3),
}


def retry_delay(cause: Outcome, failures: int, random: float) -> float:
    """Seconds to wait after this many failures of one cause. Full jitter: lanes that failed together do not retry
    together."""
    policy = RETRY_POLICIES[cause]
    return random * backoff(policy.first_delay, failures, most=policy.max_delay, factor=policy.factor)
