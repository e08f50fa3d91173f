"""Reviews, threads and comments on the simulated GitHub."""

from collections.abc import Sequence
from typing import NamedTuple

from ...github.forge import COPILOT, ReviewState
from .model import ACTIONS, VIEWER, SimGitHub, track_threads
from .records import SimComment, SimPull, SimReview, SimThread, refuse

CONTEXT_LINES = 3  # lines of a hunk above the commented one


class Remark(NamedTuple):
    path: str
    line: int
    body: str


# review requests


def request_reviews(model: SimGitHub, number: int, reviewers: Sequence[str], *, by: str = VIEWER) -> None:
    model.require_write_access(by)
    pull = model.pull(number)
    for reviewer in reviewers:
        if reviewer == COPILOT and not model.repository.copilot:
            refuse(422, "Copilot code review is not enabled for this repository.")
        if reviewer not in model.people:
            refuse(422, "Reviews may only be requested from collaborators. One or more of the users is not one.")
        if reviewer == pull.author.login:
            refuse(422, "Review cannot be requested from pull request author.")
    for reviewer in reviewers:
        if reviewer not in pull.requested:
            pull.requested.append(reviewer)
        model.record(by, "request-review", number=number, reviewer=reviewer)
        model.notify(f"review-requested:{reviewer}", pull)


# reviews


def review(
    model: SimGitHub,
    number: int,
    state: ReviewState,
    *,
    by: str,
    body: str = "",
    head: str = "",
    remarks: Sequence[Remark] = (),
) -> SimReview:
    pull = model.pull(number)
    if state is not ReviewState.COMMENTED:
        _require_reviewable(model, pull, state, by)
    commit = head or pull.head
    if commit not in (sha for _, sha in pull.heads):
        refuse(422, "Unprocessable Entity: commit_id is not part of the pull request")
    name = model.next_id()
    found = SimReview(f"PRR_{name}", name, model.person(by), state, commit, model.now, body)
    pull.reviews.append(found)
    for remark in remarks:
        pull.threads.append(_thread(model, commit, remark, by))
    if commit != pull.head:
        track_threads(model.refs, pull)
    if by in pull.requested:
        pull.requested.remove(by)
    model.record(by, "review", number=number, state=str(state), commit=commit, threads=len(remarks))
    model.notify("reviewed", pull)
    return found


def _require_reviewable(model: SimGitHub, pull: SimPull, state: ReviewState, by: str) -> None:
    if not pull.is_open:
        refuse(422, "Unprocessable Entity: Can not review a closed pull request")
    if by == pull.author.login:
        word = "approve" if state is ReviewState.APPROVED else "request changes on"
        refuse(422, f"Unprocessable Entity: Can not {word} your own pull request")
    if by == ACTIONS and not model.repository.actions_approve:
        refuse(422, "Unprocessable Entity: GitHub Actions is not permitted to approve pull requests.")


def _thread(model: SimGitHub, commit: str, remark: Remark, by: str) -> SimThread:
    lines = (model.refs.read(commit, remark.path) or b"").decode(errors="replace").splitlines()
    shown = lines[max(0, remark.line - 1 - CONTEXT_LINES) : remark.line]
    hunk = "\n".join(
        [f"@@ -0,0 +{max(1, remark.line - CONTEXT_LINES)},{len(shown)} @@", *(f"+{line}" for line in shown)]
    )
    name = model.next_id()
    thread = SimThread(f"PRRT_{name}", remark.path, remark.line, remark.line, hunk, commit)
    thread.comments.append(_comment(model, "PRRC", remark.body, by))
    return thread


def _comment(model: SimGitHub, prefix: str, body: str, by: str) -> SimComment:
    name = model.next_id()
    return SimComment(f"{prefix}_{name}", name, model.person(by), body, model.now)


def dismiss(model: SimGitHub, number: int, review_id: int, why: str, *, by: str = VIEWER) -> None:
    model.require_write_access(by)
    pull = model.pull(number)
    found = next((one for one in pull.reviews if one.number == review_id), None)
    if found is None:
        refuse(404, "Not Found", "NOT_FOUND")
    if found.state not in (ReviewState.APPROVED, ReviewState.CHANGES):
        refuse(422, "Unprocessable Entity: Can not dismiss a commented pull request review")
    found.state = ReviewState.DISMISSED
    model.record(by, "dismiss", number=number, review=review_id, why=why)
    model.notify("dismissed", pull)


# threads and comments


def find_thread(model: SimGitHub, name: str) -> tuple[SimPull, SimThread]:
    every = ((pull, thread) for pull in model.pulls.values() for thread in pull.threads)
    found = next((one for one in every if one[1].id == name), None)
    if found is None:
        refuse(404, f"Could not resolve to a node with the global id of '{name}'", "NOT_FOUND")
    return found


def reply(model: SimGitHub, thread: str, body: str, *, by: str = VIEWER) -> SimComment:
    pull, found = find_thread(model, thread)
    comment = _comment(model, "PRRC", body, by)
    found.comments.append(comment)
    model.record(by, "reply", number=pull.number, thread=thread, body=body)
    model.notify("replied", pull)
    return comment


def resolve(model: SimGitHub, thread: str, *, by: str = VIEWER, is_resolved: bool = True) -> SimThread:
    model.require_write_access(by)
    pull, found = find_thread(model, thread)
    if found.is_resolved != is_resolved:
        found.is_resolved, found.resolved_by = is_resolved, by if is_resolved else ""
        kind = "resolve" if is_resolved else "unresolve"
        model.record(by, kind, number=pull.number, thread=thread, head=pull.head)
        model.notify("resolved" if is_resolved else "unresolved", pull)
    return found


def comment(model: SimGitHub, number: int, body: str, *, by: str = VIEWER) -> SimComment:
    pull = model.pull(number)
    found = _comment(model, "IC", body, by)
    pull.comments.append(found)
    model.record(by, "comment", number=number, body=body)
    model.notify("commented", pull)
    return found


# approvals


def approvals(model: SimGitHub, pull: SimPull) -> list[str]:
    """Logins with write access whose latest review approves."""
    return _logins_with_last_state(model, pull, ReviewState.APPROVED)


def objections(model: SimGitHub, pull: SimPull) -> list[str]:
    return _logins_with_last_state(model, pull, ReviewState.CHANGES)


def _logins_with_last_state(model: SimGitHub, pull: SimPull, state: ReviewState) -> list[str]:
    deciding = (ReviewState.APPROVED, ReviewState.CHANGES, ReviewState.DISMISSED)
    last = {one.author.login: one.state for one in pull.reviews if one.state in deciding}
    return [login for login, word in last.items() if word is state and login in model.writers]


def decision(model: SimGitHub, pull: SimPull) -> str:
    needed = model.repository.protection(pull.base_ref).approvals
    if objections(model, pull):
        return "CHANGES_REQUESTED"
    if not needed:
        return ""
    return "APPROVED" if len(approvals(model, pull)) >= needed else "REVIEW_REQUIRED"
