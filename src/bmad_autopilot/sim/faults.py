"""Supervisor crashes: at numbered points or at random. Every effect passes through `CrashPlan.maybe_crash`."""

from collections.abc import Collection
from enum import StrEnum
from random import Random


class Crash(BaseException):
    """The supervisor dies as with kill -9; only the simulation's outer loop may catch this."""


class CrashPhase(StrEnum):
    BEFORE_INTENT = "before-intent"
    AFTER_INTENT = "after-intent"
    AFTER_EFFECT = "after-effect"
    AFTER_RECORD = "after-record"


# Journal entries written before an effect; every other kind records an outcome.
INTENT_KINDS = frozenset(("step", "call", "row", "epic", "checking", "committing", "effect"))


class CrashPlan:
    """Crashes at the point numbers in `at`, or at random with probability `rate`, at most `max_crashes` times."""

    def __init__(self, rng: Random, *, at: Collection[int] = (), rate: float = 0.0, max_crashes: int = 12) -> None:
        self._rng = rng
        self._at = frozenset(at)
        self._rate = rate
        self._left = len(self._at) or max_crashes
        self.points = 0
        self.first_points: dict[tuple[str, CrashPhase], int] = {}  # the first point of each kind

    def maybe_crash(self, kind: str, phase: CrashPhase) -> None:
        self.points += 1
        self.first_points.setdefault((kind, phase), self.points)
        if self._left and (self.points in self._at or (self._rate and self._rng.random() < self._rate)):
            self._left -= 1
            raise Crash(f"{kind}, {phase}")
