"""The effects of a delivery on its pull request, and the effect of each delivery rule."""

import os
from collections.abc import Callable
from typing import Any, NamedTuple

from ...agents.shim.redact import Redactor, environment_secrets
from ...core.facts import ThreadsFact
from ...core.forge_errors import ForgeError, ForgeErrorKind
from ...core.run_ending import RunEnding
from ...core.transitions import FixInput, PullWait, Rule, RuleAction
from ...github.forge import COPILOT, NewPull, Pull, RemoteCheck
from ...github.gate_runner import WORKFLOW_FILE
from ..agent_calls import start_story
from ..lane import LOCAL
from ..observation import InapplicableRule, Loop
from . import branch_actions
from .branch_actions import (
    AGAIN,
    OPTIONAL,
    EffectResult,
    effect,
    note_pending,
    optional_effect,
    stop_for_login,
)
from .pull_facts import green_key, job_ids, review_key
from .rounds import CHECKS, CONFLICT, POINTS, RED, answer_count, fix_round_key
from .snapshot import DeliveryObservation, DeliverySnapshot, SnapshotObservation
from .text import describe_wait, prompt_conflicts, prompt_log, prompt_points, reply_text
from .threads import ReviewPoint, reply_key

MAX_THREADS = 20  # threads handled per tick


def open_pull(loop: Loop, snapshot: DeliverySnapshot) -> None:
    title, body = loop.ports.delivery.pull_text(loop.run)
    order = NewPull(snapshot.branch, snapshot.target, title, body, snapshot.plan.draft)
    act = lambda: {"number": loop.ports.delivery.forge().open_pull(order)}  # noqa: E731
    effect(loop, "open-pull", snapshot.branch, act, base=snapshot.target)


def note_existing_pull(loop: Loop, snapshot: DeliverySnapshot) -> None:
    """Record the number of a pull request whose opening had no answer, or that someone else opened."""
    pull = snapshot.pull
    if pull is not None and not loop.run.delivery.pull:
        loop.note("did", do="open-pull", key=snapshot.branch, number=pull.number, found=True)


def reopen(loop: Loop, pull: Pull) -> None:
    effect(
        loop,
        "reopen",
        answer_count(loop.run, "closed"),
        lambda: loop.ports.delivery.forge().reopen_pull(pull.number),
    )


def label(loop: Loop, snapshot: DeliverySnapshot, pull: Pull) -> None:
    optional_effect(
        loop, "label", "", lambda: loop.ports.delivery.forge().add_labels(pull.number, snapshot.plan.labels)
    )


def retarget(loop: Loop, snapshot: DeliverySnapshot, pull: Pull) -> None:
    act = lambda: loop.ports.delivery.forge().edit_pull(pull.number, base_ref=snapshot.target)  # noqa: E731
    effect(loop, "retarget", snapshot.target, act, base=snapshot.target)


def request_review(loop: Loop, snapshot: DeliverySnapshot, pull: Pull) -> None:
    key = review_key(snapshot, loop.run.delivery)
    done = optional_effect(
        loop, "request-review", key, lambda: loop.ports.delivery.forge().request_review(pull, COPILOT)
    )
    if not done:
        loop.note("did", do="no-review", key="")


def reply(loop: Loop, points: list[ReviewPoint]) -> None:
    _for_each_point(points, ThreadsFact.REPLY, lambda point: _reply(loop, point))


def _reply(loop: Loop, point: ReviewPoint) -> EffectResult | None:
    body = reply_text(point)
    forge, number = loop.ports.delivery.forge(), loop.run.delivery.pull

    def act() -> None:
        if point.is_thread:
            forge.reply(point.thread, body)
        else:
            forge.comment(number, body)

    return _thread_effect(loop, "reply", reply_key(point), act)


def resolve(loop: Loop, points: list[ReviewPoint]) -> None:
    def one(point: ReviewPoint) -> EffectResult | None:
        act = lambda: loop.ports.delivery.forge().resolve(point.thread)  # noqa: E731
        return _thread_effect(loop, "resolve", reply_key(point), act)

    _for_each_point(points, ThreadsFact.RESOLVE, one)


