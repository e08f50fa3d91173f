"""The facts of a delivery that the forge tells: checks, review, threads, approval; and when time counts."""

from collections.abc import Iterable, Mapping
from typing import Any

from ...core.delivery import DeliveryRecord
from ...core.facts import Ci, Facts, Merge, Review, Threads
from ...core.records import RunRecord
from ...github.approval import APPROVE, Rules, approvals, ci, is_reviewed, judge
from ...github.approving import evaluate
from ...github.forge import COPILOT as COPILOT_LOGIN
from ...github.pulls import CheckState, RemoteCheck
from .plan import AUTO, COPILOT, HUMAN, MANUAL, WHEN_APPROVED
from .said import asked_at, asked_mark, decided
from .seeing import LAG, Seen
from .threads import Point, worst

UNDECIDED = ("REVIEW_REQUIRED", "CHANGES_REQUESTED")  # as the repository's own rules count reviews
RERUN_SHOWS = 120.0  # seconds: then what was started again, and still is as it was, has failed
BLOCKED = ("BLOCKED", "UNKNOWN")  # a rule of the branch is not met, or nobody knows yet
_OTHERS = (Merge.UNAPPROVED, Merge.MANUAL, Merge.QUEUED)


def of_pull(facts: Facts, seen: Seen, run: RunRecord, points: list[Point], now: float) -> Facts:
    assert seen.pull is not None
    record = run.delivery
    labels = {label.casefold() for label in seen.pull.labels}
    return facts._replace(
        labelled=record.is_done("label") or {label.casefold() for label in seen.plan.labels} <= labels,
        aim=seen.pull.base_ref == seen.target,
        ci=_ci(seen, run, now),
        review=_review(seen, run, now),
        threads=worst(points),
        merge=_in_time(_merge(seen, run), worst(points), seen, run, now),
        robot=not _is_robot_due(seen, run, now),
    )


def _ci(seen: Seen, run: RunRecord, now: float) -> Ci:
    assert seen.pull is not None
    record, head = run.delivery, run.delivery.head
    is_seen = seen.pull.head == head  # of an older head nothing counts: the forge merges what it has then
    word = ci(seen.checks, _appear_since(seen, record), now, seen.plan.grace) if is_seen else "pending"
    if word == "green":
        return _settled(seen, run, now)
    if word == "none":
        content = (seen.content or (head,))[-1]  # without checks for what it held then, and not for what comes
        is_fine = not seen.plan.checks or decided(run, "no-checks", content) == "without-checks"
        return Ci.GREEN if is_fine else Ci.NONE
    if word == "pending":
        return _under_way(seen, run, now)
    return _red(seen, run, now) if word == "red" else Ci.STOPPED


def _under_way(seen: Seen, run: RunRecord, now: float) -> Ci:
    return Ci.LATE if now >= _checks_since(seen, run) + seen.plan.check_patience else Ci.PENDING


def _red(seen: Seen, run: RunRecord, now: float) -> Ci:
    """What failed can be started again once the whole of its run is over, and is seen to be some time after."""
    record, runs = run.delivery, {check.run for check in seen.broken if check.run}
    if not (seen.plan.reruns and runs):
        return Ci.RED
    checks = seen.pull.checks if seen.pull else ()
    is_going = any(check.run in runs and check.state is CheckState.PENDING for check in checks)
    if now < _rerun_shows(seen, record):
        return Ci.PENDING
    if is_going:
        return _under_way(seen, run, now)
    return Ci.RED if _is_rerun(seen, record) else Ci.FLAKY


def _rerun_shows(seen: Seen, record: DeliveryRecord) -> float:
    """Until when one that was started again may still show how it ended before; 0: nothing of the kind."""
    name = f"rerun:{record.head}"
    one = record.done.get(name) or record.begun.get(name)
    if one is None or "refused" in one:
        return 0.0
    before = one.get("jobs", jobs_of(seen.broken))
    is_old = any(job in before for job in jobs_of(seen.broken))
    return float(one["at"]) + RERUN_SHOWS if is_old else 0.0


def _settled(seen: Seen, run: RunRecord, now: float) -> Ci:
    """A job that waits for another is not listed before that has ended: what is green must stay so for a while,
    and checks have their time to appear."""
    record = run.delivery
    if now < _appear_since(seen, record) + seen.plan.grace:
        return Ci.PENDING
    if not seen.plan.settles:
        return Ci.GREEN
    if record.green != green_key(seen, record.head):
        return Ci.FRESH
    return Ci.GREEN if now >= record.green_at + seen.plan.settles else Ci.PENDING


def green_key(seen: Seen, head: str) -> str:
    return f"{head}:{len(seen.checks)}"


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
    ours = [float(one["at"]) for name, one in record.done.items() if name.startswith(("open-pull:", "reopen:"))]
    opened = ours or [seen.pull.created]  # by our own clock, where we know: the forge's may go otherwise
    return max(record.pushed_at or seen.pull.pushed, *opened)


def _checks_since(seen: Seen, run: RunRecord) -> float:
    """What we did not push ourselves counts from when we took it up."""
    record = run.delivery
    again = record.done.get(f"rerun:{record.head}", {}).get("at", 0.0)
    began = max(_appear_since(seen, record), 0.0 if record.pushed_at else record.began)
    return max(began, float(again), asked_at(run, "ci-late", record.head))


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
    asked = _asked_for(seen, record)
    if asked is None:
        return Review.DUE
    since = max(float(asked["at"]), asked_at(run, "silence", first))
    return Review.SILENT if now >= since + seen.plan.review_patience else Review.WAITED


