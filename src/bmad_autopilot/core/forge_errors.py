"""Errors of calls to the forge (GitHub) or to a git remote."""

import re
from enum import StrEnum

from .errors import AutopilotError


class ForgeErrorKind(StrEnum):
    UNAVAILABLE = "away"  # no network, 5xx, timeout: temporary
    LIMIT = "limit"  # rate limit: ends at `until`
    LOGIN = "login"  # no gh, not logged in, or an expired token
    DENIED = "denied"  # logged in, but not permitted
    MISSING = "missing"  # no such repository, pull request, thread, branch
    REFUSED = "refused"  # valid and permitted, but rejected: a moved head, a branch rule, a duplicate
    UNRECOGNIZED = "odd"  # a response we cannot interpret


TRANSIENT = (ForgeErrorKind.UNAVAILABLE, ForgeErrorKind.LIMIT)
# For polls, which the next answer repairs: one odd response must not end the supervisor.
TRANSIENT_FOR_POLLS = (*TRANSIENT, ForgeErrorKind.UNRECOGNIZED)

# Messages of GitHub and git when a branch moved between our observation and the effect.
_MOVED = re.compile(
    r"(?:base|head) branch (?:was modified|is out of date|is not up to date)"
    r"|head (?:sha|oid|ref)\b.{0,60}\b(?:match|chang|differ)|expected ?head ?(?:sha|oid)"
    r"|not a (?:simple )?fast.forward|non-fast-forward|fetch first|stale info"
    r"|is not where it was|incorrect old value|cannot lock ref|failed to (?:update|lock) ref",
    re.IGNORECASE,
)


class ForgeError(AutopilotError):
    """A forge call failed, or its response was lost."""

    def __init__(
        self, kind: ForgeErrorKind, message: str, *, until: float = 0.0, status: int = 0, hint: str | None = None
    ) -> None:
        super().__init__(message, hint=hint)
        self.kind = kind
        self.until = until
        self.status = status

    @property
    def is_race(self) -> bool:
        """Whether a branch moved meanwhile and nothing was done: the next observation decides again."""
        return self.kind is ForgeErrorKind.REFUSED and _MOVED.search(self.message) is not None
