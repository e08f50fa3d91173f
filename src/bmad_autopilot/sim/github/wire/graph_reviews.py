"""Reviews and threads in GitHub's graph."""

from collections.abc import Mapping
from typing import Any

from .graph import Context, Node, Page, Resolver
from .values import at, of, plain, who

WRITTEN: dict[str, Resolver] = {
    **plain("id", "body", "number=databaseId"),
    "createdAt": at(lambda one: one.at),
    "author": of(lambda one: who(one.author)),
    "authorAssociation": of(lambda one: one.author.association),
    "url": of(lambda one: f"https://github.com/#{one.id}"),
}
REVIEW: dict[str, Resolver] = {
    **WRITTEN,
    "fullDatabaseId": of(lambda review: str(review.number)),
    "state": of(lambda review: str(review.state)),
    "submittedAt": at(lambda review: review.at),
    "commit": of(lambda review: Node("Commit", review.commit) if review.commit else None),
}


def _thread_comments(context: Context, thread: Any, arguments: Mapping[str, Any]) -> Page:
    kind = "PullRequestReviewComment"
    return Page(f"{kind}Connection", [Node(kind, (thread, one)) for one in thread.comments])


def _of_comment(resolver: Resolver) -> Resolver:
    return lambda context, pair, arguments: resolver(context, pair[1], arguments)


THREAD: dict[str, Resolver] = {
    **plain("id", "path", "line", "is_resolved=isResolved", "is_outdated=isOutdated"),
    **plain("original_line=originalLine"),
    "comments": _thread_comments,
}
THREAD_COMMENT: dict[str, Resolver] = {
    **{name: _of_comment(resolver) for name, resolver in WRITTEN.items()},
    "diffHunk": of(lambda pair: pair[0].hunk),
    "originalCommit": of(lambda pair: Node("Commit", pair[0].anchor)),
    "path": of(lambda pair: pair[0].path),
}
