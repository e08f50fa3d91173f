"""How long to wait before a failed call is tried again, and how often: one counter per cause, on disk."""

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..files import read_bytes, write_atomic
from .outcomes import Outcome

MAX_FILE = 64 * 1024
MAX_COUNT = 1000


class Patience(NamedTuple):
    """Seconds, and how often the call is tried again."""

    first: float
    factor: float
    longest: float
    tries: int


# What passes by itself is given hours. What the agent did is tried once more, told what went wrong. A lost call
# was nobody's fault, but one that takes its shim with it each time must end somewhere.
PATIENCE: dict[Outcome, Patience] = {
    Outcome.OVERLOADED: Patience(30, 2, 1800, 12),
    Outcome.NETWORK: Patience(10, 2, 1800, 12),
    Outcome.CRASHED: Patience(10, 2, 60, 1),
    Outcome.STALLED: Patience(10, 2, 60, 1),
    Outcome.MAX_TURNS: Patience(0, 1, 0, 1),
    Outcome.LOST: Patience(2, 2, 60, 3),
}


@dataclass(frozen=True)
class Pause:
    wait_until: float | None  # None: tried often enough
    count: int  # failures of this cause so far


def note_failure(path: str, cause: Outcome, now: float, rng: Callable[[], float], *, attempt: str = "") -> Pause:
    """Count one failure and say when to try again. `attempt`: its id, so that one noted again after a crash of
    ours is counted once. A limit is never counted: it is waited for."""
    assert cause in PATIENCE, cause
    causes = _read(path)
    row = causes.get(cause, {})
    if attempt and row.get("attempt") == attempt:
        return _pause(row)
    count = min(_count(row) + 1, MAX_COUNT)
    patience = PATIENCE[cause]
    wait_until = now + _wait(patience, count, rng()) if count <= patience.tries else None
    causes[cause] = {"count": count, "wait_until": wait_until, "attempt": attempt}
    _write(path, causes)
    return Pause(wait_until, count)


def read_pauses(path: str) -> dict[Outcome, Pause]:
    """What is on disk, for whoever comes after a crash."""
    return {cause: _pause(row) for cause, row in _read(path).items()}


def reset(path: str, cause: Outcome | None = None) -> None:
    """Forget one cause, or all: the step went on."""
    if not os.path.lexists(path):
        return
    causes = _read(path) if cause is not None else {}
    if cause is not None:
        causes.pop(cause, None)
    _write(path, causes)


def _wait(patience: Patience, count: int, random: float) -> float:
    """Full jitter: lanes that failed together do not come back together."""
    return random * min(patience.first * patience.factor ** (count - 1), patience.longest)


def _read(path: str) -> dict[Outcome, dict[str, Any]]:
    """Broken or foreign content counts nothing; a file that cannot be read is an error."""
    if not os.path.lexists(path):
        return {}
    try:
        data = json.loads(read_bytes(path, limit=MAX_FILE))
    except (ValueError, RecursionError):
        return {}
    rows = data.get("causes") if isinstance(data, dict) else None
    if not isinstance(rows, dict):
        return {}
    return {cause: row for cause in PATIENCE if isinstance(row := rows.get(cause.value), dict) and _count(row)}


def _pause(row: dict[str, Any]) -> Pause:
    until = row.get("wait_until")
    if isinstance(until, bool) or not isinstance(until, int | float) or not abs(until) < 1e12:
        return Pause(None, _count(row))
    return Pause(float(until), _count(row))


def _count(row: dict[str, Any]) -> int:
    count = row.get("count")
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 < count <= MAX_COUNT else 0


def _write(path: str, causes: dict[Outcome, dict[str, Any]]) -> None:
    data = {"version": 1, "causes": {cause.value: row for cause, row in causes.items()}}
    write_atomic(path, json.dumps(data, indent=1).encode() + b"\n")
