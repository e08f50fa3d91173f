"""The effects of GitHub's graph that we use."""

from collections.abc import Callable, Mapping
from typing import Any

from .. import joining, reviewing
from ..records import SimPull, refuse
from .graph import Context, Node, Resolver

Act = Callable[[Context, Mapping[str, Any]], Mapping[str, Any]]


def _pull(context: Context, given: Mapping[str, Any]) -> SimPull:
    name = given["pullRequestId"]
    found = next((pull for pull in context.model.pulls.values() if pull.id == name), None)
    if found is None:
        refuse(404, f"Could not resolve to a node with the global id of '{name}'", "NOT_FOUND")
    return found


def _ready(context: Context, given: Mapping[str, Any]) -> Mapping[str, Any]:
    pull = _pull(context, given)
    context.model.mark_ready(pull.number, by=context.viewer)
    return {"pullRequest": Node("PullRequest", pull)}


def _request(context: Context, given: Mapping[str, Any]) -> Mapping[str, Any]:
    pull = _pull(context, given)
    logins = [*(given.get("botLogins") or []), *(given.get("userLogins") or [])]
    reviewing.request(context.model, pull.number, logins, by=context.viewer)
    return {"pullRequest": Node("PullRequest", pull)}


def _reply(context: Context, given: Mapping[str, Any]) -> Mapping[str, Any]:
    name = given["pullRequestReviewThreadId"]
    comment = reviewing.reply(context.model, name, given["body"], by=context.viewer)
    thread = reviewing.thread_of(context.model, name)[1]
    return {"comment": Node("PullRequestReviewComment", (thread, comment))}


def _resolve(context: Context, given: Mapping[str, Any]) -> Mapping[str, Any]:
    thread = reviewing.resolve(context.model, given["threadId"], by=context.viewer)
    return {"thread": Node("PullRequestReviewThread", thread)}


def _unresolve(context: Context, given: Mapping[str, Any]) -> Mapping[str, Any]:
    thread = reviewing.resolve(context.model, given["threadId"], by=context.viewer, is_resolved=False)
    return {"thread": Node("PullRequestReviewThread", thread)}


def _enqueue(context: Context, given: Mapping[str, Any]) -> Mapping[str, Any]:
    pull = _pull(context, given)
    joining.enqueue(context.model, pull.number, given.get("expectedHeadOid") or "", by=context.viewer)
    return {"mergeQueueEntry": Node("MergeQueueEntry", pull)}


ACTS: Mapping[str, Act] = {
    "markPullRequestReadyForReview": _ready,
    "requestReviewsByLogin": _request,
    "addPullRequestReviewThreadReply": _reply,
    "resolveReviewThread": _resolve,
    "unresolveReviewThread": _unresolve,
    "enqueuePullRequest": _enqueue,
}


def _resolver(act: Act) -> Resolver:
    return lambda context, _, arguments: Node("Payload", act(context, arguments["input"]))


MUTATION: Mapping[str, Resolver] = {name: _resolver(act) for name, act in ACTS.items()}


def _part(name: str) -> Resolver:
    return lambda context, parts, arguments: parts[name]


PAYLOAD: Mapping[str, Resolver] = {
    name: _part(name) for name in ("pullRequest", "comment", "thread", "mergeQueueEntry")
}
