"""Observes a delivery: turns the snapshot of git and the forge into the facts of the transition table."""

from ...core.answers import AnswerMeaning
from ...core.backoff import backoff
from ...core.errors import AutopilotError
from ...core.facts import (
    BaseFact,
    BranchFact,
    CiFact,
    DeliveryFact,
    EpicFact,
    Facts,
    ForgeFact,
    GateFact,
    MergeFact,
    ProofFact,
    PullFact,
    QuestionFact,
    RequestedReviewFact,
    TargetFact,
    ThreadsFact,
)
from ...core.forge_errors import TRANSIENT, ForgeError, ForgeErrorKind
from ...core.run_record import CheckRecord, Data, DeliveryRecord, RunRecord
from ...git.git import LockedError
from ...github.forge import Pull, PullState
from ..lane import AGENT, LOCAL, MANUAL, DeliveryPlan, Lane
from ..ports import Ports
from .branch_port import BranchPort
from .pull_facts import add_pull_facts, next_deadline
from .rounds import answer_count, answered_at, last_decision
from .snapshot import (
    LAG,
    SETTLES,
    DeliveryObservation,
    DeliverySnapshot,
    SnapshotObservation,
    take_snapshot,
)
from .threads import FIXED, ReviewPoint, review_points

# Facts from git: our branch and the remote's, the base, our own checks.

MAX_BASES = 5  # merges of the base before the merge of the pull request


def add_branch_facts(branches: BranchPort, facts: Facts, snapshot: DeliverySnapshot, run: RunRecord) -> Facts:
    record = run.delivery
    return facts._replace(
        pull=_pull(snapshot, run),
        proof=_proof(record),
        cleared=record.is_done("clear-branch"),
        line=_line(branches, snapshot, run),
        base=_base(snapshot, record),
        gate=_gate(snapshot.check),
        here=not snapshot.checkout_problem,
        rounds=_has_rounds(snapshot, run),
    )


def _has_rounds(snapshot: DeliverySnapshot, run: RunRecord) -> bool:
    record = run.delivery
    counted = record.rounds[record.rounds_counted_from :]
    last = run.stories.get(counted[-1].story) if counted else None
    return len(counted) < snapshot.plan.rounds and not (last is not None and last.skipped)


def _pull(snapshot: DeliverySnapshot, run: RunRecord) -> PullFact:
    record = run.delivery
    if snapshot.plan.kind == LOCAL:
        return PullFact.MERGED if snapshot.is_in_base else PullFact.OPEN
    if snapshot.pull is None:
        return PullFact.NONE
    if snapshot.pull.state is PullState.CLOSED:
        is_wanted = last_decision(run, "closed", str(snapshot.pull.number)) is AnswerMeaning.REOPEN
        return (
            PullFact.REOPEN_REQUESTED
            if is_wanted and not record.is_done("reopen", answer_count(run, "closed"))
            else PullFact.CLOSED
        )
    if snapshot.pull.state is PullState.MERGED:
        return PullFact.MERGED
    return PullFact.RETARGETED if _is_retargeted(snapshot, snapshot.pull.base_ref, run) else PullFact.OPEN


def _is_retargeted(snapshot: DeliverySnapshot, base: str, run: RunRecord) -> bool:
    """Its base is neither the target nor one that we have set. For a pull request opened by others, the branches
    of its stack count as ours."""
    targets = [
        one for name, one in run.delivery.completed_effects.items() if name.startswith(("open-pull:", "retarget:"))
    ]
    last = max(targets, key=lambda one: float(one["at"]), default={})
    ours = str(last.get("base", ""))
    if base in (snapshot.target, *((ours,) if ours else (snapshot.plan.base, snapshot.plan.onto))):
        return False
    is_confirmed = answered_at(run, "retargeted", retarget_key(snapshot)) > float(last.get("at", 0.0))
    return not (
        is_confirmed and last_decision(run, "retargeted", retarget_key(snapshot)) is AnswerMeaning.RETARGET
    )


def retarget_key(snapshot: DeliverySnapshot) -> str:
    return f"{snapshot.pull.base_ref if snapshot.pull else ''}:{snapshot.target}"


