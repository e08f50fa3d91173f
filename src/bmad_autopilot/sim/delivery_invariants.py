"""Invariants of every simulated delivery: no effect on GitHub is repeated, only verified trees are merged, no
commit of other people is lost, and every lane ends."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..core.answers import AnswerMeaning
from ..core.journal_fold import fold
from ..core.run_ending import RunEnding
from ..core.run_record import RunRecord
from ..engine.delivery.rounds import current_fix_round
from ..engine.lane import WHEN_APPROVED
from ..engine.story_paths import DEFERRED
from ..github.approval import TRUSTED
from ..github.forge import ReviewState
from .github.model import ACTIONS, VIEWER
from .github.records import GitHubEffect, SimPull
from .invariants import (
    CALL_INVARIANTS,
    MAX_VIOLATIONS,
    no_board_change_is_repeated,
    no_commit_is_made_twice,
    no_question_is_asked_twice,
)
from .memory.git import changed_paths
from .memory.world import Hub
from .result import LaneSession, SimulationResult

# Merges: checked, approved, no open thread; a merged tree that differs is noticed.


def require_hub(result: SimulationResult) -> Hub:
    assert result.world.hub is not None
    return result.world.hub


def our_effects(result: SimulationResult, *kinds: str) -> Iterator[GitHubEffect]:
    return require_hub(result).model.effects.select(*kinds, by=VIEWER)


def answers_of(result: SimulationResult, session: LaneSession) -> set[str]:
    return {str(data.get("means")) for kind, data, _ in result.journal(session.run) if kind == "answered"}


def session_of(result: SimulationResult, pull: SimPull) -> LaneSession | None:
    return next((one for one in result.sessions if one.lane.branch == pull.head_ref), None)


def nothing_is_merged_unproven(result: SimulationResult) -> Iterator[str]:
    for effect in our_effects(result, "merge"):
        yield from (f"#{effect.data['number']}: {problem}" for problem in _objections_to_merge(result, effect))


def _objections_to_merge(result: SimulationResult, effect: GitHubEffect) -> Iterator[str]:
    data = effect.data
    session = session_of(result, require_hub(result).model.pulls[data["number"]])
    plan = session.lane.delivery if session else None
    if session is None or plan is None:
        yield "it is none of ours"
        return
    without = "without-checks" in answers_of(result, session)
    if data["rollup"] != "SUCCESS" and not (data["rollup"] == "" and (without or not plan.checks)):
        yield f"its checks are {data['rollup'] or 'none'}"
    if data["unresolved"]:
        yield f"{data['unresolved']} threads are open"
    if data["obstacle"]:
        yield f"a rule of the branch is not met: {data['obstacle']}"
    if data["objections"]:
        yield f"{data['objections']} ask for changes"
    if plan.merge == WHEN_APPROVED and not _approved(result, effect):
        yield "nobody has approved what it holds"
    if not _passed_our_checks(result, session, data["head"], effect.at):
        yield "our own checks have not passed on it"


def _approved(result: SimulationResult, effect: GitHubEffect) -> bool:
    """Whether a trusted reviewer approved this content; heads that differ only by a merge of the base count."""
    pull = require_hub(result).model.pulls[effect.data["number"]]
    base, head = effect.data["base"], effect.data["head"]
    given = [
        one
        for one in pull.reviews
        if one.state is ReviewState.APPROVED
        and one.at <= effect.at
        and (one.author.association in TRUSTED or one.author.login == ACTIONS)
    ]
    return any(_is_base_alone(result, one.commit, head, base) for one in given)


def _is_base_alone(result: SimulationResult, before: str, head: str, base: str) -> bool:
    """Whether all changes since `before` come from the base. The board and the list of deferred work are merged
    semantically, so they may differ."""
    refs, story_paths = require_hub(result).refs, result.world.story_paths
    old, new, there = refs.files(before), refs.files(head), refs.files(base)
    apart = (story_paths.board, f"{story_paths.folder}/{DEFERRED}")
    return all(new.get(path) == there.get(path) for path in changed_paths(old, new) if path not in apart)


def _passed_our_checks(result: SimulationResult, session: LaneSession, head: str, at: float) -> bool:
    from .memory.branches import MemoryBranches

    code = MemoryBranches(result.world, require_hub(result), session.run, f"{session.lane.key}.pr-1", ()).code(
        head
    )
    record = fold(entry for entry in result.journal(session.run) if entry[2] <= at)
    check = record.checks.get(code)
    return check is not None and check.passed


def what_was_merged_otherwise_is_noticed(result: SimulationResult) -> Iterator[str]:
    """If the merged tree is not the tested one, the run records that and asks."""
    for effect in our_effects(result, "merge"):
        session = session_of(result, require_hub(result).model.pulls[effect.data["number"]])
        if session is None or effect.data["same_tree"]:
            continue
        proofs = [data["proof"] for kind, data, _ in result.journal(session.run) if kind == "merged"]
        if session.ending == RunEnding.COMPLETED and "differs" not in proofs:
            yield f"#{effect.data['number']}"


_MARK = re.compile(r"<!-- bmad-autopilot:[^>]*-->")
_DONE_IN = re.compile(r"Done in ([0-9a-f]{12})\b")


def find_delivery_violations(result: SimulationResult) -> Iterator[str]:
    count = 0
    for invariant in DELIVERY_INVARIANTS:
        for problem in invariant(result):
            count += 1
            if count <= MAX_VIOLATIONS:
                yield f"{invariant.__name__.replace('_', ' ')}: {problem}"


def _repeated(named: Iterable[object]) -> Iterator[str]:
    return (f"{what} {times} times" for what, times in Counter(named).items() if times > 1)


# effects that must not be repeated


def no_pull_request_is_opened_twice(result: SimulationResult) -> Iterator[str]:
    yield from _repeated(effect.data["head_ref"] for effect in our_effects(result, "open-pull"))


def no_reply_is_given_twice(result: SimulationResult) -> Iterator[str]:
    marks = (
        (thread.id, mark)
        for pull in require_hub(result).model.pulls.values()
        for thread in pull.threads
        for comment in thread.comments
        if comment.author.login == VIEWER
        for mark in _MARK.findall(comment.body)
    )
    yield from _repeated(marks)


def nothing_is_merged_twice(result: SimulationResult) -> Iterator[str]:
    """Includes other pull requests of the same branch."""
    pulls = require_hub(result).model.pulls
    yield from _repeated(pulls[effect.data["number"]].head_ref for effect in our_effects(result, "merge"))


def no_review_is_asked_for_twice(result: SimulationResult) -> Iterator[str]:
    """For the same head, unless the pull request was reopened in between."""
    yield from _repeated(_effects_with_heads(result, "request-review"))


def nothing_is_run_again_twice(result: SimulationResult) -> Iterator[str]:
    yield from _repeated((effect.data["name"], effect.data["sha"]) for effect in our_effects(result, "rerun"))


def _effects_with_heads(result: SimulationResult, kind: str) -> Iterator[tuple[int, str, int]]:
    """Each effect as (number, head at that time, how often the pull request had been reopened)."""
    model = require_hub(result).model
    for effect in our_effects(result, kind):
        number = int(effect.data["number"])
        heads = [sha for at, sha in model.pulls[number].heads if at <= effect.at]
        reopened = [
            one for one in our_effects(result, "reopen") if one.at <= effect.at and one.data["number"] == number
        ]
        yield number, heads[-1], len(reopened)


# threads


def threads_are_resolved_by_an_answer(result: SimulationResult) -> Iterator[str]:
    """We resolve a thread only with a reply that names a commit newer than the reviewed one, or if a person
    decided so."""
    model = require_hub(result).model
    for effect in our_effects(result, "resolve"):
        pull = model.pulls[effect.data["number"]]
        thread = next(one for one in pull.threads if one.id == effect.data["thread"])
        replies = [one for one in thread.comments if one.author.login == VIEWER and one.at <= effect.at]
        session = session_of(result, pull)
        decided = session is not None and "close-thread" in answers_of(result, session)
        if not replies:
            yield f"{thread.id} without a reply"
        elif not decided and not _is_answered_by_commit(
            result, replies[-1].body, effect.data["head"], thread.anchor
        ):
            yield f"{thread.id} by no later commit of {effect.data['head'][-6:]}"


def _is_answered_by_commit(result: SimulationResult, reply: str, head: str, since: str) -> bool:
    named = _DONE_IN.search(reply)
    refs = require_hub(result).refs
    found = [sha for sha in result.world.git.commits if named and sha.startswith(named[1])]
    is_gone = not refs.contains(head, since)  # force-pushed: every present commit is newer than the review
    return any(
        refs.contains(head, sha) and sha != since and (is_gone or refs.contains(sha, since)) for sha in found
    )


# other people's commits


def no_commit_is_pushed_over(result: SimulationResult) -> Iterator[str]:
    for effect in our_effects(result, "push"):
        if effect.data["forced"]:
            yield f"{effect.data['branch']} lost {effect.data['lost']}"


def foreign_commits_are_left_alone(result: SimulationResult) -> Iterator[str]:
    """We do not push to a branch that someone else has moved before a person allows it."""
    branches = {one.lane.branch for one in result.sessions}
    movers: dict[str, str] = {}
    for effect in require_hub(result).model.effects.select("push", "delete-branch"):
        branch, before = str(effect.data["branch"]), str(effect.data["before"])
        is_ours = effect.by == VIEWER and effect.kind == "push"
        is_theirs = bool(before) and movers.get(branch, VIEWER) != VIEWER
        if is_ours and is_theirs and not _was_allowed(result, branch, before, effect.at):
            yield f"{branch} at {effect.at:.0f}"
        if branch in branches:
            movers[branch] = effect.by


def _was_allowed(result: SimulationResult, branch: str, before: str, at: float) -> bool:
    run = next((one.run for one in result.sessions if one.lane.branch == branch), "")
    is_permitted = False
    for kind, data, when in result.journal(run):
        if when > at:
            break
        is_permitted = is_permitted or (
            kind == "answered" and data.get("means") in (AnswerMeaning.TAKE_OVER, AnswerMeaning.OBSERVE)
        )
        if (
            is_permitted
            and kind == "foreign-taken"
            and require_hub(result).refs.contains(str(data["sha"]), before)
        ):
            return True
    return False


def only_merged_branches_are_deleted(result: SimulationResult) -> Iterator[str]:
    model = require_hub(result).model
    for effect in our_effects(result, "delete-branch"):
        branch, head = effect.data["branch"], effect.data["before"]
        merged = [one.head for one in model.pulls.values() if one.head_ref == branch and one.merged_at]
        if head not in merged:
            yield f"{branch} at {head[-6:]}"


# endings


_WAITS_FOR_PEOPLE = (
    "review threads that a person has to close",
    "a person to merge it",
    "an approval",
    "a person to take it out of draft",
)


def everything_ends(result: SimulationResult) -> Iterator[str]:
    if result.ending not in ("done", "blocked", "quiet"):
        yield f"the autopilot {result.ending or 'goes on for ever'}"
    for session in result.sessions:
        yield from (f"{session.lane.key} {problem}" for problem in _not_ended(result, session))


def _not_ended(result: SimulationResult, session: LaneSession) -> Iterator[str]:
    record = fold(result.journal(session.run))
    if record.final_status == RunEnding.COMPLETED:
        if not record.delivery.merged and not record.excluded_stories_answer:
            yield "is over, and not merged"
    elif record.final_status == RunEnding.FAILED:
        if not any(one.get("means") == AnswerMeaning.ABORT for one in record.answers):
            yield "was given up, and nobody said so"
    elif _needs_checkout(record) and _is_checkout_in_use(result, session):
        return
    elif record.question is not None:
        asked = result.world.questions.get((session.run, str(record.question["question"])))
        if asked is None or asked.answer is not None:
            yield "has its answer, and does not go on"
    else:
        yield from _endless_wait(result, session, record.delivery.current_wait)


def _needs_checkout(record: RunRecord) -> bool:
    """The lane has unfinished work that needs the work tree, or waits for the work tree."""
    waits = str((record.delivery.current_wait or {}).get("why", ""))
    return (
        not record.delivery.started_at
        or current_fix_round(record) is not None
        or waits.startswith("the work tree")
    )


def _is_checkout_in_use(result: SimulationResult, session: LaneSession) -> bool:
    """Whether another lane's unfinished work occupies the checkout."""
    git, others = result.world.git, [one for one in result.sessions if one is not session]
    owner = next((one for one in others if one.lane.branch == git.branch), None)
    return (
        bool(git.dirty())
        and owner is not None
        and fold(result.journal(owner.run)).final_status != RunEnding.COMPLETED
    )