def _for_each_point(
    points: list[ReviewPoint], due: ThreadsFact, act: Callable[[ReviewPoint], EffectResult | None]
) -> None:
    """Several per tick, because an observation costs more than a reply. Stop at the first failure."""
    for point in [one for one in points if one.due is due][:MAX_THREADS]:
        if act(point) is None:
            return


def _thread_effect(loop: Loop, do: str, key: str, act: Callable[[], None]) -> EffectResult | None:
    """A deleted thread counts as done."""

    def tried() -> EffectResult:
        try:
            act()
        except ForgeError as error:
            if error.kind is ForgeErrorKind.MISSING:
                return {"gone": True}
            raise
        return {}

    return effect(loop, do, key, tried)


def rerun(loop: Loop, snapshot: DeliverySnapshot) -> None:
    """Rerun the failed jobs of each workflow run once: the forge refuses while the run is in progress."""
    broken = snapshot.failed_checks
    runs = {one.run: one for one in broken if one.run}

    def act() -> None:
        refused = []
        for one in runs.values():
            try:
                loop.ports.delivery.forge().rerun(one)
            except ForgeError as error:
                if error.kind not in OPTIONAL:
                    raise
                refused.append(error)
        if len(refused) == len(runs):
            raise refused[-1]

    optional_effect(loop, "rerun", loop.run.delivery.head, act, jobs=job_ids(broken))


def note_green(loop: Loop, snapshot: DeliverySnapshot) -> None:
    loop.note("green", key=green_key(snapshot, loop.run.delivery.head))


def start_approve_workflow(loop: Loop, snapshot: DeliverySnapshot, pull: Pull) -> None:
    inputs = {"pr_number": str(pull.number)}
    act = lambda: loop.ports.delivery.forge().dispatch(WORKFLOW_FILE, snapshot.plan.base, inputs)  # noqa: E731
    optional_effect(loop, "start-robot", loop.run.delivery.head, act)


# Starting a fix round: the agent's input from review points, failed checks or a conflict.

MAX_LOGS = 5

PromptItems = list[dict[str, Any]]


class _RoundInput(NamedTuple):
    why: str
    points: PromptItems
    logs: PromptItems


def start_fix_round(loop: Loop, observation: SnapshotObservation, fixes: FixInput) -> None:
    work = _round_input(loop, observation, fixes)
    key = fix_round_key(loop.lane.key, len(loop.run.delivery.rounds) + 1)
    start_story(loop, key, "")
    about = {"base": observation.snapshot.base} if work.why == CONFLICT else {}
    loop.note("pull-round", story=key, **work._asdict(), **about)


def _round_input(loop: Loop, found: SnapshotObservation, fixes: FixInput) -> _RoundInput:
    snapshot = found.snapshot
    if fixes is FixInput.CONFLICT and snapshot.base_merge is not None:
        texts = loop.ports.delivery.branches().conflict_texts(
            loop.run.delivery.head, snapshot.base, snapshot.base_merge
        )
        return _RoundInput(CONFLICT, prompt_conflicts(texts), [])
    if fixes is FixInput.CHECKS:
        excerpt = snapshot.check.excerpt if snapshot.check else ""
        return _RoundInput(CHECKS, [], [{"title": "What the project's own checks printed:", "text": excerpt}])
    logs = [prompt_log(one, _tail(loop, one)) for one in snapshot.failed_checks[:MAX_LOGS]]
    points = prompt_points(found.points, loop.run)
    return _RoundInput(POINTS if points and not logs else RED, points, logs)


def _tail(loop: Loop, check: RemoteCheck) -> str:
    """End of the check's log; empty if it cannot be read: the check's name is enough to start."""
    try:
        return Redactor(environment_secrets(os.environ)).text(loop.ports.delivery.forge().log_tail(check))
    except ForgeError:
        return ""


# Waiting, and one effect for each delivery action of the transition table.