def _proof(record: DeliveryRecord) -> ProofFact:
    return {"": ProofFact.NONE, "differs": ProofFact.DIFFERS}.get(record.proof, ProofFact.SAME)


def _line(branches: BranchPort, snapshot: DeliverySnapshot, run: RunRecord) -> BranchFact:
    """Ahead, even or foreign: we build only on heads we pushed or were told to take over."""
    record = run.delivery
    if not snapshot.is_ours:
        return _foreign_line(branches, snapshot, run)
    if snapshot.plan.kind == LOCAL or (snapshot.remote == record.head and record.is_done("push", record.head)):
        return BranchFact.IN_SYNC
    if snapshot.remote == record.head:
        return BranchFact.AHEAD  # pushed but not recorded; reviews depend on that entry
    return BranchFact.AHEAD if _is_our_push(snapshot.remote, record) else _foreign_line(branches, snapshot, run)


def _is_our_push(remote: str, record: DeliveryRecord) -> bool:
    return remote in ("", record.pushed) or (not record.pushed and remote in record.known_heads)


def _foreign_line(branches: BranchPort, snapshot: DeliverySnapshot, run: RunRecord) -> BranchFact:
    is_confirmed = last_decision(run, "foreign", foreign_key(snapshot)) is AnswerMeaning.TAKE_OVER
    return (
        BranchFact.ALLOWED
        if is_confirmed or _is_conflict_resolved(branches, snapshot, run)
        else BranchFact.FOREIGN
    )


def _is_conflict_resolved(branches: BranchPort, snapshot: DeliverySnapshot, run: RunRecord) -> bool:
    """A person who has just resolved the conflict we asked about may also push it: every new head contains ours
    and the base in question. Later pushes are asked about again."""
    record = run.delivery
    last_answer = run.answers[-1] if len(run.answers) > record.answers_seen else {}
    if last_answer.get("code") != "base-conflict":
        return False
    base = str(last_answer.get("key", "")).partition(":")[2]
    there = [] if snapshot.remote == record.head or _is_our_push(snapshot.remote, record) else [snapshot.remote]
    here = [] if snapshot.is_ours else [snapshot.local]
    return bool(base) and all(
        branches.contains(one, held) for one in (*there, *here) for held in (record.head, base)
    )


def conflict_key(snapshot: DeliverySnapshot, record: DeliveryRecord) -> str:
    return f"{record.head}:{snapshot.base}"


def foreign_key(snapshot: DeliverySnapshot) -> str:
    """The foreign heads; further commits are another question."""
    return f"{snapshot.remote}:{snapshot.local}"


def _base(snapshot: DeliverySnapshot, record: DeliveryRecord) -> BaseFact:
    if snapshot.base_merge is None or (
        snapshot.is_stacked and not snapshot.base_merge.sha
    ):  # asked about after the parent's merge
        return BaseFact.UP_TO_DATE
    if not snapshot.base_merge.sha:
        return BaseFact.RESOLVABLE if snapshot.plan.conflicts == AGENT else BaseFact.CONFLICT
    return BaseFact.MOVED if record.base_merges < MAX_BASES else BaseFact.UNSTABLE


def _gate(check: CheckRecord | None) -> GateFact:
    if check is None:
        return GateFact.DUE
    if check.passed:
        return GateFact.PASSED
    return GateFact.ENVIRONMENT if check.environment else GateFact.CODE


MAX_TROUBLES = 10  # attempts without an answer: about an hour in all
PATIENCE = 600.0  # seconds the repository may be blocked before a person is asked
AGAIN = 60.0  # seconds before an unreachable forge is queried again
ELSEWHERE = 600.0  # seconds between checks whether a merge into another branch has reached the base
WORK_TREE = "work-tree"  # the effect that fails when the work tree is blocked


