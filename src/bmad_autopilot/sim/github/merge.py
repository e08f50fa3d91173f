"""Merging on the simulated GitHub: mergeability, branch rules, the merge itself and the merge queue."""

from ...github.forge import PullState
from . import checks, reviews
from .model import VIEWER, SimGitHub
from .records import SimPull, refuse
from .refs import RefMoved, SquashResult

MERGEABILITY_SECONDS = 2.0  # until GitHub knows whether a new head merges with its base
QUEUE_SECONDS = 90.0


def mergeable_state(model: SimGitHub, pull: SimPull) -> str:
    """Computed on request, and UNKNOWN for the first seconds."""
    base = model.refs.head_of(pull.base_ref)
    if not pull.is_open:
        return "UNKNOWN"
    if pull.mergeability is None or pull.mergeability[:2] != (pull.head, base):
        pull.mergeability = (pull.head, base, model.now + MERGEABILITY_SECONDS)
    if model.now < pull.mergeability[2]:
        return "UNKNOWN"
    return "CONFLICTING" if _trial_merge(model, pull.head, base).conflicts else "MERGEABLE"


def _trial_merge(model: SimGitHub, head: str, base: str) -> SquashResult:
    """Cached: the merge of two commits never changes."""
    known = model.trial_merges.get((head, base))
    if known is None:
        known = model.trial_merges[head, base] = (
            SquashResult(head) if model.refs.contains(head, base) else model.refs.squash(base, head, "Trial")
        )
    return known


def merge_state(model: SimGitHub, pull: SimPull) -> str:
    mergeable = mergeable_state(model, pull)
    if mergeable != "MERGEABLE":
        return "DIRTY" if mergeable == "CONFLICTING" else "UNKNOWN"
    if pull.is_draft:
        return "DRAFT"
    if unmet_rule(model, pull):
        return "BLOCKED"
    if _is_behind(model, pull):
        return "BEHIND"
    return "CLEAN" if all(check.is_good for check in checks.latest_checks(model, pull.head)) else "UNSTABLE"


def _is_behind(model: SimGitHub, pull: SimPull) -> bool:
    strict = model.repository.protection(pull.base_ref).strict
    return strict and not model.refs.contains(pull.head, model.refs.head_of(pull.base_ref))


def unmet_rule(model: SimGitHub, pull: SimPull) -> str:
    """GitHub's message for the first rule of the base branch that is not met; empty if all are."""
    rules = model.repository.protection(pull.base_ref)
    if reviews.objections(model, pull) and rules.approvals:
        return "Changes have been requested by a reviewer with write access."
    if len(reviews.approvals(model, pull)) < rules.approvals:
        return f"At least {rules.approvals} approving review is required by reviewers with write access."
    missing = checks.missing_required(model, pull)
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
    """Merge, and return the new commit on the base."""
    model.require_write_access(by)
    pull = model.pull(number)
    _require_mergeable(model, pull, head, method, by in model.admins)
    if model.repository.protection(pull.base_ref).queue:
        refuse(405, "Changes must be made through the merge queue")
    return _merge_pull(model, pull, subject or f"{pull.title} (#{number})", body, by)


def _require_mergeable(model: SimGitHub, pull: SimPull, head: str, method: str, bypasses: bool = False) -> None:
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
    if _trial_merge(model, pull.head, model.refs.head_of(pull.base_ref)).conflicts:
        refuse(405, "Pull Request is not mergeable")
    if bypasses:
        return
    why = unmet_rule(model, pull)
    if why:
        refuse(405, why)
    if _is_behind(model, pull):
        refuse(405, "Head branch is not up to date with the base branch.")


def _merge_pull(model: SimGitHub, pull: SimPull, subject: str, body: str, by: str) -> str:
    base = model.refs.head_of(pull.base_ref)
    squashed = model.refs.squash(base, pull.head, f"{subject}\n\n{body}".rstrip("\n") + "\n")
    if squashed.conflicts:
        refuse(405, "Pull Request is not mergeable")
    try:
        model.refs.set(pull.base_ref, squashed.sha, base)
    except RefMoved:
        refuse(405, "Base branch was modified. Review and try the merge again.")
    pull.state, pull.is_queued, pull.merged_as, pull.merged_at = PullState.MERGED, False, squashed.sha, model.now
    pull.merged_base = base
    model.record(by, "merge", **_merge_facts(model, pull, base), subject=subject, body=body)
    model.sync_branches(by)
    model.notify("merged", pull)
    if model.repository.deletes_branches and model.refs.head_of(pull.head_ref) == pull.head:
        model.refs.delete(pull.head_ref)
        model.sync_branches("")
    return squashed.sha


def _merge_facts(model: SimGitHub, pull: SimPull, base: str) -> dict[str, object]:
    """The facts at the time of the merge, for the invariants."""
    merged_tree = model.refs.tree_of(pull.merged_as)
    return {
        "number": pull.number,
        "head": pull.head,
        "base_ref": pull.base_ref,
        "base": base,
        "merged": pull.merged_as,
        "rollup": checks.rollup(model, pull.head),
        "unresolved": pull.unresolved,
        "approvals": tuple(reviews.approvals(model, pull)),
        "fresh_approvals": tuple(
            one.author.login for one in pull.reviews if one.state == "APPROVED" and one.commit == pull.head
        ),
        "obstacle": unmet_rule(model, pull),
        "objections": tuple(reviews.objections(model, pull)),
        "same_tree": merged_tree == model.refs.tree_of(pull.head),
        "held_base": model.refs.contains(pull.head, base),
    }


# the merge queue


def enqueue(model: SimGitHub, number: int, head: str = "", *, by: str = VIEWER) -> None:
    model.require_write_access(by)
    pull = model.pull(number)
    if not model.repository.protection(pull.base_ref).queue:
        refuse(422, "Merge queue is not enabled on this branch")
    _require_mergeable(model, pull, head, "squash")
    if not pull.is_queued:
        pull.is_queued = True
        model.record(by, "enqueue", number=number, head=pull.head)
        model.notify("enqueued", pull)
        queued_head = pull.head
        model.call_later(QUEUE_SECONDS, lambda: _leave_queue(model, pull, queued_head))


def _leave_queue(model: SimGitHub, pull: SimPull, head: str) -> None:
    """Merge if nothing has changed; otherwise drop it from the queue without a reason, as GitHub does."""
    if not pull.is_queued:
        return
    base = model.refs.head_of(pull.base_ref)
    if pull.head != head or unmet_rule(model, pull) or _trial_merge(model, head, base).conflicts:
        pull.is_queued = False
        model.notify("dequeued", pull)
        return
    _merge_pull(model, pull, f"{pull.title} (#{pull.number})", pull.body, "")
