"""How things stand with an epic on its way to the base branch, as facts of the table."""

from collections.abc import Iterable, Mapping
from typing import Any

from ...core.delivery import DeliveryRecord
from ...core.facts import (
    Base,
    Ci,
    Delivery,
    Epic,
    Facts,
    Forge,
    Gate,
    Line,
    Merge,
    Proof,
    Pull,
    Question,
    Review,
    Target,
    Threads,
)
from ...core.records import Check, RunRecord
from ...github.approval import APPROVE, Rules, approvals, ci, is_reviewed, judge, objections
from ...github.approving import evaluate
from ...github.forge import COPILOT as COPILOT_LOGIN
from ...github.forge import ForgeError, Trouble
from ...github.pulls import PullState, RemoteCheck
from ..doors import Doors
from ..lane import Lane
from ..looking import DeliveryLook, Look
from .lines import Lines
from .plan import AGENT, AUTO, COPILOT, HUMAN, LOCAL, MANUAL, WHEN_APPROVED
from .seeing import LAG, SETTLES, Seen, see
from .threads import FIXED, Point, decided, points_of, worst

MAX_BASES = 5  # times that the base is taken in before a merge
MAX_TROUBLES = 10  # times that an effect is tried without an answer: an hour in all
AGAIN = 60.0  # seconds after which a forge that is away is asked again
ELSEWHERE = 600.0  # after which it is looked whether what was merged into another branch has come to the base
PASSING = (Trouble.AWAY, Trouble.LIMIT)


def observe_delivery(doors: Doors, lane: Lane, run: RunRecord, facts: Facts) -> Look:
    facts = facts._replace(delivery=Delivery.ON, target=Target.OVER, epic=Epic.UNLISTED)
    if facts.stop or facts.pause or facts.question is not Question.NONE:
        return Look(facts, subject=lane.key)
    now = doors.now()
    unsettled = _unsettled(run.delivery, now)
    if unsettled:
        return Look(facts._replace(forge=Forge.AWAY), subject=lane.key, until=unsettled)
    try:
        seen = see(doors, lane, run.delivery, run.checks)
    except ForgeError as error:
        return _blind(lane, facts, error, now)
    if seen.unseen and now < seen.unseen + AGAIN:
        return Look(facts._replace(forge=Forge.AWAY), subject=lane.key, until=now + LAG)
    if seen.pull is not None and seen.pull.state is PullState.MERGED and not seen.is_in:
        again = now + (LAG if now < seen.pull.merged_at + AGAIN else ELSEWHERE)
        why = f"{seen.pull.base_ref} does not hold what was merged"
        return Look(facts._replace(forge=Forge.AWAY), subject=lane.key, until=again, why=why)
    points = _points(doors.lines(), seen, run)
    facts = _of_branch(facts, seen, run)
    refused = _refused(facts, run.delivery)
    if refused:
        return Look(facts._replace(forge=Forge.REFUSED), subject=lane.key, why=refused)
    if seen.plan.kind == LOCAL:
        merge = Merge.MANUAL if seen.plan.merge == MANUAL else Merge.FREE
        facts = facts._replace(ci=Ci.GREEN, review=Review.ENOUGH, merge=merge)
    elif facts.pull is Pull.OPEN:
        facts = _of_pull(facts, seen, run, points, now)
    until = _until(facts, seen, run, now)
    return Look(
        facts,
        subject=lane.key,
        until=until,
        why=_why(doors.lines(), facts, seen),
        delivery=DeliveryLook(seen, points),
    )


def _unsettled(record: DeliveryRecord, now: float) -> float:
    """Until when an effect whose answer is lost may still not be seen; 0: nothing of the kind."""
    waits = [float(one["at"]) + _settles(record, name) for name, one in record.begun.items()]
    return max((until for until in waits if until > now), default=0.0)


def _settles(record: DeliveryRecord, name: str) -> float:
    """Longer each time: what fails again and again holds nobody else up."""
    times = int(record.troubles.get(name, {}).get("times", 0))
    return SETTLES * float(2 ** min(max(times - 1, 0), 6))


def _blind(lane: Lane, facts: Facts, error: ForgeError, now: float) -> Look:
    if error.trouble in PASSING:
        until = max(error.until, now + AGAIN)
        return Look(facts._replace(forge=Forge.AWAY), subject=lane.key, until=until, why=str(error))
    return Look(facts._replace(forge=Forge.REFUSED), subject=lane.key, why=str(error))


def _points(lines: Lines, seen: Seen, run: RunRecord) -> list[Point]:
    """What is said to be fixed by a commit that is not on the head is not fixed."""
    found = points_of(seen.pull, run, seen.plan.trusted, seen.viewer) if seen.pull else []
    return [
        point._replace(due=Threads.OPEN) if _is_empty_word(lines, point, run.delivery.head) else point
        for point in found
    ]