def observe_delivery(
    ports: Ports, lane: Lane, plan: DeliveryPlan, run: RunRecord, facts: Facts
) -> DeliveryObservation:
    facts = facts._replace(delivery=DeliveryFact.ON, target=TargetFact.FINISHED, epic=EpicFact.UNLISTED)
    if facts.stop or facts.pause or facts.question is not QuestionFact.NONE:
        return DeliveryObservation(facts, epic=lane.key)
    now = ports.clock.now()
    settle_until = _settle_until(run.delivery, now)
    if settle_until:
        return DeliveryObservation(facts._replace(forge=ForgeFact.UNAVAILABLE), epic=lane.key, until=settle_until)
    try:
        snapshot = take_snapshot(ports, lane, plan, run.delivery, run.checks)
    except ForgeError as error:
        return _forge_failure(lane, facts, error, now)
    except LockedError as error:
        return _repository_locked(lane, facts, error, run.delivery, now)
    except AutopilotError as error:  # from git, such as a rewritten base; other epics continue
        return DeliveryObservation(
            facts._replace(forge=ForgeFact.REFUSED), epic=lane.key, worktree_problem=str(error)
        )
    if snapshot.unseen_since and now < snapshot.unseen_since + AGAIN:
        return DeliveryObservation(facts._replace(forge=ForgeFact.UNAVAILABLE), epic=lane.key, until=now + LAG)
    pull = snapshot.pull
    if pull is not None and pull.state is PullState.MERGED and not snapshot.is_in_base:
        return _merged_elsewhere(lane, facts, snapshot, pull, run, now)
    points = _points(ports.delivery.branches(), snapshot, run)
    facts = add_branch_facts(ports.delivery.branches(), facts, snapshot, run)
    blocked = run.delivery.refused_effects.get(f"{WORK_TREE}:{run.delivery.head}", "")
    if blocked and not (
        facts.here and snapshot.local == run.delivery.head and facts.line is not BranchFact.ALLOWED
    ):
        return DeliveryObservation(facts._replace(usable=False), epic=lane.key, worktree_problem=blocked)
    refused = _refusal(facts, run.delivery)
    if refused:
        return DeliveryObservation(
            facts._replace(forge=ForgeFact.REFUSED), epic=lane.key, worktree_problem=refused
        )
    if snapshot.plan.kind == LOCAL:
        merge = MergeFact.MANUAL if snapshot.plan.merge == MANUAL else MergeFact.READY
        facts = facts._replace(ci=CiFact.GREEN, review=RequestedReviewFact.SUFFICIENT, merge=merge)
    elif pull is not None and facts.pull is PullFact.OPEN:
        facts = add_pull_facts(facts, snapshot, pull, run, points, now)
    facts = facts._replace(turn=ports.delivery.has_merge_turn())
    until = next_deadline(facts, snapshot, run, now)
    return SnapshotObservation(
        facts,
        epic=lane.key,
        until=until,
        worktree_problem=_why(ports.delivery.branches(), facts, snapshot),
        snapshot=snapshot,
        points=points,
    )


def _settle_until(record: DeliveryRecord, now: float) -> float:
    """Until when an effect with a lost answer may be invisible, or a raced effect is not retried; 0: none."""
    waits = [float(one["at"]) + _settle_seconds(record, name) for name, one in record.started_effects.items()]
    waits += [float(one["raced"]) + _race_pause(one) for one in record.failed_effects.values() if one.get("raced")]
    return max((until for until in waits if until > now), default=0.0)


def _settle_seconds(record: DeliveryRecord, name: str) -> float:
    """Doubled each time, so that a failing effect does not hold up other lanes."""
    times = int(record.failed_effects.get(name, {}).get("times", 0))
    return backoff(SETTLES, times, most=64 * SETTLES)


def _race_pause(raced: Data) -> float:
    """None after the first race, then doubled each time."""
    return min(backoff(1.0, int(raced["times"]), most=2 * AGAIN) - 1.0, AGAIN)


def _forge_failure(lane: Lane, facts: Facts, error: ForgeError, now: float) -> DeliveryObservation:
    if error.kind in (*TRANSIENT, ForgeErrorKind.LOGIN):
        until, problem = max(error.until, now + AGAIN), error if error.kind is ForgeErrorKind.LOGIN else None
        away = facts._replace(forge=ForgeFact.UNAVAILABLE)
        return DeliveryObservation(away, epic=lane.key, until=until, worktree_problem=str(error), problem=problem)
    return DeliveryObservation(facts._replace(forge=ForgeFact.REFUSED), epic=lane.key, worktree_problem=str(error))


