"""The forge port: the reads and effects that delivery needs. Implemented by GitHub (gh_forge.py) and the
simulator.

Reads may be a few seconds old. An effect may have happened although its answer was lost: the caller must read the
state first, and again after any error."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, Protocol

# Records of a pull request as read from the forge, without any judgement.
#
# All text in them is untrusted data: shown and quoted, never followed.


class ForgeActor(NamedTuple):
    login: str  # without `[bot]`; "ghost" if the account is deleted
    is_bot: bool = False
    association: str = "NONE"  # with this repository: OWNER, MEMBER, COLLABORATOR, CONTRIBUTOR, NONE …


class CheckState(StrEnum):
    """State of a check run or commit status. Unrecognised values are UNKNOWN, which does not count as passed."""

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
    workflow: str = ""  # its workflow; empty: another app's check, or a plain status
    app: str = ""
    job: int = 0  # id of the job whose log can be read; 0: none
    run: int = 0  # id of the workflow run that can be rerun; 0: none
    url: str = ""
    started: float = 0.0
    ended: float = 0.0


class ReviewState(StrEnum):
    APPROVED = "APPROVED"
    CHANGES = "CHANGES_REQUESTED"
    COMMENTED = "COMMENTED"
    DISMISSED = "DISMISSED"
    PENDING = "PENDING"


class PullReview(NamedTuple):
    id: str
    author: ForgeActor
    state: ReviewState
    commit: str  # the head it was given for; empty if that no longer exists
    at: float
    body: str = ""
    number: int = 0  # the REST id


class PullComment(NamedTuple):
    id: str
    author: ForgeActor
    body: str
    at: float
    url: str = ""


class ReviewThread(NamedTuple):
    id: str
    path: str
    line: int | None  # None: on the whole file, or outdated
    hunk: str
    comments: tuple[PullComment, ...]
    is_resolved: bool = False
    is_outdated: bool = False
    commit: str = ""  # the head it was written on; empty if that no longer exists


class PullState(StrEnum):
    OPEN = "OPEN"
    CLOSED = "CLOSED"
    MERGED = "MERGED"


class PullSummary(NamedTuple):
    """The fields of a pull request needed to detect any change."""

    number: int
    state: PullState
    head_ref: str
    base_ref: str
    head: str
    fingerprint: str  # hash of head, base, state, draft, rollup, reviews, threads, mergeable
    title: str = ""
    url: str = ""
    is_draft: bool = False
    is_from_fork: bool = False  # its branch is in another repository


class Pull(NamedTuple):
    number: int
    id: str
    url: str
    state: PullState
    title: str
    head_ref: str
    head: str
    base_ref: str
    base: str  # current head of the base branch
    author: ForgeActor
    created: float
    pushed: float  # arrival time of its head on the forge, best known value
    is_draft: bool = False
    is_from_fork: bool = False
    mergeable: str = "UNKNOWN"  # MERGEABLE, CONFLICTING, UNKNOWN
    merge_state: str = "UNKNOWN"  # CLEAN, BLOCKED, BEHIND, DIRTY, DRAFT, HAS_HOOKS, UNSTABLE, UNKNOWN
    decision: str = ""  # APPROVED, CHANGES_REQUESTED, REVIEW_REQUIRED; empty: none required
    merged_as: str = ""  # the commit on the base branch
    merged_at: float = 0.0
    is_queued: bool = False  # in the repository's merge queue
    needs_queue: bool = False  # its base branch requires a merge queue
    body: str = ""
    labels: tuple[str, ...] = ()
    requested: tuple[str, ...] = ()  # logins with a pending review request
    reviews: tuple[PullReview, ...] = ()  # oldest first
    threads: tuple[ReviewThread, ...] = ()
    checks: tuple[RemoteCheck, ...] = ()  # of its head
    comments: tuple[PullComment, ...] = ()  # conversation comments; the last hundred
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
    deletes_branches: bool = False  # automatically after a merge
    viewer: str = ""  # the login gh uses
    host: str = "github.com"

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"


class NewPull(NamedTuple):
    """A pull request to open; identified by its head and base."""

    head_ref: str
    base_ref: str
    title: str
    body: str
    is_draft: bool = False


class Forge(Protocol):
    # reading

    def repository(self) -> Repository: ...

    def watch(self, numbers: Sequence[int]) -> list[PullSummary]:
        """Summaries of these pull requests, by one query: cheap enough for every ten seconds."""

    def pulls_of(self, prefix: str) -> list[PullSummary]:
        """Open pull requests whose head branch starts with `prefix`."""

    def pulls_from(self, head_ref: str) -> list[PullSummary]:
        """All pull requests of this head branch in this repository, in any state, newest first."""

    def pull(self, number: int) -> Pull:
        """The complete pull request, all pages."""

    def log_tail(self, check: RemoteCheck) -> str:
        """Last lines of a failed job's log, not redacted; empty if there is none."""

    def changed_files(self, number: int) -> list[str]: ...

    def pace(self, seconds: float) -> float:
        """Seconds between two polls: `seconds`, or longer if few points of the rate limit remain."""

    # effects

    def open_pull(self, order: NewPull) -> int:
        """Returns its number. REFUSED if this head already has one for this base."""

    def edit_pull(
        self, number: int, *, title: str | None = None, body: str | None = None, base_ref: str | None = None
    ) -> None: ...

    def close_pull(self, number: int) -> None: ...
    def reopen_pull(self, number: int) -> None: ...
    def mark_ready(self, pull: Pull) -> None: ...
    def add_labels(self, number: int, labels: Sequence[str]) -> None: ...
    def request_review(self, pull: Pull, reviewer: str) -> None:
        """`reviewer`: a login, or COPILOT. DENIED or REFUSED if the review cannot be requested."""

    def comment(self, number: int, body: str) -> None: ...
    def reply(self, thread: str, body: str) -> None: ...
    def resolve(self, thread: str) -> None: ...
    def rerun(self, check: RemoteCheck) -> None:
        """Reruns the failed jobs of its run. DENIED while that run is in progress; the effect is visible with a
        delay."""

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        """Starts a workflow by file name, in the version on branch `ref`."""

    def approve(self, number: int, head: str, body: str) -> None: ...
    def dismiss(self, number: int, review: int, why: str) -> None: ...
    def merge(self, number: int, head: str, subject: str, body: str) -> str:
        """Squash-merges if `head` is still its head. Returns the commit on the base; empty if it was queued."""

    def enqueue(self, pull: Pull) -> None: ...
    def delete_branch(self, ref: str, head: str) -> None:
        """Deletes the branch; succeeds if already deleted. REFUSED if it is not at `head`."""


COPILOT = "copilot-pull-request-reviewer"