def review_key(seen: Seen, record: DeliveryRecord) -> str:
    """What a review is asked for: the head that brought the content, anew once it was closed in between, since who
    was at it then may have dropped it. (Of an opening whose answer is lost, that it is open says enough.)"""
    first, known = (seen.content or (record.head,))[-1], {*record.done, *record.begun}
    reopened = sum(name.startswith("reopen:") for name in known)
    return f"{first}+{reopened}" if reopened else first


def _asked_for(seen: Seen, record: DeliveryRecord) -> Mapping[str, Any] | None:
    """Our asking for a review; where nobody wrote down that it was done, the forge says so."""
    name = f"request-review:{review_key(seen, record)}"
    is_seen = seen.pull is not None and COPILOT_LOGIN in seen.pull.requested
    return record.done.get(name) or (record.begun.get(name) if is_seen else None)


def _merge(seen: Seen, run: RunRecord) -> Merge:
    pull, plan = seen.pull, seen.plan
    assert pull is not None
    if pull.is_queued:
        return Merge.QUEUED
    if pull.is_draft or plan.merge == MANUAL or seen.is_stacked:
        return Merge.MANUAL
    # An administrator's login would merge over the branch's own rule.
    if not _is_approved(seen, run) or seen.objections or pull.decision in UNDECIDED:
        return Merge.UNAPPROVED
    record, mark = run.delivery, asked_mark(run, "merge-refused")
    tried = (f"merge-refused:{merge_key(seen, run)}", f"enqueue:{record.head}")  # that, and not queued: put out
    is_refused = any(record.done.get(name, {}).get("mark") == mark for name in tried)  # nobody said since: again
    if is_refused:
        return Merge.REFUSED
    return Merge.BLOCKED if pull.merge_state in BLOCKED and not pull.needs_queue else Merge.FREE


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


def _in_time(merge: Merge, threads: Threads, seen: Seen, run: RunRecord, now: float) -> Merge:
    """A person's turn, or the queue's, is waited for, but not for ever. What stands on another epic is nobody's
    turn, as long as that one is under way."""
    if merge is Merge.BLOCKED and now >= _block_ends(seen, run):
        return Merge.REFUSED
    is_held = seen.is_stacked and seen.is_held
    is_theirs = threads is Threads.STRANGE or (merge in _OTHERS and not is_held)
    return Merge.LATE if is_theirs and now >= _approval_ends(seen, run) else merge


def _block_ends(seen: Seen, run: RunRecord) -> float:
    """The forge has not seen the last of what it waited for yet, or a required check is still to appear."""
    record = run.delivery
    done = (float(one["at"]) for name, one in record.done.items() if name.startswith("resolve:"))
    since = (
        record.pushed_at or record.began,
        record.green_at,
        asked_at(run, "merge-refused", merge_key(seen, run)),
    )
    return max(*since, *done, *(one.at for one in seen.reviews)) + seen.plan.grace


def merge_key(seen: Seen, run: RunRecord) -> str:
    return f"{run.delivery.head}:{seen.base}"


def _approval_ends(seen: Seen, run: RunRecord) -> float:
    record = run.delivery
    queued = f"enqueue:{record.head}"
    later = (float(one["at"]) for name, one in record.done.items() if name.startswith(("resolve:", queued)))
    since = max(record.pushed_at or record.began, asked_at(run, "approval-late", record.head), *later)
    return since + seen.plan.approval_patience


def _is_approved(seen: Seen, run: RunRecord) -> bool:
    plan = seen.plan
    if plan.merge != WHEN_APPROVED and plan.review != HUMAN:
        return True
    given = approvals(seen.reviews, seen.content or (run.delivery.head,), seen.files)
    return any(not one.is_bot for one in given) if plan.review == HUMAN else bool(given)


def until_of(facts: Facts, seen: Seen, run: RunRecord, now: float) -> float | None:
    """When time alone makes a difference."""
    record, plan = run.delivery, seen.plan
    ends = []
    if facts.ci is Ci.PENDING:
        ends.append(_checks_since(seen, run) + plan.check_patience)
        ends.append(_appear_since(seen, record) + plan.grace)
        ends.append(_rerun_shows(seen, record))
        if record.green == green_key(seen, record.head):
            ends.append(record.green_at + plan.settles)
    if facts.review is Review.WAITED:
        first = (seen.content or (record.head,))[-1]
        asked = _asked_for(seen, record) or {"at": now}
        ends.append(max(float(asked["at"]), asked_at(run, "silence", first)) + plan.review_patience)
    if facts.merge is Merge.BLOCKED:
        is_unknown = seen.pull is not None and seen.pull.merge_state == "UNKNOWN"
        ends.append(now + LAG if is_unknown else _block_ends(seen, run))
    if seen.has_robot and not record.is_done("start-robot", record.head):
        ends.append(_content_since(seen, run) + Rules().min_age + 1.0)
    return min((at for at in (*ends, _approval_ends(seen, run)) if at > now), default=now + plan.approval_patience)
