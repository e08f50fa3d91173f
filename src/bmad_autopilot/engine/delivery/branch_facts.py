"""The facts of a delivery that are seen in git: our branch beside the remote's, the base, our own checks."""

from ...core.delivery import DeliveryRecord
from ...core.facts import Base, Facts, Gate, Line, Proof, Pull
from ...core.records import Check, RunRecord
from ...github.pulls import PullState
from .plan import AGENT, LOCAL
from .said import asked_mark, decided
from .seeing import Seen

MAX_BASES = 5  # times that the base is taken in before a merge


def of_branch(facts: Facts, seen: Seen, run: RunRecord) -> Facts:
    record = run.delivery
    return facts._replace(
        pull=_pull(seen, run),
        proof=_proof(record),
        cleared=record.is_done("clear-branch"),
        line=_line(seen, run),
        base=_base(seen, record),
        gate=_gate(seen.check),
        here=not seen.elsewhere,
        rounds=_has_rounds(seen, run),
    )


def _has_rounds(seen: Seen, run: RunRecord) -> bool:
    record = run.delivery
    counted = record.rounds[record.counted_from :]
    last = run.stories.get(counted[-1].story) if counted else None
    return len(counted) < seen.plan.rounds and not (last is not None and last.skipped)


def _pull(seen: Seen, run: RunRecord) -> Pull:
    record = run.delivery
    if seen.plan.kind == LOCAL:
        return Pull.MERGED if seen.is_in else Pull.OPEN
    if seen.pull is None:
        return Pull.NONE
    if seen.pull.state is PullState.CLOSED:
        is_wanted = decided(run, "closed", str(seen.pull.number)) == "reopen"
        return (
            Pull.WANTED if is_wanted and not record.is_done("reopen", asked_mark(run, "closed")) else Pull.CLOSED
        )
    return Pull.OPEN if seen.pull.state is PullState.OPEN else Pull.MERGED


def _proof(record: DeliveryRecord) -> Proof:
    return {"": Proof.NONE, "differs": Proof.DIFFERS}.get(record.proof, Proof.SAME)


def _line(seen: Seen, run: RunRecord) -> Line:
    """Only what we have put there, or were told to take over, is ours to go on from."""
    record = run.delivery
    if not seen.is_ours:
        return _foreign(seen, run)
    if seen.plan.kind == LOCAL or (seen.remote == record.head and record.is_done("push", record.head)):
        return Line.EVEN
    if seen.remote == record.head:
        return Line.AHEAD  # it is there, and nobody has written that down: what it is reviewed by hangs on it
    if seen.remote in ("", record.pushed) or (not record.pushed and seen.remote in record.known):
        return Line.AHEAD
    return _foreign(seen, run)


def _foreign(seen: Seen, run: RunRecord) -> Line:
    """Who has just resolved a conflict as we told them has pushed it, too; what comes later is another thing."""
    is_news = len(run.answers) > run.delivery.heard
    is_resolved = is_news and run.answers[-1].get("code") == "base-conflict"
    is_allowed = is_resolved or decided(run, "foreign", foreign_key(seen)) == "take-over"
    return Line.ALLOWED if is_allowed else Line.FOREIGN


def foreign_key(seen: Seen) -> str:
    """What was found there: more of it later is another question."""
    return f"{seen.remote}:{seen.local}"


def _base(seen: Seen, record: DeliveryRecord) -> Base:
    if seen.taken is None or (seen.is_stacked and not seen.taken.sha):  # met once the epic before it is merged
        return Base.IN
    if not seen.taken.sha:
        return Base.MENDABLE if seen.plan.conflicts == AGENT else Base.CONFLICT
    return Base.MOVED if record.bases < MAX_BASES else Base.RESTLESS


def _gate(check: Check | None) -> Gate:
    if check is None:
        return Gate.DUE
    if check.passed:
        return Gate.PASSED
    return Gate.ENVIRONMENT if check.environment else Gate.CODE
