"""Where a supervisor dies: at one numbered point, or now and then at random. Every effect passes through here."""

from collections.abc import Collection
from enum import StrEnum
from random import Random


class Crash(BaseException):
    """The supervisor is gone, as with kill -9: nothing below the driver may catch it."""


class Phase(StrEnum):
    BEFORE_INTENT = "before-intent"
    AFTER_INTENT = "after-intent"
    AFTER_EFFECT = "after-effect"
    AFTER_RECORD = "after-record"


# What is written down before something is done; every other entry of a journal says what was.
INTENTS = frozenset(("step", "call", "row", "epic", "checking", "committing", "effect"))


class CrashPlan:
    """Crashes at the points numbered in `at`; or at random with `rate` at each point, at most `most` times."""

    def __init__(self, rng: Random, *, at: Collection[int] = (), rate: float = 0.0, most: int = 12) -> None:
        self._rng = rng
        self._at = frozenset(at)
        self._rate = rate
        self._left = len(self._at) or most
        self.points = 0
        self.seen: dict[tuple[str, Phase], int] = {}  # the first point of each kind

    def pass_by(self, kind: str, phase: Phase) -> None:
        self.points += 1
        self.seen.setdefault((kind, phase), self.points)
        if self._left and (self.points in self._at or (self._rate and self._rng.random() < self._rate)):
            self._left -= 1
            raise Crash(f"{kind}, {phase}")
