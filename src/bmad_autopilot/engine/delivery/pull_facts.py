"""Facts of a delivery from the forge: checks, review, threads, approval, and the deadlines of each."""

from collections.abc import Iterable, Mapping
from typing import Any

from ...core.answers import AnswerMeaning
from ...core.facts import CiFact, Facts, MergeFact, RequestedReviewFact, ThreadsFact
from ...core.run_record import DeliveryRecord, RunRecord
from ...github.approval import APPROVE, Rules, approvals, ci, is_reviewed, judge
from ...github.auto_approve import build_situation
from ...github.forge import COPILOT as COPILOT_LOGIN
from ...github.forge import CheckState, Pull, RemoteCheck
from ..lane import AUTO, COPILOT, HUMAN, MANUAL, WHEN_APPROVED
from .rounds import answer_count, answered_at, last_decision
from .snapshot import LAG, DeliverySnapshot
from .threads import ReviewPoint, worst

UNDECIDED = ("REVIEW_REQUIRED", "CHANGES_REQUESTED")  # GitHub's decision by the repository's own review rules
RERUN_SHOWS = 120.0  # seconds a rerun may take to appear; unchanged after that, it failed
BLOCKED = ("BLOCKED", "UNKNOWN")  # a branch rule is not met, or GitHub has not computed it
_EXTERNAL = (MergeFact.UNAPPROVED, MergeFact.MANUAL, MergeFact.QUEUED)


def add_pull_facts(
    facts: Facts, snapshot: DeliverySnapshot, pull: Pull, run: RunRecord, points: list[ReviewPoint], now: float
) -> Facts:
    record = run.delivery
    labels = {label.casefold() for label in pull.labels}
    return facts._replace(
        labelled=record.is_done("label") or {label.casefold() for label in snapshot.plan.labels} <= labels,
        aim=pull.base_ref == snapshot.target,
        ci=_ci(snapshot, pull, run, now),
        review=_review(snapshot, run, now),
        threads=worst(points),
        merge=_with_deadline(_merge(snapshot, pull, run), worst(points), snapshot, run, now),
        robot=not _is_approve_workflow_due(snapshot, run, now),
    )


def _ci(snapshot: DeliverySnapshot, pull: Pull, run: RunRecord, now: float) -> CiFact:
    record, head = run.delivery, run.delivery.head
    is_seen = pull.head == head  # checks of an older head do not count
    word = ci(snapshot.checks, _appear_since(snapshot, record), now, snapshot.plan.grace) if is_seen else "pending"
    if word == "green":
        return _settled(snapshot, run, now)
    if word == "none":
        content = (snapshot.equivalent_heads or (head,))[-1]  # the answer covers this content only
        is_fine = (
            not snapshot.plan.checks or last_decision(run, "no-checks", content) is AnswerMeaning.WITHOUT_CHECKS
        )
        return CiFact.GREEN if is_fine else CiFact.NONE
    if word == "pending":
        return _pending_or_late(snapshot, run, now)
    return _red(snapshot, run, now) if word == "red" else CiFact.STOPPED


def _pending_or_late(snapshot: DeliverySnapshot, run: RunRecord, now: float) -> CiFact:
    return CiFact.OVERDUE if now >= _checks_since(snapshot, run) + snapshot.plan.check_patience else CiFact.PENDING


def _red(snapshot: DeliverySnapshot, run: RunRecord, now: float) -> CiFact:
    """Failed jobs can be rerun once their whole run is over; the rerun appears with a delay."""
    record, runs = run.delivery, {check.run for check in snapshot.failed_checks if check.run}
    if not (snapshot.plan.reruns and runs):
        return CiFact.RED
    checks = snapshot.pull.checks if snapshot.pull else ()
    is_going = any(check.run in runs and check.state is CheckState.PENDING for check in checks)
    if now < _rerun_visible_at(snapshot, record):
        return CiFact.PENDING
    if is_going:
        return _pending_or_late(snapshot, run, now)
    return CiFact.RED if _is_rerun(snapshot, record) else CiFact.FLAKY


def _rerun_visible_at(snapshot: DeliverySnapshot, record: DeliveryRecord) -> float:
    """Until when a rerun may still show its old result; 0: no rerun is pending."""
    name = f"rerun:{record.head}"
    one = record.completed_effects.get(name) or record.started_effects.get(name)
    if one is None or "refused" in one:
        return 0.0
    before = one.get("jobs", job_ids(snapshot.failed_checks))
    is_old = any(job in before for job in job_ids(snapshot.failed_checks))
    return float(one["at"]) + RERUN_SHOWS if is_old else 0.0


def _settled(snapshot: DeliverySnapshot, run: RunRecord, now: float) -> CiFact:
    """A job that depends on another is not listed before that one ends: green must last for a while, and checks
    get time to appear."""
    record = run.delivery
    if now < _appear_since(snapshot, record) + snapshot.plan.grace:
        return CiFact.PENDING
    if not snapshot.plan.stable_seconds:
        return CiFact.GREEN
    if record.green_key != green_key(snapshot, record.head):
        return CiFact.SETTLING
    return CiFact.GREEN if now >= record.green_at + snapshot.plan.stable_seconds else CiFact.PENDING


