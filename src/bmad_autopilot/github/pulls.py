"""A pull request as a forge tells it: what is read, in our words. Nothing here is judged; judging.py does that.

All text in it was written by others. It is data: shown, quoted, never followed."""

from enum import StrEnum
from typing import NamedTuple


class Actor(NamedTuple):
    login: str  # without `[bot]`; "ghost" where the account is gone
    is_bot: bool = False
    association: str = "NONE"  # OWNER, MEMBER, COLLABORATOR, CONTRIBUTOR, NONE …: theirs with this repository


class CheckState(StrEnum):
    """One check run or commit status. What is not known by name is UNKNOWN, and that is not good."""

    PASSED = "passed"
    PENDING = "pending"
    FAILED = "failed"  # failure, error, timed out, startup failure
    CANCELLED = "cancelled"
    SKIPPED = "skipped"
    NEUTRAL = "neutral"
    ACTION = "action-required"
    UNKNOWN = "unknown"


class RemoteCheck(NamedTuple):
    name: str
    state: CheckState
    required: bool = False
    workflow: str = ""  # the workflow it belongs to; empty: another app's, or a plain status
    app: str = ""
    job: int = 0  # the job whose log can be read; 0: none
    run: int = 0  # the workflow run that can be started again; 0: none
    url: str = ""
    started: float = 0.0
    ended: float = 0.0


class ReviewState(StrEnum):
    APPROVED = "APPROVED"
    CHANGES = "CHANGES_REQUESTED"
    COMMENTED = "COMMENTED"
    DISMISSED = "DISMISSED"
    PENDING = "PENDING"


class Review(NamedTuple):
    id: str
    author: Actor
    state: ReviewState
    commit: str  # the head it was given for; empty where that is gone
    at: float
    body: str = ""
    number: int = 0  # the id that REST takes


class Comment(NamedTuple):
    id: str
    author: Actor
    body: str
    at: float
    url: str = ""


class Thread(NamedTuple):
    id: str
    path: str
    line: int | None  # None: of the whole file, or outdated
    hunk: str
    comments: tuple[Comment, ...]
    is_resolved: bool = False
    is_outdated: bool = False
    commit: str = ""  # the head it was written on; empty where that is gone


class PullState(StrEnum):
    OPEN = "OPEN"
    CLOSED = "CLOSED"
    MERGED = "MERGED"


class PullMark(NamedTuple):
    """So much of a pull request that one can see whether anything about it has changed."""

    number: int
    state: PullState
    head_ref: str
    base_ref: str
    head: str
    fingerprint: str  # over head, base, state, draft, rollup, reviews, threads, labels, mergeable
    title: str = ""
    url: str = ""
    is_draft: bool = False
    is_foreign: bool = False  # its branch lies in another repository: a fork


class Pull(NamedTuple):
    number: int
    id: str
    url: str
    state: PullState
    title: str
    head_ref: str
    head: str
    base_ref: str
    base: str  # what the base branch holds now
    author: Actor
    created: float
    pushed: float  # when its head came to the forge, as well as that can be known
    is_draft: bool = False
    is_foreign: bool = False
    mergeable: str = "UNKNOWN"  # MERGEABLE, CONFLICTING, UNKNOWN
    merge_state: str = "UNKNOWN"  # CLEAN, BLOCKED, BEHIND, DIRTY, DRAFT, HAS_HOOKS, UNSTABLE, UNKNOWN
    decision: str = ""  # APPROVED, CHANGES_REQUESTED, REVIEW_REQUIRED; empty: the repository demands none
    merged_as: str = ""  # the commit on the base branch
    merged_at: float = 0.0
    is_queued: bool = False  # it waits in the repository's own merge queue
    needs_queue: bool = False  # its base branch is merged into by a queue alone
    body: str = ""
    labels: tuple[str, ...] = ()
    requested: tuple[str, ...] = ()  # logins whose review was asked for and has not come
    reviews: tuple[Review, ...] = ()  # the oldest first
    threads: tuple[Thread, ...] = ()
    checks: tuple[RemoteCheck, ...] = ()  # of its head
    comments: tuple[Comment, ...] = ()  # below it; the last hundred
    fingerprint: str = ""


class Repository(NamedTuple):
    owner: str
    name: str
    id: str
    default_branch: str
    can_push: bool
    is_archived: bool = False
    is_fork: bool = False
    parent: str = ""  # of a fork: owner/name
    squash_allowed: bool = True
    deletes_branches: bool = False  # by itself, after a merge
    viewer: str = ""  # whose login gh uses
    host: str = "github.com"

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"


class PullOrder(NamedTuple):
    """A pull request to be opened; found again by its head and base."""

    head_ref: str
    base_ref: str
    title: str
    body: str
    is_draft: bool = False
