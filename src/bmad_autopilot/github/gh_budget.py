"""How much of GitHub's hour is left, and how often one may look so that others keep their share."""

from collections import deque
from datetime import datetime
from typing import Any, NamedTuple

from .gh_answers import HttpAnswer

SHARE = 0.25  # of what is left; the rest is the user's, and their other tools'
_KEPT = 16  # costs remembered: the dearest of them is what one look may cost


class Budget(NamedTuple):
    remaining: float
    limit: float
    reset: float  # when it is full again
    cost: float = 0.0  # of the last query


class Purse:
    """What the answers tell of it: `rateLimit` in each query, the headers of all else. REST's hour is another."""

    def __init__(self) -> None:
        self.points: Budget | None = None
        self.requests: Budget | None = None
        self._costs: deque[float] = deque(maxlen=_KEPT)

    def note_query(self, told: Any) -> None:
        """`rateLimit` as it was answered; None where a server has no limit."""
        if not isinstance(told, dict):
            return
        cost, remaining, limit = (told.get(name) for name in ("cost", "remaining", "limit"))
        reset = _instant(told.get("resetAt"))
        if isinstance(cost, int) and isinstance(remaining, int) and reset is not None:
            self.points = Budget(remaining, limit if isinstance(limit, int) else 0, reset, cost)
            self._costs.append(cost)

    def note_headers(self, answer: HttpAnswer) -> None:
        names = ("x-ratelimit-remaining", "x-ratelimit-limit", "x-ratelimit-reset")
        remaining, limit, reset = (answer.number(name) for name in names)
        if remaining is None or reset is None:
            return
        if answer.headers.get("x-ratelimit-resource") == "graphql":
            cost = self.points.cost if self.points else 0.0
            self.points = Budget(remaining, limit or 0, reset, cost)
        else:
            self.requests = Budget(remaining, limit or 0, reset)

    def pace(self, seconds: float, now: float) -> float:
        """`seconds`, or as much longer as keeps one look each time within our share until the reset."""
        if self.points is None or self.points.reset <= now:
            return seconds
        left = self.points.reset - now
        ours = SHARE * self.points.remaining
        cost = max(self._costs, default=1.0)
        wanted = left if ours < cost else left * cost / ours
        return max(seconds, min(wanted, left))


def _instant(value: Any) -> float | None:
    try:
        return datetime.fromisoformat(value).timestamp()
    except (TypeError, ValueError, OverflowError, OSError):
        return None
