"""The forge's door: what delivery asks of it and does there. GitHub behind it (gh_forge.py), or the simulator.

Reads may be a few seconds old. An effect may have happened although its answer was lost: whoever calls looks
first, and looks again after any error."""

import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Protocol

from ..core.errors import AutopilotError
from .pulls import Pull, PullMark, PullOrder, RemoteCheck, Repository


class Trouble(StrEnum):
    AWAY = "away"  # no network, 5xx, no answer in time: it passes
    LIMIT = "limit"  # too many requests: it passes at `until`
    LOGIN = "login"  # no gh, not logged in, a token that is no longer good
    DENIED = "denied"  # logged in, and not allowed to
    MISSING = "missing"  # no such repository, pull request, thread, branch
    REFUSED = "refused"  # understood, allowed, and not done: a moved head, a rule of the branch, a duplicate
    ODD = "odd"  # an answer that we do not understand


# What GitHub and git say when a branch has moved between the look and the effect.
_MOVED = re.compile(
    r"(?:base|head) branch (?:was modified|is out of date|is not up to date)"
    r"|head (?:sha|oid|ref)\b.{0,60}\b(?:match|chang|differ)|expected ?head ?(?:sha|oid)"
    r"|not a (?:simple )?fast.forward|non-fast-forward|fetch first|stale info"
    r"|is not where it was|incorrect old value|cannot lock ref|failed to (?:update|lock) ref",
    re.IGNORECASE,
)


class ForgeError(AutopilotError):
    """The forge did not do what it was asked, or its answer was lost."""

    def __init__(
        self, trouble: Trouble, message: str, *, until: float = 0.0, status: int = 0, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.trouble = trouble
        self.until = until
        self.status = status

    @property
    def is_race(self) -> bool:
        """A branch was no longer where it was, and nothing was done: a fresh look decides anew."""
        return self.trouble is Trouble.REFUSED and _MOVED.search(self.message) is not None


class Forge(Protocol):
    # reading

    def repository(self) -> Repository: ...

    def watch(self, numbers: Sequence[int]) -> list[PullMark]:
        """These pull requests, by one query: cheap enough for every ten seconds."""

    def pulls_of(self, prefix: str) -> list[PullMark]:
        """The open ones whose head's name begins so."""

    def pulls_from(self, head_ref: str) -> list[PullMark]:
        """All of this head's in this repository, whatever became of them, the newest first."""

    def pull(self, number: int) -> Pull:
        """All of it, every page."""

    def log_tail(self, check: RemoteCheck) -> str:
        """The last lines of a failed job's log; empty where there is none. As it was printed: not yet redacted."""

    def changed_files(self, number: int) -> list[str]: ...

    def pace(self, seconds: float) -> float:
        """How long to wait between two looks: `seconds`, and longer where little is left of the hour's points."""

    # effects

    def open_pull(self, order: PullOrder) -> int:
        """Its number. REFUSED where this head has one for this base already."""

    def edit_pull(
        self, number: int, *, title: str | None = None, body: str | None = None, base_ref: str | None = None
    ) -> None: ...

    def close_pull(self, number: int) -> None: ...
    def reopen_pull(self, number: int) -> None: ...
    def mark_ready(self, pull: Pull) -> None: ...
    def add_labels(self, number: int, labels: Sequence[str]) -> None: ...
    def request_review(self, pull: Pull, reviewer: str) -> None:
        """`reviewer`: a login, or COPILOT. DENIED or REFUSED where it cannot be asked for."""

    def comment(self, number: int, body: str) -> None: ...
    def reply(self, thread: str, body: str) -> None: ...
    def resolve(self, thread: str) -> None: ...
    def rerun(self, check: RemoteCheck) -> None:
        """All of its run that failed. DENIED while that run is under way; it is seen only some time later."""

    def dispatch(self, workflow: str, ref: str, inputs: Mapping[str, str]) -> None:
        """Start a workflow, by its file's name, as that branch has it."""

    def approve(self, number: int, head: str, body: str) -> None: ...
    def dismiss(self, number: int, review: int, why: str) -> None: ...
    def merge(self, number: int, head: str, subject: str, body: str) -> str:
        """Squash it, if `head` is still its head. The commit on the base; empty where a queue took it in."""

    def enqueue(self, pull: Pull) -> None: ...
    def delete_branch(self, ref: str, head: str) -> None:
        """Gone afterwards; also where it was before. REFUSED where it holds something else than `head`."""


COPILOT = "copilot-pull-request-reviewer"
