"""What the simulated GitHub keeps. Plain and changeable: only the model writes here."""

from dataclasses import dataclass, field
from typing import NoReturn

from ...github.pulls import Actor, PullState, ReviewState


class GitHubRefusal(Exception):
    """What GitHub answers instead of doing it, with the status that REST gives."""

    def __init__(self, status: int, message: str, kind: str = "UNPROCESSABLE") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind  # the type of the error in GraphQL


def refuse(status: int, message: str, kind: str = "UNPROCESSABLE") -> NoReturn:
    raise GitHubRefusal(status, message, kind)


@dataclass
class SimComment:
    id: str
    number: int
    author: Actor
    body: str
    at: float


@dataclass
class SimReview:
    id: str
    number: int
    author: Actor
    state: ReviewState
    commit: str
    at: float
    body: str = ""


@dataclass
class SimThread:
    id: str
    path: str
    line: int | None
    original_line: int
    hunk: str
    anchor: str  # the head it was written on
    comments: list[SimComment] = field(default_factory=list)
    is_resolved: bool = False
    is_outdated: bool = False
    resolved_by: str = ""


@dataclass
class SimCheck:
    """A check run of a workflow's job, or a plain commit status."""

    id: int
    name: str
    sha: str
    status: str = "queued"  # queued, in_progress, completed
    conclusion: str = ""
    workflow: str = ""  # empty: a plain status
    app: str = "github-actions"
    run: int = 0
    attempt: int = 1
    started: float = 0.0
    ended: float = 0.0
    log: bytes = b""

    @property
    def is_status(self) -> bool:
        return not self.workflow

    @property
    def is_good(self) -> bool:
        return self.status == "completed" and self.conclusion in ("success", "neutral", "skipped")

    @property
    def is_bad(self) -> bool:
        return self.status == "completed" and not self.is_good


@dataclass
class SimPull:
    number: int
    id: str
    title: str
    body: str
    head_ref: str
    base_ref: str
    head: str
    author: Actor
    created: float
    pushed: float
    state: PullState = PullState.OPEN
    is_draft: bool = False
    is_foreign: bool = False
    is_queued: bool = False
    merged_as: str = ""
    merged_at: float = 0.0
    merged_base: str = ""  # what the base held before the merge
    updated: float = 0.0
    labels: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    reviews: list[SimReview] = field(default_factory=list)
    threads: list[SimThread] = field(default_factory=list)
    comments: list[SimComment] = field(default_factory=list)
    force_pushes: list[tuple[float, str, str]] = field(default_factory=list)
    heads: list[tuple[float, str]] = field(default_factory=list)  # each head, and when it came
    merge_known: tuple[str, str, float] | None = None  # head, base, and when it will be known whether they merge

    @property
    def is_open(self) -> bool:
        return self.state is PullState.OPEN

    @property
    def unresolved(self) -> int:
        return sum(not thread.is_resolved for thread in self.threads)


@dataclass
class Protection:
    """The rules of one branch."""

    checks: tuple[str, ...] = ()  # required
    strict: bool = False  # up to date with the base
    approvals: int = 0
    dismiss_stale: bool = False
    conversations: bool = False  # all resolved
    queue: bool = False
    linear: bool = False  # squash and rebase only


@dataclass
class SimRepository:
    owner: str = "acme"
    name: str = "widgets"
    default_branch: str = "main"
    is_archived: bool = False
    parent: str = ""  # of a fork
    squash_allowed: bool = True
    deletes_branches: bool = False
    copilot: bool = True  # can be asked for a review
    actions_approve: bool = True  # "Allow GitHub Actions to create and approve pull requests"
    protections: dict[str, Protection] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    def protection(self, branch: str) -> Protection:
        return self.protections.get(branch, _FREE)


_FREE = Protection()
