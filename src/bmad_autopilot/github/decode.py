"""Decodes GitHub's answers into our types. Optional fields may be missing; a missing required field raises
ForgeError, because a misread pull request could be merged."""

from collections.abc import Callable, Iterable
from datetime import datetime
from hashlib import sha256
from json import dumps
from math import inf
from typing import Any, TypeVar

from ..core.forge_errors import ForgeError, ForgeErrorKind
from .forge import (
    CheckState,
    ForgeActor,
    Pull,
    PullComment,
    PullReview,
    PullState,
    PullSummary,
    RemoteCheck,
    Repository,
    ReviewState,
    ReviewThread,
)

_T = TypeVar("_T")
_PUSHERS = frozenset(("ADMIN", "MAINTAIN", "WRITE"))
Node = dict[str, Any]


def unexpected_answer(what: str, found: object) -> ForgeError:
    shown = "nothing" if found is None else f"{type(found).__name__} {str(found)[:80]!r}"
    return ForgeError(
        ForgeErrorKind.UNRECOGNIZED, f"GitHub's answer is not what we know: expected {what}, found {shown}"
    )


def require_node(value: Any, what: str) -> Node:
    if not isinstance(value, dict):
        raise unexpected_answer(what, value)
    return value


def get_nested(value: Any, *names: str) -> Any:
    """The value at this path of keys; None if any is missing."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def require_nodes(connection: Any, what: str) -> list[Node]:
    """Rejects null nodes: one may be an open thread."""
    found = get_nested(connection, "nodes")
    if not isinstance(found, list):
        raise unexpected_answer(f"{what}.nodes", found)
    return [require_node(one, f"a node of {what}") for one in found]


def next_cursor(connection: Any) -> str:
    """Cursor of the next page; empty at the end."""
    page = require_node(get_nested(connection, "pageInfo"), "pageInfo")
    return require_text(page, "endCursor") if require_flag(page, "hasNextPage") else ""


def require_text(value: Node, name: str) -> str:
    found = value.get(name)
    if not isinstance(found, str):
        raise unexpected_answer(name, found)
    return _replace_surrogates(found)


def optional_text(value: Any, *names: str) -> str:
    found = get_nested(value, *names)
    return _replace_surrogates(found) if isinstance(found, str) else ""


def require_flag(value: Node, name: str) -> bool:
    found = value.get(name)
    if not isinstance(found, bool):
        raise unexpected_answer(f"{name}: true or false", found)
    return found


def require_number(value: Node, name: str) -> int:
    found = value.get(name)
    if not isinstance(found, int) or isinstance(found, bool):
        raise unexpected_answer(f"{name}: a number", found)
    return found


def parse_time(value: Any, *names: str) -> float:
    """0.0 if missing."""
    found = get_nested(value, *names)
    if found is None:
        return 0.0
    try:
        return datetime.fromisoformat(found).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        raise unexpected_answer(f"{names[-1]}: a time", found) from None


def require_member(kinds: Callable[[str], _T], value: Node, name: str) -> _T:
    try:
        return kinds(require_text(value, name))
    except ValueError:
        raise unexpected_answer(f"{name}: a word we know", value.get(name)) from None


def read_repository(data: Node, host: str) -> Repository:
    found = require_node(data.get("repository"), "repository")
    return Repository(
        owner=require_text(require_node(found.get("owner"), "owner"), "login"),
        name=require_text(found, "name"),
        id=require_text(found, "id"),
        default_branch=optional_text(found, "defaultBranchRef", "name"),  # an empty repository has none
        can_push=optional_text(found, "viewerPermission") in _PUSHERS,
        is_archived=require_flag(found, "isArchived"),
        is_fork=require_flag(found, "isFork"),
        parent=optional_text(found, "parent", "nameWithOwner"),
        squash_allowed=require_flag(found, "squashMergeAllowed"),
        deletes_branches=require_flag(found, "deleteBranchOnMerge"),
        viewer=optional_text(data, "viewer", "login").removesuffix("[bot]"),
        host=host,
    )


def read_pull_summary(found: Node) -> PullSummary:
    return PullSummary(
        number=require_number(found, "number"),
        state=require_member(PullState, found, "state"),
        head_ref=require_text(found, "headRefName"),
        base_ref=require_text(found, "baseRefName"),
        head=require_text(found, "headRefOid"),
        fingerprint=_fingerprint(found),
        title=require_text(found, "title"),
        url=require_text(found, "url"),
        is_draft=require_flag(found, "isDraft"),
        is_from_fork=require_flag(found, "isCrossRepository"),
    )


def _fingerprint(found: Node) -> str:
    """Hash of exactly the fields of the `Mark` fragment, so that the full query gives the same hash."""
    plain = "number state title isDraft isInMergeQueue headRefName headRefOid baseRefName mergeable reviewDecision"
    rollup = get_nested(found, "headRef", "target", "statusCheckRollup")
    parts = [
        [found.get(name) for name in (*plain.split(), "updatedAt", "lastReviews", "lastThreads")],
        get_nested(found, "baseRef", "target", "oid"),
        get_nested(found, "headRef", "target", "oid"),
        [get_nested(rollup, "state"), get_nested(rollup, "counted")],
    ]
    return sha256(dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def read_pull(found: Node) -> Pull:
    """Without the paginated parts: reviews, threads, checks."""
    summary = read_pull_summary(found)
    commit = get_nested(found, "headRef", "target")  # None: branch deleted
    # The commit date is set by its author; the first check suite dates from its arrival.
    suites = [] if commit is None else require_nodes(get_nested(commit, "checkSuites"), "checkSuites")
    forced = require_nodes(found.get("forced"), "timelineItems")
    arrivals = [parse_time(one, "createdAt") for one in (*suites, *forced)]
    created = parse_time(found, "createdAt")
    return Pull(
        number=summary.number,
        id=require_text(found, "id"),
        url=summary.url,
        state=summary.state,
        title=summary.title,
        head_ref=summary.head_ref,
        head=summary.head,
        base_ref=summary.base_ref,
        base=optional_text(found, "baseRef", "target", "oid") or require_text(found, "baseRefOid"),
        author=read_actor(found),
        created=created,
        pushed=max(created, parse_time(commit, "committedDate"), *arrivals),
        is_draft=summary.is_draft,
        is_from_fork=summary.is_from_fork,
        mergeable=require_text(found, "mergeable"),
        merge_state=require_text(found, "mergeStateStatus"),
        decision=optional_text(found, "reviewDecision"),
        merged_as=optional_text(found, "mergeCommit", "oid"),
        merged_at=parse_time(found, "mergedAt"),
        is_queued=require_flag(found, "isInMergeQueue"),
        needs_queue=require_flag(found, "isMergeQueueEnabled"),
        body=require_text(found, "body"),
        labels=tuple(require_text(label, "name") for label in require_nodes(found.get("labels"), "labels")),
        requested=tuple(_requested_reviewers(require_nodes(found.get("reviewRequests"), "reviewRequests"))),
        comments=tuple(read_comment(comment) for comment in require_nodes(found.get("comments"), "comments")),
        fingerprint=summary.fingerprint,
    )


def _requested_reviewers(requests: Iterable[Node]) -> Iterable[str]:
    for request in requests:
        who = request.get("requestedReviewer")  # null: a team we cannot see
        name = optional_text(who, "login").removesuffix("[bot]") or optional_text(who, "combinedSlug")
        if name:
            yield name


def read_actor(found: Node) -> ForgeActor:
    author = found.get("author")
    association = optional_text(found, "authorAssociation") or "NONE"
    if author is None:
        return ForgeActor("ghost", association=association)
    login = require_text(require_node(author, "author"), "login")
    is_bot = optional_text(author, "__typename") == "Bot" or login.endswith("[bot]")
    return ForgeActor(login.removesuffix("[bot]"), is_bot, association)


def read_comment(found: Node) -> PullComment:
    return PullComment(
        id=require_text(found, "id"),
        author=read_actor(found),
        body=require_text(found, "body"),
        at=parse_time(found, "createdAt"),
        url=optional_text(found, "url"),
    )


def read_review(found: Node) -> PullReview:
    return PullReview(
        id=require_text(found, "id"),
        author=read_actor(found),
        state=require_member(ReviewState, found, "state"),
        commit=optional_text(found, "commit", "oid"),
        at=parse_time(found, "submittedAt") or parse_time(found, "createdAt"),
        body=require_text(found, "body"),
        number=found["databaseId"] if isinstance(found.get("databaseId"), int) else 0,
    )


def read_thread(found: Node, comments: Iterable[Node]) -> ReviewThread:
    thread_comments = list(comments)
    line = found.get("line")
    return ReviewThread(
        id=require_text(found, "id"),
        path=require_text(found, "path"),
        line=line if isinstance(line, int) else None,
        hunk=optional_text(thread_comments[0], "diffHunk") if thread_comments else "",
        comments=tuple(read_comment(comment) for comment in thread_comments),
        is_resolved=require_flag(found, "isResolved"),
        is_outdated=require_flag(found, "isOutdated"),
        commit=optional_text(thread_comments[0], "originalCommit", "oid") if thread_comments else "",
    )


def _replace_surrogates(found: str) -> str:
    """Replaces lone surrogates, which JSON can contain but a file cannot."""
    return found if found.isascii() else found.encode("utf-8", "replace").decode()


# Check runs and commit statuses. Unknown values become CheckState.UNKNOWN.

ACTIONS = "github-actions"
_CONCLUSIONS = {
    "SUCCESS": CheckState.PASSED,
    "FAILURE": CheckState.FAILED,
    "TIMED_OUT": CheckState.FAILED,
    "STARTUP_FAILURE": CheckState.FAILED,
    "CANCELLED": CheckState.CANCELLED,
    "SKIPPED": CheckState.SKIPPED,
    "NEUTRAL": CheckState.NEUTRAL,
    "ACTION_REQUIRED": CheckState.ACTION,
}
_RUNNING_STATUSES = frozenset(("QUEUED", "IN_PROGRESS", "WAITING", "PENDING", "REQUESTED"))
_STATUSES = {
    "SUCCESS": CheckState.PASSED,
    "PENDING": CheckState.PENDING,
    "EXPECTED": CheckState.PENDING,
    "FAILURE": CheckState.FAILED,
    "ERROR": CheckState.FAILED,
}


def read_checks(found: Iterable[Node]) -> tuple[RemoteCheck, ...]:
    """The newest check of each name, as GitHub counts them: a run cancelled in favour of a newer one for the same
    commit stays in the list beside it."""
    newest: dict[tuple[str, ...], tuple[float, RemoteCheck]] = {}
    for context in found:
        kind = context.get("__typename")
        if kind == "CheckRun":
            check = _check_run(context)
        elif kind == "StatusContext":
            check = _status(context)
        else:
            raise unexpected_answer("a check run or a status", kind)
        event = optional_text(context, "checkSuite", "workflowRun", "event")
        file = get_nested(context, "checkSuite", "workflowRun", "workflow", "databaseId")  # names may repeat
        key = (str(kind), check.name, check.workflow, str(file), check.app, event)
        age = check.started or (inf if check.state is CheckState.PENDING else 0.0)
        if key not in newest or age >= newest[key][0]:
            newest[key] = (age, check)
    return tuple(check for _, check in newest.values())


def _check_run(found: Node) -> RemoteCheck:
    suite = found.get("checkSuite")
    app = optional_text(suite, "app", "slug")
    run = get_nested(suite, "workflowRun", "databaseId")
    job = found.get("databaseId")
    is_job = app == ACTIONS and isinstance(job, int)  # only check runs of Actions are jobs with a log
    return RemoteCheck(
        name=require_text(found, "name"),
        state=_run_state(require_text(found, "status"), optional_text(found, "conclusion")),
        required=found.get("isRequired") is True,
        workflow=optional_text(suite, "workflowRun", "workflow", "name"),
        app=app,
        job=job if is_job and isinstance(job, int) else 0,
        run=run if isinstance(run, int) else 0,
        url=optional_text(found, "detailsUrl"),
        started=parse_time(found, "startedAt"),
        ended=parse_time(found, "completedAt"),
    )


def _run_state(status: str, conclusion: str) -> CheckState:
    if status in _RUNNING_STATUSES:
        return CheckState.PENDING
    return _CONCLUSIONS.get(conclusion, CheckState.UNKNOWN) if status == "COMPLETED" else CheckState.UNKNOWN


def _status(found: Node) -> RemoteCheck:
    at = parse_time(found, "createdAt")
    state = _STATUSES.get(require_text(found, "state"), CheckState.UNKNOWN)
    return RemoteCheck(
        name=require_text(found, "context"),
        state=state,
        required=found.get("isRequired") is True,
        url=optional_text(found, "targetUrl"),
        started=at,
        ended=0.0 if state is CheckState.PENDING else at,
    )
