"""GraphQL resolvers for reviews, threads and comments."""

from collections.abc import Mapping
from typing import Any

from tests.fake_github.graphql import Connection, Context, Node, Resolver
from tests.fake_github.graphql_values import actor_node, attributes, computed, timestamp

COMMENT: dict[str, Resolver] = {
    **attributes("id", "body", "number=databaseId"),
    "createdAt": timestamp(lambda one: one.at),
    "author": computed(lambda one: actor_node(one.author)),
    "authorAssociation": computed(lambda one: one.author.association),
    "url": computed(lambda one: f"https://github.com/#{one.id}"),
}
REVIEW: dict[str, Resolver] = {
    **COMMENT,
    "fullDatabaseId": computed(lambda review: str(review.number)),
    "state": computed(lambda review: str(review.state)),
    "submittedAt": timestamp(lambda review: review.at),
    "commit": computed(lambda review: Node("Commit", review.commit) if review.commit else None),
}


def _thread_comments(context: Context, thread: Any, arguments: Mapping[str, Any]) -> Connection:
    kind = "PullRequestReviewComment"
    return Connection(f"{kind}Connection", [Node(kind, (thread, one)) for one in thread.comments])


def _of_comment(resolver: Resolver) -> Resolver:
    return lambda context, pair, arguments: resolver(context, pair[1], arguments)


THREAD: dict[str, Resolver] = {
    **attributes("id", "path", "line", "is_resolved=isResolved", "is_outdated=isOutdated"),
    **attributes("original_line=originalLine"),
    "comments": _thread_comments,
}
THREAD_COMMENT: dict[str, Resolver] = {
    **{name: _of_comment(resolver) for name, resolver in COMMENT.items()},
    "diffHunk": computed(lambda pair: pair[0].hunk),
    "originalCommit": computed(lambda pair: Node("Commit", pair[0].anchor)),
    "path": computed(lambda pair: pair[0].path),
}