def green_key(snapshot: DeliverySnapshot, head: str) -> str:
    return f"{head}:{len(snapshot.checks)}"


def _is_rerun(snapshot: DeliverySnapshot, record: DeliveryRecord) -> bool:
    """If the rerun was not recorded as done, different failed jobs prove it."""
    begun = record.started_effects.get(f"rerun:{record.head}")
    return record.is_done("rerun", record.head) or (
        begun is not None and begun.get("jobs") != job_ids(snapshot.failed_checks)
    )


def job_ids(checks: Iterable[RemoteCheck]) -> list[int]:
    return sorted(one.job or one.run for one in checks)


def _appear_since(snapshot: DeliverySnapshot, record: DeliveryRecord) -> float:
    """When checks should start: most are triggered by the pull request, not by the push before it."""
    if snapshot.pull is None:
        return record.pushed_at
    ours = [
        float(one["at"])
        for name, one in record.completed_effects.items()
        if name.startswith(("open-pull:", "reopen:"))
    ]
    opened = ours or [snapshot.pull.created]  # by our own clock if known; the forge's may differ
    return max(record.pushed_at or snapshot.pull.pushed, *opened)


def _checks_since(snapshot: DeliverySnapshot, run: RunRecord) -> float:
    """Start of the check timeout. A head we did not push counts from the start of the delivery."""
    record = run.delivery
    again = record.completed_effects.get(f"rerun:{record.head}", {}).get("at", 0.0)
    began = max(_appear_since(snapshot, record), 0.0 if record.pushed_at else record.started_at)
    return max(began, float(again), answered_at(run, "ci-late", record.head))


def _review(snapshot: DeliverySnapshot, run: RunRecord, now: float) -> RequestedReviewFact:
    record, content = run.delivery, snapshot.equivalent_heads or (run.delivery.head,)
    if snapshot.plan.review != COPILOT or is_reviewed(snapshot.reviews, COPILOT_LOGIN, content):
        return RequestedReviewFact.SUFFICIENT
    first = content[-1]  # the head that introduced the content
    if last_decision(run, "silence", first) is AnswerMeaning.WITHOUT_REVIEW:
        return RequestedReviewFact.SUFFICIENT
    if record.is_done("no-review"):  # no review can be requested: an approval decides instead
        if snapshot.plan.merge != AUTO:
            return RequestedReviewFact.SUFFICIENT
        waits = now < answered_at(run, "silence", first) + snapshot.plan.review_patience
        return RequestedReviewFact.PENDING if waits else RequestedReviewFact.OVERDUE
    asked = _asked_for(snapshot, record)
    if asked is None:
        return RequestedReviewFact.DUE
    since = max(float(asked["at"]), answered_at(run, "silence", first))
    return (
        RequestedReviewFact.OVERDUE
        if now >= since + snapshot.plan.review_patience
        else RequestedReviewFact.PENDING
    )


def review_key(snapshot: DeliverySnapshot, record: DeliveryRecord) -> str:
    """Identifies a review request: the head that introduced the content, plus the number of times the pull request
    was reopened, because a reviewer may drop the review when it is closed. (A reopening with a lost answer counts:
    the pull request is open.)"""
    first, known = (
        (snapshot.equivalent_heads or (record.head,))[-1],
        {*record.completed_effects, *record.started_effects},
    )
    reopened = sum(name.startswith("reopen:") for name in known)
    return f"{first}+{reopened}" if reopened else first


def _asked_for(snapshot: DeliverySnapshot, record: DeliveryRecord) -> Mapping[str, Any] | None:
    """Our review request; if it was not recorded as done, the forge's list of reviewers proves it."""
    name = f"request-review:{review_key(snapshot, record)}"
    is_seen = snapshot.pull is not None and COPILOT_LOGIN in snapshot.pull.requested
    return record.completed_effects.get(name) or (record.started_effects.get(name) if is_seen else None)


def _merge(snapshot: DeliverySnapshot, pull: Pull, run: RunRecord) -> MergeFact:
    plan = snapshot.plan
    if pull.is_queued:
        return MergeFact.QUEUED
    if pull.is_draft or plan.merge == MANUAL or snapshot.is_stacked:
        return MergeFact.MANUAL
    # An administrator's login could bypass the branch's own rule.
    if not _is_approved(snapshot, run) or snapshot.objections or pull.decision in UNDECIDED:
        return MergeFact.UNAPPROVED
    record, mark = run.delivery, answer_count(run, "merge-refused")
    # Enqueued and not in the queue any more: it was removed. An answer since then allows a retry.
    tried = (f"merge-refused:{merge_key(snapshot, run)}", f"enqueue:{record.head}")
    is_refused = any(record.completed_effects.get(name, {}).get("mark") == mark for name in tried)
    if is_refused:
        return MergeFact.REFUSED
    return MergeFact.BLOCKED if pull.merge_state in BLOCKED and not pull.needs_queue else MergeFact.READY