SHORT = 15.0  # seconds: shorter waits happen inside the run


def wait_for_forge(loop: Loop, observation: DeliveryObservation) -> RunEnding | None:
    if observation.problem is not None:
        stop_for_login(loop, observation.problem)
    until = observation.until or loop.ports.clock.now() + AGAIN
    if until - loop.ports.clock.now() <= SHORT:
        loop.ports.clock.wait(until)
        return None
    return note_pending(
        loop, f"the forge: {observation.worktree_problem}" if observation.worktree_problem else "the forge", until
    )


def wait_for_pull(loop: Loop, observation: SnapshotObservation, wait: PullWait) -> RunEnding:
    snapshot = observation.snapshot
    mark = snapshot.pull.fingerprint if snapshot.pull else ""
    if snapshot.plan.kind == LOCAL:
        mark = snapshot.base
    if wait is PullWait.TURN:
        loop.ports.delivery.request_merge_turn()
    elif wait is not PullWait.CHECKS:  # other lanes may merge sooner
        loop.ports.delivery.release_merge_turn()
    return note_pending(loop, describe_wait(wait, snapshot), observation.until, mark)


def perform_delivery(loop: Loop, observation: DeliveryObservation, rule: Rule) -> RunEnding | None:
    if rule.action is RuleAction.WAIT_FOR_FORGE:
        return wait_for_forge(loop, observation)
    if not isinstance(observation, SnapshotObservation):
        raise InapplicableRule(rule, observation)
    snapshot = observation.snapshot
    match rule.action:
        case RuleAction.WAIT_FOR_PULL:
            return wait_for_pull(loop, observation, rule.pull_wait)
        case RuleAction.CHECK:
            branch_actions.check(loop, snapshot)
        case RuleAction.CHECK_OUT:
            return branch_actions.check_out_branch(loop)
        case RuleAction.PUSH:
            return branch_actions.push(loop, snapshot)
        case RuleAction.OPEN_PULL:
            open_pull(loop, snapshot)
        case RuleAction.REPLY:
            reply(loop, observation.points)
        case RuleAction.RESOLVE:
            resolve(loop, observation.points)
        case RuleAction.START_FIX_ROUND:
            start_fix_round(loop, observation, rule.fix_input)
        case RuleAction.RERUN:
            rerun(loop, snapshot)
        case RuleAction.RECORD_GREEN:
            note_green(loop, snapshot)
        case RuleAction.MERGE_BASE if (merged := snapshot.base_merge) is not None:
            return branch_actions.merge_base_branch(loop, snapshot, merged, needs_turn=rule.needs_turn)
        case RuleAction.MERGE_FOREIGN:
            return branch_actions.merge_foreign_commits(loop, snapshot)
        case RuleAction.MERGE if snapshot.plan.kind == LOCAL:
            branch_actions.merge_locally(loop, snapshot)
        case RuleAction.VERIFY_MERGE:
            branch_actions.verify_merge(loop, snapshot)
        case RuleAction.DELETE_BRANCH:
            branch_actions.delete_branch(loop, snapshot)
        case _ if snapshot.pull is not None:
            _perform_on_pull(loop, observation, snapshot.pull, rule)
        case _:
            raise InapplicableRule(rule, observation)
    return None


def _perform_on_pull(loop: Loop, observation: SnapshotObservation, pull: Pull, rule: Rule) -> None:
    snapshot = observation.snapshot
    match rule.action:
        case RuleAction.REOPEN:
            reopen(loop, pull)
        case RuleAction.LABEL:
            label(loop, snapshot, pull)
        case RuleAction.RETARGET:
            retarget(loop, snapshot, pull)
        case RuleAction.REQUEST_REVIEW:
            request_review(loop, snapshot, pull)
        case RuleAction.START_AUTO_APPROVE:
            start_approve_workflow(loop, snapshot, pull)
        case RuleAction.MERGE:
            branch_actions.merge_pull(loop, snapshot, pull)
        case _:
            raise InapplicableRule(rule, observation)