def _is_empty_word(lines: Lines, point: Point, head: str) -> bool:
    if point.due not in (Threads.REPLY, Threads.RESOLVE) or not point.answer:
        return False
    return point.answer["answer"] == FIXED and not (point.commit and lines.contains(head, point.commit))


def _refused(facts: Facts, record: DeliveryRecord) -> str:
    """An effect that the forge would not let us have, and that is still wanted."""
    wanted = {"open-pull": facts.pull is Pull.NONE, "push": facts.line is Line.AHEAD}
    hopeless = {name: str(one["why"]) for name, one in record.troubles.items() if one["times"] >= MAX_TROUBLES}
    named = {**record.failed, **hopeless}
    return next((why for name, why in named.items() if wanted.get(name.partition(":")[0], True)), "")


def _of_branch(facts: Facts, seen: Seen, run: RunRecord) -> Facts:
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


def asked_mark(run: RunRecord, code: str) -> str:
    """How often that was answered: what an answer allows is done once."""
    return str(sum(one.get("code") == code for one in run.answers))


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


def _of_pull(facts: Facts, seen: Seen, run: RunRecord, points: list[Point], now: float) -> Facts:
    assert seen.pull is not None
    record = run.delivery
    labels = {label.casefold() for label in seen.pull.labels}
    return facts._replace(
        labelled=record.is_done("label") or {label.casefold() for label in seen.plan.labels} <= labels,
        aim=seen.pull.base_ref == seen.target,
        ci=_ci(seen, run, now),
        review=_review(seen, run, now),
        threads=worst(points),
        merge=_in_time(_merge(seen, run), seen, run, now),
        robot=not _is_robot_due(seen, run, now),
    )


def _ci(seen: Seen, run: RunRecord, now: float) -> Ci:
    assert seen.pull is not None
    record, head = run.delivery, run.delivery.head
    is_seen = seen.pull.head == head  # of an older head nothing counts: the forge merges what it has then
    word = ci(seen.checks, _appear_since(seen, record), now, seen.plan.grace) if is_seen else "pending"
    if word == "green":
        return Ci.GREEN
    if word == "none":
        is_fine = not seen.plan.checks or decided(run, "no-checks", seen.branch) == "without-checks"
        return Ci.GREEN if is_fine else Ci.NONE
    if word == "pending":
        return Ci.LATE if now >= _checks_since(run) + seen.plan.check_patience else Ci.PENDING
    if word == "red":
        again = any(check.job or check.run for check in seen.broken)
        return Ci.FLAKY if seen.plan.reruns and again and not _is_rerun(seen, record) else Ci.RED
    return Ci.STOPPED


def _is_rerun(seen: Seen, record: DeliveryRecord) -> bool:
    """Where nobody wrote down that it was done, those that failed are others by now."""
    begun = record.begun.get(f"rerun:{record.head}")
    return record.is_done("rerun", record.head) or (
        begun is not None and begun.get("jobs") != jobs_of(seen.broken)
    )


def jobs_of(checks: Iterable[RemoteCheck]) -> list[int]:
    return sorted(one.job or one.run for one in checks)


def _appear_since(seen: Seen, record: DeliveryRecord) -> float:
    """Most checks begin with the pull request, and not with the push before it."""
    if seen.pull is None:
        return record.pushed_at
    opened = [float(one["at"]) for name, one in record.done.items() if name.startswith("reopen:")]
    return max(record.pushed_at or seen.pull.pushed, seen.pull.created, *opened)


def _checks_since(run: RunRecord) -> float:
    """What we did not push ourselves counts from when we took it up."""
    record = run.delivery
    again = record.done.get(f"rerun:{record.head}", {}).get("at", 0.0)
    return max(record.pushed_at or record.began, float(again), asked_at(run, "ci-late", record.head))


def asked_at(run: RunRecord, code: str, key: str) -> float:
    """When somebody answered that it should be waited for, for the last time."""
    said = [one for one in run.answers if one.get("code") == code and one.get("key") == key]
    return float(said[-1].get("at", 0.0)) if said else 0.0


def _review(seen: Seen, run: RunRecord, now: float) -> Review:
    record, content = run.delivery, seen.content or (run.delivery.head,)
    if seen.plan.review != COPILOT or is_reviewed(seen.reviews, COPILOT_LOGIN, content):
        return Review.ENOUGH
    first = content[-1]  # the head that brought the content
    if decided(run, "silence", first) == "without-review":
        return Review.ENOUGH
    if record.is_done("no-review"):  # it cannot be asked for: somebody's approval is what counts then
        if seen.plan.merge != AUTO:
            return Review.ENOUGH
        waits = now < asked_at(run, "silence", first) + seen.plan.review_patience
        return Review.WAITED if waits else Review.SILENT
    asked = _asked_for(seen, record, first)
    if asked is None:
        return Review.DUE
    since = max(float(asked["at"]), asked_at(run, "silence", first))
    return Review.SILENT if now >= since + seen.plan.review_patience else Review.WAITED


