"""The GraphQL mutations that we use."""

from collections.abc import Callable, Mapping
from typing import Any

from bmad_autopilot.sim.github import merge, reviews
from bmad_autopilot.sim.github.records import SimPull, refuse
from tests.fake_github.graphql import Context, Node, Resolver

Mutate = Callable[[Context, Mapping[str, Any]], Mapping[str, Any]]


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
    reviews.request_reviews(context.model, pull.number, logins, by=context.viewer)
    return {"pullRequest": Node("PullRequest", pull)}


def _reply(context: Context, given: Mapping[str, Any]) -> Mapping[str, Any]:
    name = given["pullRequestReviewThreadId"]
    comment = reviews.reply(context.model, name, given["body"], by=context.viewer)
    thread = reviews.find_thread(context.model, name)[1]
    return {"comment": Node("PullRequestReviewComment", (thread, comment))}


def _resolve(context: Context, given: Mapping[str, Any]) -> Mapping[str, Any]:
    thread = reviews.resolve(context.model, given["threadId"], by=context.viewer)
    return {"thread": Node("PullRequestReviewThread", thread)}


def _unresolve(context: Context, given: Mapping[str, Any]) -> Mapping[str, Any]:
    thread = reviews.resolve(context.model, given["threadId"], by=context.viewer, is_resolved=False)
    return {"thread": Node("PullRequestReviewThread", thread)}


def _enqueue(context: Context, given: Mapping[str, Any]) -> Mapping[str, Any]:
    pull = _pull(context, given)
    merge.enqueue(context.model, pull.number, given.get("expectedHeadOid") or "", by=context.viewer)
    return {"mergeQueueEntry": Node("MergeQueueEntry", pull)}


MUTATIONS: Mapping[str, Mutate] = {
    "markPullRequestReadyForReview": _ready,
    "requestReviewsByLogin": _request,
    "addPullRequestReviewThreadReply": _reply,
    "resolveReviewThread": _resolve,
    "unresolveReviewThread": _unresolve,
    "enqueuePullRequest": _enqueue,
}


def _resolver(act: Mutate) -> Resolver:
    return lambda context, _, arguments: Node("Payload", act(context, arguments["input"]))


MUTATION: Mapping[str, Resolver] = {name: _resolver(act) for name, act in MUTATIONS.items()}


def _part(name: str) -> Resolver:
    return lambda context, parts, arguments: parts[name]


PAYLOAD: Mapping[str, Resolver] = {
    name: _part(name) for name in ("pullRequest", "comment", "thread", "mergeQueueEntry")
}
