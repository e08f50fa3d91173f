"""GraphQL resolvers for queries, the rate limit and the repository."""

from collections.abc import Mapping
from typing import Any

from bmad_autopilot.github.forge import ForgeActor
from bmad_autopilot.sim.github import reviews
from bmad_autopilot.sim.github.records import GitHubRefusal, refuse
from tests.fake_github.graphql import Connection, Context, Node, Resolver
from tests.fake_github.graphql_values import actor_node, attributes, computed, ref_node, timestamp


def _repository(context: Context, _: None, arguments: Mapping[str, Any]) -> Node:
    kept = context.model.repository
    if (arguments["owner"].lower(), arguments["name"].lower()) != (kept.owner.lower(), kept.name.lower()):
        full = f"{arguments['owner']}/{arguments['name']}"
        refuse(404, f"Could not resolve to a Repository with the name '{full}'.", "NOT_FOUND")
    return Node("Repository", kept)


def _node(context: Context, _: None, arguments: Mapping[str, Any]) -> Node:
    name = arguments["id"]
    for pull in context.model.pulls.values():
        if pull.id == name:
            return Node("PullRequest", pull)
    return Node("PullRequestReviewThread", reviews.find_thread(context.model, name)[1])


def _nodes(context: Context, _: None, arguments: Mapping[str, Any]) -> list[Node | None]:
    def one(name: str) -> Node | None:
        try:
            return _node(context, None, {"id": name})
        except GitHubRefusal:
            return None

    return [one(name) for name in arguments["ids"]]


def _pull(context: Context, _: object, arguments: Mapping[str, Any]) -> Node:
    number = arguments["number"]
    if number not in context.model.pulls:
        refuse(404, f"Could not resolve to a PullRequest with the number of {number}.", "NOT_FOUND")
    return Node("PullRequest", context.model.pulls[number])


def _pulls(context: Context, _: object, arguments: Mapping[str, Any]) -> Connection:
    states = arguments.get("states") or ["OPEN", "CLOSED", "MERGED"]
    wanted = [states] if isinstance(states, str) else states
    chosen = [
        one
        for one in context.model.pulls.values()
        if one.state in wanted
        and arguments.get("headRefName") in (None, one.head_ref)
        and arguments.get("baseRefName") in (None, one.base_ref)
    ]
    if (arguments.get("orderBy") or {}).get("direction") == "DESC":
        chosen.reverse()
    return Connection("PullRequestConnection", [Node("PullRequest", one) for one in chosen])


def _permission(context: Context, _: object, arguments: Mapping[str, Any]) -> str:
    return "WRITE" if context.viewer in context.model.writers else "READ"


QUERY: dict[str, Resolver] = {
    "viewer": lambda context, _, arguments: actor_node(context.model.person(context.viewer)),
    "repository": _repository,
    "node": _node,
    "nodes": _nodes,
    "rateLimit": lambda context, _, arguments: Node("RateLimit", context),
}

RATE_LIMIT: dict[str, Resolver] = {
    "cost": computed(lambda context: context.document.points),
    "remaining": computed(lambda context: context.allowance.remaining),
    "limit": computed(lambda context: context.allowance.limit),
    "used": computed(lambda context: context.allowance.limit - context.allowance.remaining),
    "resetAt": timestamp(lambda context: context.allowance.reset),
}

REPOSITORY: dict[str, Resolver] = {
    **attributes("name", "is_archived=isArchived", "full_name=nameWithOwner"),
    **attributes("squash_allowed=squashMergeAllowed", "deletes_branches=deleteBranchOnMerge"),
    "id": computed(lambda kept: "R_1"),
    "isFork": computed(lambda kept: bool(kept.parent)),
    "parent": computed(lambda kept: Node("Parent", kept.parent) if kept.parent else None),
    "owner": computed(lambda kept: actor_node(ForgeActor(kept.owner))),
    "viewerPermission": _permission,
    "defaultBranchRef": lambda context, kept, arguments: ref_node(context, kept.default_branch),
    "ref": lambda context, kept, arguments: ref_node(
        context, arguments["qualifiedName"].removeprefix("refs/heads/")
    ),
    "object": lambda context, kept, arguments: Node("Commit", arguments["oid"]),
    "pullRequest": _pull,
    "pullRequests": _pulls,
}
