"""Where a supervisor dies: at one numbered point, or now and then at random. Every effect passes through here."""

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
INTENTS = frozenset(("step", "call", "row", "epic", "checking", "committing"))


class CrashPlan:
    """Crashes at point number `at`, or at random with `rate` at each point, at most `most` times."""

    def __init__(self, rng: Random, *, at: int | None = None, rate: float = 0.0, most: int = 12) -> None:
        self._rng = rng
        self._at = at
        self._rate = rate
        self._left = most if at is None else 1
        self.points = 0
        self.seen: dict[tuple[str, Phase], int] = {}  # how often each point was passed

    def pass_by(self, kind: str, phase: Phase) -> None:
        self.points += 1
        self.seen[kind, phase] = self.seen.get((kind, phase), 0) + 1
        if self._left and (self.points == self._at or (self._rate and self._rng.random() < self._rate)):
            self._left -= 1
            raise Crash(f"{kind}, {phase}")