def _endless_wait(
    result: SimulationResult, session: LaneSession, waits: Mapping[str, Any] | None
) -> Iterator[str]:
    why = str(waits["why"]) if waits else "nothing"
    if why in _WAITS_FOR_PEOPLE:
        return
    if "which it stands on" in why or "does not hold what was merged" in why:
        return
    if why.startswith("the work tree") or "has no branch" in why:
        others = [one for one in result.sessions if one is not session]
        if any(not fold(result.journal(one.run)).final_status for one in others):
            return
    yield f"waits for {why}"


def merged_means_in_the_base(result: SimulationResult) -> Iterator[str]:
    refs = require_hub(result).refs
    for session in result.sessions:
        merged = fold(result.journal(session.run)).delivery.merged
        plan = session.lane.delivery
        if not merged or plan is None or refs.contains(refs.head_of(plan.base), merged):
            continue
        # A person merged it into the branch below: it reaches the base with that branch.
        pulls = [
            one for one in require_hub(result).model.pulls.values() if one.merged_at and one.base_ref == plan.base
        ]
        if not any(refs.contains(one.head, merged) for one in pulls):
            yield f"{session.lane.key}: {merged[-6:]}"


DELIVERY_INVARIANTS: tuple[Callable[[SimulationResult], Iterator[str]], ...] = (
    no_pull_request_is_opened_twice,
    no_reply_is_given_twice,
    nothing_is_merged_twice,
    no_review_is_asked_for_twice,
    nothing_is_run_again_twice,
    nothing_is_merged_unproven,
    what_was_merged_otherwise_is_noticed,
    threads_are_resolved_by_an_answer,
    no_commit_is_pushed_over,
    foreign_commits_are_left_alone,
    only_merged_branches_are_deleted,
    everything_ends,
    merged_means_in_the_base,
    no_question_is_asked_twice,
    no_commit_is_made_twice,
    no_board_change_is_repeated,
    *CALL_INVARIANTS,
)
