"""The facts of a delivery that are seen in git: our branch beside the remote's, the base, our own checks."""

from ...core.delivery import DeliveryRecord
from ...core.facts import Base, Facts, Gate, Line, Proof, Pull
from ...core.records import Check, RunRecord
from ...github.pulls import PullState
from .lines import Lines
from .plan import AGENT, LOCAL
from .said import asked_at, asked_mark, decided
from .seeing import Seen

MAX_BASES = 5  # times that the base is taken in before a merge


def of_branch(lines: Lines, facts: Facts, seen: Seen, run: RunRecord) -> Facts:
    record = run.delivery
    return facts._replace(
        pull=_pull(seen, run),
        proof=_proof(record),
        cleared=record.is_done("clear-branch"),
        line=_line(lines, seen, run),
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
    if seen.pull.state is PullState.MERGED:
        return Pull.MERGED
    return Pull.RETARGETED if _is_retargeted(seen, seen.pull.base_ref, run) else Pull.OPEN


def _is_retargeted(seen: Seen, base: str, run: RunRecord) -> bool:
    """To a branch that is not where it should go, and that we have not set it to either. Of one that others have
    opened, those of its stack are as good as ours."""
    aims = [one for name, one in run.delivery.done.items() if name.startswith(("open-pull:", "retarget:"))]
    last = max(aims, key=lambda one: float(one["at"]), default={})
    ours = str(last.get("base", ""))
    if base in (seen.target, *((ours,) if ours else (seen.plan.base, seen.plan.onto))):
        return False
    is_told = asked_at(run, "retargeted", aim_key(seen)) > float(last.get("at", 0.0))
    return not (is_told and decided(run, "retargeted", aim_key(seen)) == "retarget")


def aim_key(seen: Seen) -> str:
    return f"{seen.pull.base_ref if seen.pull else ''}:{seen.target}"


def _proof(record: DeliveryRecord) -> Proof:
    return {"": Proof.NONE, "differs": Proof.DIFFERS}.get(record.proof, Proof.SAME)


def _line(lines: Lines, seen: Seen, run: RunRecord) -> Line:
    """Only what we have put there, or were told to take over, is ours to go on from."""
    record = run.delivery
    if not seen.is_ours:
        return _foreign(lines, seen, run)
    if seen.plan.kind == LOCAL or (seen.remote == record.head and record.is_done("push", record.head)):
        return Line.EVEN
    if seen.remote == record.head:
        return Line.AHEAD  # it is there, and nobody has written that down: what it is reviewed by hangs on it
    return Line.AHEAD if _is_left_by_us(seen.remote, record) else _foreign(lines, seen, run)


def _is_left_by_us(remote: str, record: DeliveryRecord) -> bool:
    return remote in ("", record.pushed) or (not record.pushed and remote in record.known)


def _foreign(lines: Lines, seen: Seen, run: RunRecord) -> Line:
    is_told = decided(run, "foreign", foreign_key(seen)) == "take-over"
    return Line.ALLOWED if is_told or _is_resolved(lines, seen, run) else Line.FOREIGN


def _is_resolved(lines: Lines, seen: Seen, run: RunRecord) -> bool:
    """Who has just resolved a conflict as we told them has pushed it, too: all that is new holds ours and the base
    that it was with. What comes later is another thing."""
    record = run.delivery
    said = run.answers[-1] if len(run.answers) > record.heard else {}
    if said.get("code") != "base-conflict":
        return False
    base = str(said.get("key", "")).partition(":")[2]
    there = [] if seen.remote == record.head or _is_left_by_us(seen.remote, record) else [seen.remote]
    here = [] if seen.is_ours else [seen.local]
    return bool(base) and all(lines.contains(one, held) for one in (*there, *here) for held in (record.head, base))


def conflict_key(seen: Seen, record: DeliveryRecord) -> str:
    return f"{record.head}:{seen.base}"


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