def _asked_for(seen: Seen, record: DeliveryRecord, head: str) -> Mapping[str, Any] | None:
    """Our asking for a review; where nobody wrote down that it was done, the forge says so."""
    name = f"request-review:{head}"
    is_seen = seen.pull is not None and COPILOT_LOGIN in seen.pull.requested
    return record.done.get(name) or (record.begun.get(name) if is_seen else None)


def _merge(seen: Seen, run: RunRecord) -> Merge:
    pull, plan = seen.pull, seen.plan
    assert pull is not None
    if pull.is_queued:
        return Merge.QUEUED
    if pull.is_draft or plan.merge == MANUAL or seen.is_stacked:
        return Merge.MANUAL
    if not _is_approved(seen, run) or objections(seen.reviews):
        return Merge.UNAPPROVED
    refused = run.delivery.done.get(f"merge-refused:{run.delivery.head}:{seen.base}", {})
    is_refused = refused.get("mark") == asked_mark(run, "merge-refused")  # nobody has said since: try again
    return Merge.REFUSED if is_refused else Merge.FREE


def _is_robot_due(seen: Seen, run: RunRecord, now: float) -> bool:
    """The workflow would approve it, and has not: GitHub may hold back what Copilot's review starts."""
    if not seen.has_robot or seen.pull is None or run.delivery.is_done("start-robot", run.delivery.head):
        return False
    content, since = seen.content or (run.delivery.head,), _content_since(seen, run)
    pull = seen.pull._replace(pushed=run.delivery.pushed_at or seen.pull.pushed)  # we know that better
    ruling = judge(evaluate(pull, now, seen.files, content=content, pushed=since), Rules())
    return ruling.word == APPROVE and not ruling.is_standing


def _content_since(seen: Seen, run: RunRecord) -> float:
    first = (seen.content or (run.delivery.head,))[-1]
    return float(run.delivery.done.get(f"push:{first}", {}).get("at", run.delivery.pushed_at))


def _in_time(merge: Merge, seen: Seen, run: RunRecord, now: float) -> Merge:
    """A person's turn is waited for, but not for ever. What stands on another epic is nobody's turn."""
    is_theirs = merge in (Merge.UNAPPROVED, Merge.MANUAL) and not seen.is_stacked
    return Merge.LATE if is_theirs and now >= _approval_ends(seen, run) else merge


def _approval_ends(seen: Seen, run: RunRecord) -> float:
    since = max(run.delivery.pushed_at or run.delivery.began, asked_at(run, "approval-late", run.delivery.head))
    return since + seen.plan.approval_patience


def _is_approved(seen: Seen, run: RunRecord) -> bool:
    plan = seen.plan
    if plan.merge != WHEN_APPROVED and plan.review != HUMAN:
        return True
    given = approvals(seen.reviews, seen.content or (run.delivery.head,), seen.files)
    return any(not one.is_bot for one in given) if plan.review == HUMAN else bool(given)


def _until(facts: Facts, seen: Seen, run: RunRecord, now: float) -> float | None:
    """When time alone makes a difference."""
    record, plan = run.delivery, seen.plan
    ends = []
    if facts.ci is Ci.PENDING:
        ends.append(_checks_since(run) + plan.check_patience)
        ends.append(_appear_since(seen, record) + plan.grace)
    if facts.review is Review.WAITED:
        first = (seen.content or (record.head,))[-1]
        asked = _asked_for(seen, record, first) or {"at": now}
        ends.append(max(float(asked["at"]), asked_at(run, "silence", first)) + plan.review_patience)
    if seen.has_robot and not record.is_done("start-robot", record.head):
        ends.append(_content_since(seen, run) + Rules().min_age + 1.0)
    return min((at for at in (*ends, _approval_ends(seen, run)) if at > now), default=now + plan.approval_patience)


def _why(lines: Lines, facts: Facts, seen: Seen) -> str:
    if facts.base in (Base.CONFLICT, Base.MENDABLE) and seen.taken is not None:
        return lines.steps_for(seen.branch, seen.target, seen.taken)
    return seen.elsewhere if not facts.here else ""


WAITS_FOR = {
    "checks-run": "its checks",
    "review-waited": "Copilot's review",
    "threads-strange": "review threads that a person has to close",
    "by-hand": "a person to merge it",
    "unapproved": "an approval",
    "in-the-queue": "the merge queue",
}


def waits_for(rule: str, seen: Seen | None) -> str:
    """What a pull request waits for, in words."""
    if rule == "by-hand" and seen is not None and seen.pull is not None:
        if seen.is_stacked:
            return f"the pull request of {seen.target}, which it stands on"
        if seen.pull.is_draft:
            return "a person to take it out of draft"
    return WAITS_FOR.get(rule, rule)