def _is_approve_workflow_due(snapshot: DeliverySnapshot, run: RunRecord, now: float) -> bool:
    """The auto-approve workflow would approve, but has not run: GitHub may hold back runs that Copilot's review
    triggers."""
    if (
        not snapshot.has_approve_workflow
        or snapshot.pull is None
        or run.delivery.is_done("start-robot", run.delivery.head)
    ):
        return False
    content, since = snapshot.equivalent_heads or (run.delivery.head,), _content_since(snapshot, run)
    pull = snapshot.pull._replace(
        pushed=run.delivery.pushed_at or snapshot.pull.pushed
    )  # our own record is more exact
    ruling = judge(build_situation(pull, now, snapshot.files, content=content, pushed=since), Rules())
    return ruling.word == APPROVE and not ruling.is_standing


def _content_since(snapshot: DeliverySnapshot, run: RunRecord) -> float:
    first = (snapshot.equivalent_heads or (run.delivery.head,))[-1]
    return float(run.delivery.completed_effects.get(f"push:{first}", {}).get("at", run.delivery.pushed_at))


def _with_deadline(
    merge: MergeFact, threads: ThreadsFact, snapshot: DeliverySnapshot, run: RunRecord, now: float
) -> MergeFact:
    """Waiting for a person or the queue ends at a deadline. A stacked pull request has none while its parent is
    open."""
    if merge is MergeFact.BLOCKED and now >= _block_ends(snapshot, run):
        return MergeFact.REFUSED
    is_held = snapshot.is_stacked and snapshot.is_parent_open
    is_theirs = threads is ThreadsFact.UNTRUSTED or (merge in _EXTERNAL and not is_held)
    return MergeFact.OVERDUE if is_theirs and now >= _approval_ends(snapshot, run) else merge


def _block_ends(snapshot: DeliverySnapshot, run: RunRecord) -> float:
    """Until when BLOCKED is tolerated: the forge may lag, or a required check has yet to appear."""
    record = run.delivery
    done = (float(one["at"]) for name, one in record.completed_effects.items() if name.startswith("resolve:"))
    since = (
        record.pushed_at or record.started_at,
        record.green_at,
        answered_at(run, "merge-refused", merge_key(snapshot, run)),
    )
    return max(*since, *done, *(one.at for one in snapshot.reviews)) + snapshot.plan.grace


def merge_key(snapshot: DeliverySnapshot, run: RunRecord) -> str:
    return f"{run.delivery.head}:{snapshot.base}"


def _approval_ends(snapshot: DeliverySnapshot, run: RunRecord) -> float:
    record = run.delivery
    queued = f"enqueue:{record.head}"
    later = (
        float(one["at"]) for name, one in record.completed_effects.items() if name.startswith(("resolve:", queued))
    )
    since = max(record.pushed_at or record.started_at, answered_at(run, "approval-late", record.head), *later)
    return since + snapshot.plan.approval_patience


def _is_approved(snapshot: DeliverySnapshot, run: RunRecord) -> bool:
    plan = snapshot.plan
    if plan.merge != WHEN_APPROVED and plan.review != HUMAN:
        return True
    given = approvals(snapshot.reviews, snapshot.equivalent_heads or (run.delivery.head,), snapshot.files)
    return any(not one.is_bot for one in given) if plan.review == HUMAN else bool(given)


def next_deadline(facts: Facts, snapshot: DeliverySnapshot, run: RunRecord, now: float) -> float | None:
    """The next time at which the facts change without an event."""
    record, plan = run.delivery, snapshot.plan
    ends = []
    if facts.ci is CiFact.PENDING:
        ends.append(_checks_since(snapshot, run) + plan.check_patience)
        ends.append(_appear_since(snapshot, record) + plan.grace)
        ends.append(_rerun_visible_at(snapshot, record))
        if record.green_key == green_key(snapshot, record.head):
            ends.append(record.green_at + plan.stable_seconds)
    if facts.review is RequestedReviewFact.PENDING:
        first = (snapshot.equivalent_heads or (record.head,))[-1]
        asked = _asked_for(snapshot, record) or {"at": now}
        ends.append(max(float(asked["at"]), answered_at(run, "silence", first)) + plan.review_patience)
    if facts.merge is MergeFact.BLOCKED:
        is_unknown = snapshot.pull is not None and snapshot.pull.merge_state == "UNKNOWN"
        ends.append(now + LAG if is_unknown else _block_ends(snapshot, run))
    if snapshot.has_approve_workflow and not record.is_done("start-robot", record.head):
        ends.append(_content_since(snapshot, run) + Rules().min_age + 1.0)
    return min(
        (at for at in (*ends, _approval_ends(snapshot, run)) if at > now), default=now + plan.approval_patience
    )
