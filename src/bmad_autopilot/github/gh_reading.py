"""GitHub's answers, read into our types. Tolerant of what is not there and may be missing; loud where what must be
there is not: a pull request that we misread could be merged."""

from collections.abc import Callable, Iterable
from datetime import datetime
from hashlib import sha256
from json import dumps
from typing import Any, TypeVar

from .forge import ForgeError, Trouble
from .pulls import Actor, Comment, Pull, PullMark, PullState, Repository, Review, ReviewState, Thread

_T = TypeVar("_T")
_PUSHERS = frozenset(("ADMIN", "MAINTAIN", "WRITE"))
Node = dict[str, Any]


def odd(what: str, found: object) -> ForgeError:
    shown = "nothing" if found is None else f"{type(found).__name__} {str(found)[:80]!r}"
    return ForgeError(Trouble.ODD, f"GitHub's answer is not what we know: expected {what}, found {shown}")


def node(value: Any, what: str) -> Node:
    if not isinstance(value, dict):
        raise odd(what, value)
    return value


def inner(value: Any, *names: str) -> Any:
    """What lies under these names; None where any of them is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def nodes(connection: Any, what: str) -> list[Node]:
    """A null among them is odd too: it may have been the thread that is open."""
    found = inner(connection, "nodes")
    if not isinstance(found, list):
        raise odd(f"{what}.nodes", found)
    return [node(one, f"a node of {what}") for one in found]


def next_page(connection: Any) -> str:
    """The cursor to go on from; empty at the end."""
    page = node(inner(connection, "pageInfo"), "pageInfo")
    return text(page, "endCursor") if flag(page, "hasNextPage") else ""


def text(value: Node, name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str):
        raise odd(name, found)
    return _sound(found)


def optional(value: Any, *names: str) -> str:
    found = inner(value, *names)
    return _sound(found) if isinstance(found, str) else ""


def flag(value: Node, name: str) -> bool:
    found = value.get(name)
    if not isinstance(found, bool):
        raise odd(f"{name}: true or false", found)
    return found


def number(value: Node, name: str) -> int:
    found = value.get(name)
    if not isinstance(found, int) or isinstance(found, bool):
        raise odd(f"{name}: a number", found)
    return found


def instant(value: Any, *names: str) -> float:
    """0.0 where there is none."""
    found = inner(value, *names)
    if found is None:
        return 0.0
    try:
        return datetime.fromisoformat(found).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        raise odd(f"{names[-1]}: a time", found) from None


def member(kinds: Callable[[str], _T], value: Node, name: str) -> _T:
    try:
        return kinds(text(value, name))
    except ValueError:
        raise odd(f"{name}: a word we know", value.get(name)) from None


def read_repository(data: Node, host: str) -> Repository:
    found = node(data.get("repository"), "repository")
    return Repository(
        owner=text(node(found.get("owner"), "owner"), "login"),
        name=text(found, "name"),
        id=text(found, "id"),
        default_branch=optional(found, "defaultBranchRef", "name"),  # an empty repository has none
        can_push=optional(found, "viewerPermission") in _PUSHERS,
        is_archived=flag(found, "isArchived"),
        is_fork=flag(found, "isFork"),
        parent=optional(found, "parent", "nameWithOwner"),
        squash_allowed=flag(found, "squashMergeAllowed"),
        deletes_branches=flag(found, "deleteBranchOnMerge"),
        viewer=optional(data, "viewer", "login").removesuffix("[bot]"),
        host=host,
    )


def read_mark(found: Node) -> PullMark:
    return PullMark(
        number=number(found, "number"),
        state=member(PullState, found, "state"),
        head_ref=text(found, "headRefName"),
        base_ref=text(found, "baseRefName"),
        head=text(found, "headRefOid"),
        fingerprint=_fingerprint(found),
        title=text(found, "title"),
        url=text(found, "url"),
        is_draft=flag(found, "isDraft"),
        is_foreign=flag(found, "isCrossRepository"),
    )


def _fingerprint(found: Node) -> str:
    """Over what `Mark` asks for, and nothing else: the whole pull request gives the same one."""
    plain = "number state title isDraft isInMergeQueue headRefName headRefOid baseRefName mergeable reviewDecision"
    rollup = inner(found, "headRef", "target", "statusCheckRollup")
    parts = [
        [found.get(name) for name in (*plain.split(), "updatedAt", "lastReviews", "lastThreads")],
        inner(found, "baseRef", "target", "oid"),
        inner(found, "headRef", "target", "oid"),
        [inner(rollup, "state"), inner(rollup, "counted")],
    ]
    return sha256(dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def read_pull(found: Node) -> Pull:
    """Without what has pages of its own: reviews, threads, checks."""
    mark = read_mark(found)
    commit = inner(found, "headRef", "target")  # None: the branch is deleted
    # The commit's own date is what its maker wrote; its first check suite is as old as its arrival.
    suites = [] if commit is None else nodes(inner(commit, "checkSuites"), "checkSuites")
    forced = nodes(found.get("forced"), "timelineItems")
    arrivals = [instant(one, "createdAt") for one in (*suites, *forced)]
    created = instant(found, "createdAt")
    return Pull(
        number=mark.number,
        id=text(found, "id"),
        url=mark.url,
        state=mark.state,
        title=mark.title,
        head_ref=mark.head_ref,
        head=mark.head,
        base_ref=mark.base_ref,
        base=optional(found, "baseRef", "target", "oid") or text(found, "baseRefOid"),
        author=read_actor(found),
        created=created,
        pushed=max(created, instant(commit, "committedDate"), *arrivals),
        is_draft=mark.is_draft,
        is_foreign=mark.is_foreign,
        mergeable=text(found, "mergeable"),
        merge_state=text(found, "mergeStateStatus"),
        decision=optional(found, "reviewDecision"),
        merged_as=optional(found, "mergeCommit", "oid"),
        merged_at=instant(found, "mergedAt"),
        is_queued=flag(found, "isInMergeQueue"),
        needs_queue=flag(found, "isMergeQueueEnabled"),
        body=text(found, "body"),
        labels=tuple(text(label, "name") for label in nodes(found.get("labels"), "labels")),
        requested=tuple(_requested(nodes(found.get("reviewRequests"), "reviewRequests"))),
        comments=tuple(read_comment(comment) for comment in nodes(found.get("comments"), "comments")),
        fingerprint=mark.fingerprint,
    )


def _requested(requests: Iterable[Node]) -> Iterable[str]:
    for request in requests:
        who = request.get("requestedReviewer")  # null: a team that we may not see
        name = optional(who, "login").removesuffix("[bot]") or optional(who, "combinedSlug")
        if name:
            yield name


def read_actor(found: Node) -> Actor:
    author = found.get("author")
    association = optional(found, "authorAssociation") or "NONE"
    if author is None:
        return Actor("ghost", association=association)
    login = text(node(author, "author"), "login")
    is_bot = optional(author, "__typename") == "Bot" or login.endswith("[bot]")
    return Actor(login.removesuffix("[bot]"), is_bot, association)


def read_comment(found: Node) -> Comment:
    return Comment(
        id=text(found, "id"),
        author=read_actor(found),
        body=text(found, "body"),
        at=instant(found, "createdAt"),
        url=optional(found, "url"),
    )


def read_review(found: Node) -> Review:
    return Review(
        id=text(found, "id"),
        author=read_actor(found),
        state=member(ReviewState, found, "state"),
        commit=optional(found, "commit", "oid"),
        at=instant(found, "submittedAt") or instant(found, "createdAt"),
        body=text(found, "body"),
        number=found["databaseId"] if isinstance(found.get("databaseId"), int) else 0,
    )


def read_thread(found: Node, comments: Iterable[Node]) -> Thread:
    said = list(comments)
    line = found.get("line")
    return Thread(
        id=text(found, "id"),
        path=text(found, "path"),
        line=line if isinstance(line, int) else None,
        hunk=optional(said[0], "diffHunk") if said else "",
        comments=tuple(read_comment(comment) for comment in said),
        is_resolved=flag(found, "isResolved"),
        is_outdated=flag(found, "isOutdated"),
        commit=optional(said[0], "originalCommit", "oid") if said else "",
    )


def _sound(found: str) -> str:
    """JSON can carry half a character; no file can."""
    return found if found.isascii() else found.encode("utf-8", "replace").decode()
