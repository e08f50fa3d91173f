"""Pull requests in GitHub's graph."""

from collections.abc import Mapping
from typing import Any

from .. import joining, reviewing
from ..records import SimComment, SimPull
from ..showing import url_of
from .graph import Context, Node, Page, Resolver
from .values import at, of, plain, ref, who


def _comments(kind: str, comments: list[SimComment]) -> Page:
    return Page(f"{kind}Connection", [Node(kind, one) for one in comments])


def _timeline(context: Context, pull: SimPull, arguments: Mapping[str, Any]) -> Page:
    wanted = arguments.get("itemTypes")
    if wanted != ["HEAD_REF_FORCE_PUSHED_EVENT"]:
        raise ValueError(f"SIMULATOR: unmodelled timeline items {wanted}")
    events = [Node("HeadRefForcePushedEvent", one) for one in pull.force_pushes]
    return Page("PullRequestTimelineItemsConnection", events)


def _requested(context: Context, pull: SimPull, arguments: Mapping[str, Any]) -> Page:
    people = [Node("ReviewRequest", context.model.person(login)) for login in pull.requested]
    return Page("ReviewRequestConnection", people)


def _commits(context: Context, pull: SimPull, arguments: Mapping[str, Any]) -> Page:
    base = pull.merged_base or context.model.refs.head_of(pull.base_ref)
    ahead = context.model.refs.ahead(base, pull.head)
    return Page("PullRequestCommitConnection", [Node("PullRequestCommit", one.sha) for one in ahead])


PULL: dict[str, Resolver] = {
    **plain("number", "id", "title", "body", "state", "is_draft=isDraft", "is_foreign=isCrossRepository"),
    **plain("is_queued=isInMergeQueue", "head_ref=headRefName", "head=headRefOid", "base_ref=baseRefName"),
    "url": lambda context, pull, arguments: url_of(context.model, pull),
    "createdAt": at(lambda pull: pull.created),
    "updatedAt": at(lambda pull: pull.updated),
    "mergedAt": at(lambda pull: pull.merged_at),
    "merged": of(lambda pull: bool(pull.merged_at)),
    "closed": of(lambda pull: not pull.is_open),
    "mergeable": lambda context, pull, arguments: joining.mergeable(context.model, pull),
    "mergeStateStatus": lambda context, pull, arguments: joining.merge_state(context.model, pull),
    "reviewDecision": lambda context, pull, arguments: reviewing.decision(context.model, pull) or None,
    "baseRefOid": lambda context, pull, arguments: context.model.refs.head_of(pull.base_ref),
    "baseRef": lambda context, pull, arguments: ref(context, pull.base_ref),
    "headRef": lambda context, pull, arguments: ref(context, pull.head_ref),
    "isMergeQueueEnabled": lambda context, pull, a: context.model.repository.protection(pull.base_ref).queue,
    "mergeCommit": of(lambda pull: Node("Commit", pull.merged_as) if pull.merged_as else None),
    "author": of(lambda pull: who(pull.author)),
    "authorAssociation": of(lambda pull: pull.author.association),
    "labels": of(lambda pull: Page("LabelConnection", [Node("Label", one) for one in pull.labels])),
    "comments": of(lambda pull: _comments("IssueComment", pull.comments)),
    "reviews": of(
        lambda p: Page("PullRequestReviewConnection", [Node("PullRequestReview", r) for r in p.reviews])
    ),
    "reviewThreads": of(
        lambda pull: Page(
            "PullRequestReviewThreadConnection", [Node("PullRequestReviewThread", one) for one in pull.threads]
        )
    ),
    "reviewRequests": _requested,
    "timelineItems": _timeline,
    "commits": _commits,
}
