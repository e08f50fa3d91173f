"""The records of the simulated GitHub, its effect log, clock and faults. The records are mutable; only the model
changes them."""

import heapq
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from random import Random
from typing import Any, NamedTuple, NoReturn, Protocol, TypeVar

from ...github.forge import ForgeActor, PullState, ReviewState


class GitHubRefusal(Exception):
    """GitHub refuses a request; `status` is REST's, `kind` the error type of GraphQL."""

    def __init__(self, status: int, message: str, kind: str = "UNPROCESSABLE") -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.kind = kind


def refuse(status: int, message: str, kind: str = "UNPROCESSABLE") -> NoReturn:
    raise GitHubRefusal(status, message, kind)


@dataclass
class SimComment:
    id: str
    number: int
    author: ForgeActor
    body: str
    at: float


@dataclass
class SimReview:
    id: str
    number: int
    author: ForgeActor
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
    anchor: str  # the commit it was written on
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
    author: ForgeActor
    created: float
    pushed: float
    state: PullState = PullState.OPEN
    is_draft: bool = False
    is_foreign: bool = False
    is_queued: bool = False
    merged_as: str = ""
    merged_at: float = 0.0
    merged_base: str = ""  # head of the base before the merge
    updated: float = 0.0
    labels: list[str] = field(default_factory=list)
    requested: list[str] = field(default_factory=list)
    reviews: list[SimReview] = field(default_factory=list)
    threads: list[SimThread] = field(default_factory=list)
    comments: list[SimComment] = field(default_factory=list)
    force_pushes: list[tuple[float, str, str]] = field(default_factory=list)
    heads: list[tuple[float, str]] = field(default_factory=list)  # (time, head), oldest first
    mergeability: tuple[str, str, float] | None = None  # head, base, time at which `mergeable` becomes known

    @property
    def is_open(self) -> bool:
        return self.state is PullState.OPEN

    @property
    def unresolved(self) -> int:
        return sum(not thread.is_resolved for thread in self.threads)


@dataclass
class Protection:
    """The protection rules of one branch."""

    checks: tuple[str, ...] = ()  # required
    strict: bool = False  # must be up to date with the base
    approvals: int = 0
    dismiss_stale: bool = False
    conversations: bool = False  # all must be resolved
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
    copilot: bool = True  # reviews can be requested from it
    actions_approve: bool = True  # "Allow GitHub Actions to create and approve pull requests"
    protections: dict[str, Protection] = field(default_factory=dict)

    @property
    def full_name(self) -> str:
        return f"{self.owner}/{self.name}"

    def protection(self, branch: str) -> Protection:
        return self.protections.get(branch, _NO_PROTECTION)


_NO_PROTECTION = Protection()


# The log of all changes on the simulated GitHub, with the facts at that moment.


class GitHubEffect(NamedTuple):
    at: float
    by: str  # a login; empty: GitHub itself
    kind: str
    data: dict[str, Any]


class GitHubEffectLog:
    def __init__(self) -> None:
        self.all: list[GitHubEffect] = []

    def select(self, *kinds: str, by: str | None = None) -> Iterator[GitHubEffect]:
        return (one for one in self.all if one.kind in kinds and (by is None or one.by == by))

    def add(self, at: float, by: str, kind: str, **data: Any) -> None:
        self.all.append(GitHubEffect(at, by, kind, data))


# The clock of a simulated GitHub that runs without a world in memory.


class Clock(Protocol):
    """Implemented by SimClock and by the world in memory."""

    now: float

    def schedule(self, at: float, event: Callable[[], None]) -> None: ...


class SimClock:
    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def schedule(self, at: float, event: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (max(at, self.now), self._number, event))

    def next_event(self) -> float | None:
        return self._events[0][0] if self._events else None

    def advance(self, to: float) -> None:
        while self._events and self._events[0][0] <= to:
            at, _, event = heapq.heappop(self._events)
            self.now = max(self.now, at)
            event()
        self.now = max(self.now, to)


# Faults between us and the simulated GitHub: per call, at random or scripted.

STALE_SECONDS = 8.0  # maximum age of a stale read
RETRY_AFTER = 30.0

T = TypeVar("T")


class GitHubFault(StrEnum):
    LIMIT = "429"
    SECONDARY = "secondary-limit"
    GATEWAY = "502"
    TIMEOUT = "timeout"  # nothing was done
    LOST = "lost-answer"  # the effect happened, the response is lost
    STALE = "stale-read"


_READ_FAULTS = (
    GitHubFault.LIMIT,
    GitHubFault.SECONDARY,
    GitHubFault.GATEWAY,
    GitHubFault.TIMEOUT,
    GitHubFault.STALE,
    GitHubFault.STALE,
)
_EFFECT_FAULTS = (
    GitHubFault.LIMIT,
    GitHubFault.SECONDARY,
    GitHubFault.GATEWAY,
    GitHubFault.TIMEOUT,
    GitHubFault.LOST,
    GitHubFault.LOST,
)


class GitHubFaults:
    """Random faults, at most `max_faults` so that every run ends, and scripted ones, one per call of that name: a
    method of the forge, or on the wire a GraphQL operation or `POST /repos/acme/widgets/pulls`."""

    def __init__(self, rng: Random | None = None, *, rate: float = 0.0, max_faults: int = 40) -> None:
        self._rng = rng or Random(0)  # noqa: S311 - seeds, not secrets
        self._rate = rate
        self._left = max_faults
        self._script: dict[str, list[GitHubFault]] = {}
        self.injected: list[tuple[str, GitHubFault]] = []

    def script(self, call: str, faults: Iterable[GitHubFault]) -> None:
        self._script.setdefault(call, []).extend(faults)

    def pick(self, call: str, *, is_effect: bool) -> GitHubFault | None:
        planned = self._script.get(call)
        if planned:
            fault = planned.pop(0)
        elif self._rate and self._left > 0 and self._rng.random() < self._rate:
            self._left -= 1
            fault = self._rng.choice(_EFFECT_FAULTS if is_effect else _READ_FAULTS)
        else:
            return None
        self.injected.append((call, fault))
        return fault


class Replica:
    """Previous answers, for stale reads as from a lagging replica."""

    def __init__(self) -> None:
        self._answers: dict[object, tuple[float, object]] = {}

    def read(self, key: object, now: float, fresh: Callable[[], T], *, is_stale: bool) -> T:
        known = self._answers.get(key)
        if is_stale and known is not None and now - known[0] <= STALE_SECONDS:
            return known[1]  # type: ignore[return-value]
        answer = fresh()
        self._answers[key] = (now, answer)
        return answer