def _repository_locked(
    lane: Lane, facts: Facts, error: LockedError, record: DeliveryRecord, now: float
) -> DeliveryObservation:
    """Another git process holds a lock, or was killed with it: retry until PATIENCE is over."""
    waits = record.current_wait or {}
    is_overdue = str(error) in str(waits.get("why", "")) and now >= float(waits["since"]) + PATIENCE
    forge = ForgeFact.REFUSED if is_overdue else ForgeFact.UNAVAILABLE
    return DeliveryObservation(
        facts._replace(forge=forge), epic=lane.key, until=now + AGAIN, worktree_problem=str(error)
    )


def _merged_elsewhere(
    lane: Lane, facts: Facts, snapshot: DeliverySnapshot, pull: Pull, run: RunRecord, now: float
) -> DeliveryObservation:
    """The forge lags, or someone merged it into another branch, from where it may still reach the base."""
    since = max(pull.merged_at, answered_at(run, "forge", run.delivery.head))
    is_over = now >= since + snapshot.plan.approval_patience
    again = now + (LAG if now < pull.merged_at + AGAIN else ELSEWHERE)
    why = f"{snapshot.plan.base} does not hold what was merged into {pull.base_ref}"
    forge = ForgeFact.REFUSED if is_over else ForgeFact.UNAVAILABLE
    return DeliveryObservation(facts._replace(forge=forge), epic=lane.key, until=again, worktree_problem=why)


def _points(branches: BranchPort, snapshot: DeliverySnapshot, run: RunRecord) -> list[ReviewPoint]:
    """Reopen points reported fixed by a commit that is not on the head or is older than the point."""
    found = review_points(snapshot.pull, run, snapshot.plan.trusted, snapshot.viewer) if snapshot.pull else []
    return [
        point._replace(due=ThreadsFact.OPEN, commit="")
        if _is_unproven_fix(branches, point, run.delivery.head)
        else point
        for point in found
    ]


def _is_unproven_fix(branches: BranchPort, point: ReviewPoint, head: str) -> bool:
    if point.due not in (ThreadsFact.REPLY, ThreadsFact.RESOLVE) or not point.answer:
        return False
    if point.answer["answer"] != FIXED:
        return False
    return not (
        point.commit and branches.contains(head, point.commit) and _is_newer_commit(branches, point, point.answer)
    )


def _is_newer_commit(branches: BranchPort, point: ReviewPoint, answer: Data) -> bool:
    """The reviewer had not seen that commit. One merged in with the base does not count: it does not contain the
    reviewed head."""
    named, since = answer.get("commit"), str(answer.get("since") or point.since)
    if not named:
        return True  # the round's own commit
    return bool(since) and since != named and branches.contains(point.commit, since)


def _refusal(facts: Facts, record: DeliveryRecord) -> str:
    """Why a still needed effect failed: refused by the forge, or without an answer too often."""
    wanted = {"open-pull": facts.pull is PullFact.NONE, "push": facts.line is BranchFact.AHEAD, WORK_TREE: False}
    hopeless = {
        name: str(one["why"])
        for name, one in record.failed_effects.items()
        if one["times"] >= MAX_TROUBLES and (not one.get("raced") or name.endswith(f":{record.head}"))
    }
    named = {**record.refused_effects, **hopeless}
    return next((why for name, why in named.items() if wanted.get(name.partition(":")[0], True)), "")


def _why(branches: BranchPort, facts: Facts, snapshot: DeliverySnapshot) -> str:
    if facts.base in (BaseFact.CONFLICT, BaseFact.RESOLVABLE) and snapshot.base_merge is not None:
        return branches.merge_instructions(snapshot.branch, snapshot.target, snapshot.base_merge)
    return snapshot.checkout_problem if not facts.here else ""
