"""How often a step is tried, and how long we wait in between: read from the run's own record."""

from collections.abc import Iterator

from ..agents.backoff import PATIENCE
from ..agents.outcomes import Outcome
from ..core.records import CallRecord, StepRecord

TRIES = 2  # a call that failed is made once more, told what went wrong
MAX_CALLS = 40  # of one step, whatever the causes


def tries_left(step: StepRecord | None) -> bool:
    """Each cause has a count of its own; a limit is waited for, however often."""
    if step is None:
        return True
    counted = list(_counted(step))
    last = counted[-1] if counted else None
    if last is None:
        return True
    if len(counted) >= MAX_CALLS:
        return False
    if last.finding == "refused":
        return _refusals(counted, _outcome(last)) <= _tries(_outcome(last))
    return sum(call.finding in ("failed", "lacking") for call in counted) < TRIES


def pause_until(step: StepRecord | None) -> float:
    last = step.last if step else None
    return float(last.ended.get("until") or 0.0) if last and last.ended else 0.0


def pause_for(step: StepRecord, outcome: Outcome, now: float, random: float) -> float:
    """Until when a fault that passes is given time. Full jitter: lanes that failed together do not come back
    together."""
    patience = PATIENCE.get(outcome)
    if patience is None:
        return 0.0
    before = _refusals(list(_counted(step)), outcome)
    return now + random * min(patience.first * patience.factor**before, patience.longest)


def _counted(step: StepRecord) -> Iterator[CallRecord]:
    return (call for call in step.calls[step.forgiven :] if call.ended is not None)


def _outcome(call: CallRecord) -> str:
    return str(call.ended.get("outcome", "")) if call.ended else ""


def _refusals(calls: list[CallRecord], outcome: str) -> int:
    return sum(call.finding == "refused" and _outcome(call) == outcome for call in calls)


def _tries(outcome: str) -> int:
    if outcome in (Outcome.LIMIT, Outcome.CANCELLED):
        return MAX_CALLS
    known = PATIENCE.get(Outcome(outcome)) if outcome in tuple(Outcome) else None
    return known.tries if known else 1
