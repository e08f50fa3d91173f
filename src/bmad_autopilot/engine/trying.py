"""How often a step is tried, and how long we wait in between: read from the run's own record."""

from ..agents.backoff import PATIENCE, pause
from ..agents.outcomes import Outcome
from ..core.records import CallRecord, StepRecord

TRIES = 1  # what ended well without what it owes is called for once more, told what is missing
MAX_CALLS = 40  # of one step, whatever the causes


def tries_left(step: StepRecord | None) -> bool:
    """Each cause has a count of its own; a limit is waited for, however often."""
    counted = _counted(step) if step else []
    if not counted:
        return True
    last = counted[-1]
    return len(counted) < MAX_CALLS and _of_cause(counted, last) <= _tries(last)


def pause_until(step: StepRecord | None) -> float:
    last = step.last if step else None
    return float(last.ended.get("until") or 0.0) if last and last.ended else 0.0


def pause_for(step: StepRecord, outcome: Outcome, now: float, random: float) -> float:
    """Until when a fault that passes is given time; 0: it may be called again at once."""
    if outcome not in PATIENCE:
        return 0.0
    before = sum(_outcome(call) == outcome for call in _counted(step))
    seconds = pause(outcome, before + 1, random)
    return now + seconds if seconds else 0.0


def _counted(step: StepRecord) -> list[CallRecord]:
    return [call for call in step.calls[step.forgiven :] if call.ended is not None]


def _of_cause(calls: list[CallRecord], last: CallRecord) -> int:
    """How many ended as the last one did: without what they owe, or by the same outcome."""
    return sum((call.finding, _outcome(call)) == (last.finding, _outcome(last)) for call in calls)


def _outcome(call: CallRecord) -> str:
    return str(call.ended.get("outcome", "")) if call.ended else ""


def _tries(call: CallRecord) -> int:
    outcome = _outcome(call)
    if call.finding == "refused" and outcome in (Outcome.LIMIT, Outcome.CANCELLED):
        return MAX_CALLS
    if call.finding == "lacking" or outcome not in tuple(Outcome):
        return TRIES
    known = PATIENCE.get(Outcome(outcome))
    return known.tries if known else TRIES
