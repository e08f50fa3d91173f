"""GraphQL resolvers for pull requests."""

from collections.abc import Mapping
from typing import Any

from bmad_autopilot.sim.github import merge, reviews
from bmad_autopilot.sim.github.forge_view import url_of
from bmad_autopilot.sim.github.records import SimComment, SimPull
from tests.fake_github.graphql import Connection, Context, Node, Resolver
from tests.fake_github.graphql_values import actor_node, attributes, computed, ref_node, timestamp


def _comments(kind: str, comments: list[SimComment]) -> Connection:
    return Connection(f"{kind}Connection", [Node(kind, one) for one in comments])


def _timeline(context: Context, pull: SimPull, arguments: Mapping[str, Any]) -> Connection:
    wanted = arguments.get("itemTypes")
    if wanted != ["HEAD_REF_FORCE_PUSHED_EVENT"]:
        raise ValueError(f"SIMULATOR: unmodelled timeline items {wanted}")
    events = [Node("HeadRefForcePushedEvent", one) for one in pull.force_pushes]
    return Connection("PullRequestTimelineItemsConnection", events)


def _requested(context: Context, pull: SimPull, arguments: Mapping[str, Any]) -> Connection:
    people = [Node("ReviewRequest", context.model.person(login)) for login in pull.requested]
    return Connection("ReviewRequestConnection", people)


def _commits(context: Context, pull: SimPull, arguments: Mapping[str, Any]) -> Connection:
    base = pull.merged_base or context.model.refs.head_of(pull.base_ref)
    ahead = context.model.refs.ahead(base, pull.head)
    return Connection("PullRequestCommitConnection", [Node("PullRequestCommit", one.sha) for one in ahead])


PULL: dict[str, Resolver] = {
    **attributes("number", "id", "title", "body", "state", "is_draft=isDraft", "is_foreign=isCrossRepository"),
    **attributes("is_queued=isInMergeQueue", "head_ref=headRefName", "head=headRefOid", "base_ref=baseRefName"),
    "url": lambda context, pull, arguments: url_of(context.model, pull),
    "createdAt": timestamp(lambda pull: pull.created),
    "updatedAt": timestamp(lambda pull: pull.updated),
    "mergedAt": timestamp(lambda pull: pull.merged_at),
    "merged": computed(lambda pull: bool(pull.merged_at)),
    "closed": computed(lambda pull: not pull.is_open),
    "mergeable": lambda context, pull, arguments: merge.mergeable_state(context.model, pull),
    "mergeStateStatus": lambda context, pull, arguments: merge.merge_state(context.model, pull),
    "reviewDecision": lambda context, pull, arguments: reviews.decision(context.model, pull) or None,
    "baseRefOid": lambda context, pull, arguments: context.model.refs.head_of(pull.base_ref),
    "baseRef": lambda context, pull, arguments: ref_node(context, pull.base_ref),
    "headRef": lambda context, pull, arguments: ref_node(context, pull.head_ref),
    "isMergeQueueEnabled": lambda context, pull, a: context.model.repository.protection(pull.base_ref).queue,
    "mergeCommit": computed(lambda pull: Node("Commit", pull.merged_as) if pull.merged_as else None),
    "author": computed(lambda pull: actor_node(pull.author)),
    "authorAssociation": computed(lambda pull: pull.author.association),
    "labels": computed(lambda pull: Connection("LabelConnection", [Node("Label", one) for one in pull.labels])),
    "comments": computed(lambda pull: _comments("IssueComment", pull.comments)),
    "reviews": computed(
        lambda p: Connection("PullRequestReviewConnection", [Node("PullRequestReview", r) for r in p.reviews])
    ),
    "reviewThreads": computed(
        lambda pull: Connection(
            "PullRequestReviewThreadConnection", [Node("PullRequestReviewThread", one) for one in pull.threads]
        )
    ),
    "reviewRequests": _requested,
    "timelineItems": _timeline,
    "commits": _commits,
}
