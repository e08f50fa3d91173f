"""What must hold of every delivery, whatever went wrong: nothing is done twice on GitHub, nothing is merged that
was not proven, nobody's commits are lost, and everything ends."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..core.folding import fold
from ..core.records import RunRecord
from ..engine.delivery.rounds import round_in_hand
from .github.model import VIEWER
from .invariants import MAX_TOLD, no_board_change_is_repeated, no_commit_is_made_twice, no_question_is_asked_twice
from .invariants_calls import CALL_PROMISES
from .invariants_merging import (
    answers_of,
    hub_of,
    nothing_is_merged_unproven,
    ours,
    session_of,
    what_was_merged_otherwise_is_noticed,
)
from .played import Played, Session

_MARK = re.compile(r"<!-- bmad-autopilot:[^>]*-->")
_DONE_IN = re.compile(r"Done in ([0-9a-f]{12})\b")


def broken_deliveries(played: Played) -> Iterator[str]:
    told = 0
    for promise in DELIVERY_PROMISES:
        for problem in promise(played):
            told += 1
            if told <= MAX_TOLD:
                yield f"{promise.__name__.replace('_', ' ')}: {problem}"


def _twice(named: Iterable[object]) -> Iterator[str]:
    return (f"{what} {times} times" for what, times in Counter(named).items() if times > 1)


# once


def no_pull_request_is_opened_twice(played: Played) -> Iterator[str]:
    yield from _twice(effect.data["head_ref"] for effect in ours(played, "open-pull"))


def no_reply_is_given_twice(played: Played) -> Iterator[str]:
    marks = (
        (thread.id, mark)
        for pull in hub_of(played).model.pulls.values()
        for thread in pull.threads
        for comment in thread.comments
        if comment.author.login == VIEWER
        for mark in _MARK.findall(comment.body)
    )
    yield from _twice(marks)


def nothing_is_merged_twice(played: Played) -> Iterator[str]:
    """Also not as another pull request of the same branch."""
    pulls = hub_of(played).model.pulls
    yield from _twice(pulls[effect.data["number"]].head_ref for effect in ours(played, "merge"))


def no_review_is_asked_for_twice(played: Played) -> Iterator[str]:
    """Of the same head, as long as nobody closes it in between."""
    yield from _twice(_with_heads(played, "request-review"))


def nothing_is_run_again_twice(played: Played) -> Iterator[str]:
    yield from _twice((effect.data["name"], effect.data["sha"]) for effect in ours(played, "rerun"))


def _with_heads(played: Played, kind: str) -> Iterator[tuple[int, str, int]]:
    """With how often it had been opened again."""
    model = hub_of(played).model
    for effect in ours(played, kind):
        number = int(effect.data["number"])
        heads = [sha for at, sha in model.pulls[number].heads if at <= effect.at]
        reopened = [one for one in ours(played, "reopen") if one.at <= effect.at and one.data["number"] == number]
        yield number, heads[-1], len(reopened)


# threads


def threads_are_resolved_by_an_answer(played: Played) -> Iterator[str]:
    """A reply of ours, and a commit on the head that its author had not seen; or a person has decided."""
    model = hub_of(played).model
    for effect in ours(played, "resolve"):
        pull = model.pulls[effect.data["number"]]
        thread = next(one for one in pull.threads if one.id == effect.data["thread"])
        replies = [one for one in thread.comments if one.author.login == VIEWER and one.at <= effect.at]
        session = session_of(played, pull)
        decided = session is not None and "close-thread" in answers_of(played, session)
        if not replies:
            yield f"{thread.id} without a reply"
        elif not decided and not _is_on(played, replies[-1].body, effect.data["head"], thread.anchor):
            yield f"{thread.id} by no later commit of {effect.data['head'][-6:]}"


def _is_on(played: Played, reply: str, head: str, since: str) -> bool:
    named = _DONE_IN.search(reply)
    refs = hub_of(played).refs
    found = [sha for sha in played.world.git.commits if named and sha.startswith(named[1])]
    is_gone = not refs.contains(head, since)  # pushed over by somebody: what is there came after that
    return any(
        refs.contains(head, sha) and sha != since and (is_gone or refs.contains(sha, since)) for sha in found
    )


# other people's commits


def no_commit_is_pushed_over(played: Played) -> Iterator[str]:
    for effect in ours(played, "push"):
        if effect.data["forced"]:
            yield f"{effect.data['branch']} lost {effect.data['lost']}"


def foreign_commits_are_left_alone(played: Played) -> Iterator[str]:
    """Nothing is pushed to a branch that somebody else has moved, before a person has said so."""
    branches = {one.lane.branch for one in played.sessions}
    movers: dict[str, str] = {}
    for effect in hub_of(played).model.effects.of("push", "delete-branch"):
        branch, before = str(effect.data["branch"]), str(effect.data["before"])
        is_ours = effect.by == VIEWER and effect.kind == "push"
        is_theirs = bool(before) and movers.get(branch, VIEWER) != VIEWER
        if is_ours and is_theirs and not _was_allowed(played, branch, before, effect.at):
            yield f"{branch} at {effect.at:.0f}"
        if branch in branches:
            movers[branch] = effect.by


def _was_allowed(played: Played, branch: str, before: str, at: float) -> bool:
    run = next((one.run for one in played.sessions if one.lane.branch == branch), "")
    said = False
    for kind, data, when in played.journal(run):
        if when > at:
            break
        said = said or (kind == "answered" and data.get("means") in ("take-over", "look"))
        if said and kind == "foreign-taken" and hub_of(played).refs.contains(str(data["sha"]), before):
            return True
    return False


def only_merged_branches_are_deleted(played: Played) -> Iterator[str]:
    model = hub_of(played).model
    for effect in ours(played, "delete-branch"):
        branch, held = effect.data["branch"], effect.data["before"]
        merged = [one.head for one in model.pulls.values() if one.head_ref == branch and one.merged_at]
        if held not in merged:
            yield f"{branch} at {held[-6:]}"


# the end


_OTHERS = (
    "review threads that a person has to close",
    "a person to merge it",
    "an approval",
    "a person to take it out of draft",
)


def everything_ends(played: Played) -> Iterator[str]:
    if played.ending not in ("done", "blocked", "quiet"):
        yield f"the autopilot {played.ending or 'goes on for ever'}"
    for session in played.sessions:
        yield from (f"{session.lane.key} {problem}" for problem in _unended(played, session))


def _unended(played: Played, session: Session) -> Iterator[str]:
    record = fold(played.journal(session.run))
    if record.ended == "completed":
        if not record.delivery.merged and not record.left_out:
            yield "is over, and not merged"
    elif record.ended == "failed":
        if not any(one.get("means") == "abort" for one in record.answers):
            yield "was given up, and nobody said so"
    elif _wants_the_place(record) and _is_taken(played, session):
        return
    elif record.question is not None:
        asked = played.world.questions.get((session.run, str(record.question["question"])))
        if asked is None or asked.answer is not None:
            yield "has its answer, and does not go on"
    else:
        yield from _waits_in_vain(played, session, record.delivery.waits)


def _wants_the_place(record: RunRecord) -> bool:
    """Its own unfinished work lies on another branch, or it says that it waits for that."""
    waits = str((record.delivery.waits or {}).get("why", ""))
    return not record.delivery.began or round_in_hand(record) is not None or waits.startswith("the work tree")


def _is_taken(played: Played, session: Session) -> bool:
    """The checkout, by what another has not finished."""
    git, others = played.world.git, [one for one in played.sessions if one is not session]
    owner = next((one for one in others if one.lane.branch == git.branch), None)
    return bool(git.dirty()) and owner is not None and fold(played.journal(owner.run)).ended != "completed"


def _waits_in_vain(played: Played, session: Session, waits: Mapping[str, Any] | None) -> Iterator[str]:
    why = str(waits["why"]) if waits else "nothing"
    if why in _OTHERS:
        return
    if "which it stands on" in why or "does not hold what was merged" in why:
        return
    if why.startswith("the work tree") or "has no branch" in why:
        others = [one for one in played.sessions if one is not session]
        if any(not fold(played.journal(one.run)).ended for one in others):
            return
    yield f"waits for {why}"


def merged_means_in_the_base(played: Played) -> Iterator[str]:
    refs = hub_of(played).refs
    for session in played.sessions:
        merged = fold(played.journal(session.run)).delivery.merged
        plan = session.lane.delivery
        if not merged or plan is None or refs.contains(refs.head_of(plan.base), merged):
            continue
        # Into the branch that it stands on, by a person: with that it comes.
        pulls = [one for one in hub_of(played).model.pulls.values() if one.merged_at and one.base_ref == plan.base]
        if not any(refs.contains(one.head, merged) for one in pulls):
            yield f"{session.lane.key}: {merged[-6:]}"


DELIVERY_PROMISES: tuple[Callable[[Played], Iterator[str]], ...] = (
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
    *CALL_PROMISES,
)
