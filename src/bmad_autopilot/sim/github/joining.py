"""Merging on the simulated GitHub: whether it can be done, what stands against it, and doing it."""

from ...github.pulls import PullState
from . import checking, reviewing
from .model import VIEWER, SimGitHub
from .records import SimPull, refuse
from .refs import RefMoved, Squash

UNKNOWN_SECONDS = 2.0  # so long it is not known whether a new head and its base merge
QUEUE_SECONDS = 90.0


def mergeable(model: SimGitHub, pull: SimPull) -> str:
    """Worked out when somebody asks, and not at once."""
    base = model.refs.head_of(pull.base_ref)
    if not pull.is_open:
        return "UNKNOWN"
    if pull.merge_known is None or pull.merge_known[:2] != (pull.head, base):
        pull.merge_known = (pull.head, base, model.now + UNKNOWN_SECONDS)
    if model.now < pull.merge_known[2]:
        return "UNKNOWN"
    return "CONFLICTING" if _trial(model, pull.head, base).conflicts else "MERGEABLE"


def _trial(model: SimGitHub, head: str, base: str) -> Squash:
    """Kept: what two commits make of each other never changes."""
    known = model.trials.get((head, base))
    if known is None:
        known = model.trials[head, base] = (
            Squash(head) if model.refs.contains(head, base) else model.refs.squash(base, head, "Trial")
        )
    return known


def merge_state(model: SimGitHub, pull: SimPull) -> str:
    can = mergeable(model, pull)
    if can != "MERGEABLE":
        return "DIRTY" if can == "CONFLICTING" else "UNKNOWN"
    if pull.is_draft:
        return "DRAFT"
    if obstacle(model, pull):
        return "BLOCKED"
    if _is_behind(model, pull):
        return "BEHIND"
    return "CLEAN" if all(check.is_good for check in checking.of_head(model, pull.head)) else "UNSTABLE"


def _is_behind(model: SimGitHub, pull: SimPull) -> bool:
    strict = model.repository.protection(pull.base_ref).strict
    return strict and not model.refs.contains(pull.head, model.refs.head_of(pull.base_ref))


def obstacle(model: SimGitHub, pull: SimPull) -> str:
    """The first rule of the base branch that is not met."""
    rules = model.repository.protection(pull.base_ref)
    if reviewing.objections(model, pull) and rules.approvals:
        return "Changes have been requested by a reviewer with write access."
    if len(reviewing.approvals(model, pull)) < rules.approvals:
        return f"At least {rules.approvals} approving review is required by reviewers with write access."
    missing = checking.missing(model, pull)
    if missing:
        return f'Required status check "{missing[0]}" is expected.'
    if rules.conversations and pull.unresolved:
        return "A conversation must be resolved before this pull request can be merged."
    return ""


def merge(
    model: SimGitHub,
    number: int,
    head: str = "",
    *,
    subject: str = "",
    body: str = "",
    method: str = "squash",
    by: str = VIEWER,
) -> str:
    """The commit on the base."""
    model.allow(by)
    pull = model.pull(number)
    _may_merge(model, pull, head, method, by in model.admins)
    if model.repository.protection(pull.base_ref).queue:
        refuse(405, "Changes must be made through the merge queue")
    return _join(model, pull, subject or f"{pull.title} (#{number})", body, by)


def _may_merge(model: SimGitHub, pull: SimPull, head: str, method: str, bypasses: bool = False) -> None:
    if not pull.is_open:
        refuse(405, "Pull Request is not mergeable")
    if pull.is_draft:
        refuse(405, "Pull Request is still a draft")
    if head and head != pull.head:
        refuse(409, "Head branch was modified. Review and try the merge again.")
    if method == "squash" and not model.repository.squash_allowed:
        refuse(405, "Squash merges are not allowed on this repository.")
    if method == "merge" and model.repository.protection(pull.base_ref).linear:
        refuse(405, "Merge commits are not allowed on this repository.")
    if _trial(model, pull.head, model.refs.head_of(pull.base_ref)).conflicts:
        refuse(405, "Pull Request is not mergeable")
    if bypasses:
        return
    why = obstacle(model, pull)
    if why:
        refuse(405, why)
    if _is_behind(model, pull):
        refuse(405, "Head branch is not up to date with the base branch.")


def _join(model: SimGitHub, pull: SimPull, subject: str, body: str, by: str) -> str:
    base = model.refs.head_of(pull.base_ref)
    made = model.refs.squash(base, pull.head, f"{subject}\n\n{body}".rstrip("\n") + "\n")
    if made.conflicts:
        refuse(405, "Pull Request is not mergeable")
    try:
        model.refs.set(pull.base_ref, made.sha, base)
    except RefMoved:
        refuse(405, "Base branch was modified. Review and try the merge again.")
    pull.state, pull.is_queued, pull.merged_as, pull.merged_at = PullState.MERGED, False, made.sha, model.now
    pull.merged_base = base
    model.did(by, "merge", **_at_that_moment(model, pull, base), subject=subject, body=body)
    model.look_at_branches(by)
    model.tell("merged", pull)
    if model.repository.deletes_branches and model.refs.head_of(pull.head_ref) == pull.head:
        model.refs.delete(pull.head_ref)
        model.look_at_branches("")
    return made.sha


def _at_that_moment(model: SimGitHub, pull: SimPull, base: str) -> dict[str, object]:
    """What a promise about merging is judged by."""
    merged_tree = model.refs.tree_of(pull.merged_as)
    return {
        "number": pull.number,
        "head": pull.head,
        "base_ref": pull.base_ref,
        "base": base,
        "merged": pull.merged_as,
        "rollup": checking.rollup(model, pull.head),
        "unresolved": pull.unresolved,
        "approvals": tuple(reviewing.approvals(model, pull)),
        "fresh_approvals": tuple(
            one.author.login for one in pull.reviews if one.state == "APPROVED" and one.commit == pull.head
        ),
        "obstacle": obstacle(model, pull),
        "objections": tuple(reviewing.objections(model, pull)),
        "same_tree": merged_tree == model.refs.tree_of(pull.head),
        "held_base": model.refs.contains(pull.head, base),
    }


# the merge queue


def enqueue(model: SimGitHub, number: int, head: str = "", *, by: str = VIEWER) -> None:
    model.allow(by)
    pull = model.pull(number)
    if not model.repository.protection(pull.base_ref).queue:
        refuse(422, "Merge queue is not enabled on this branch")
    _may_merge(model, pull, head, "squash")
    if not pull.is_queued:
        pull.is_queued = True
        model.did(by, "enqueue", number=number, head=pull.head)
        model.tell("enqueued", pull)
        taken = pull.head
        model.later(QUEUE_SECONDS, lambda: _leave_queue(model, pull, taken))


def _leave_queue(model: SimGitHub, pull: SimPull, head: str) -> None:
    """Merged if all is still well; else it is put out, and nobody says why."""
    if not pull.is_queued:
        return
    base = model.refs.head_of(pull.base_ref)
    if pull.head != head or obstacle(model, pull) or _trial(model, head, base).conflicts:
        pull.is_queued = False
        model.tell("dequeued", pull)
        return
    _join(model, pull, f"{pull.title} (#{pull.number})", pull.body, "")
