"""GitHub's hourly rate limit for one login, in points or requests."""

from bmad_autopilot.sim.github.records import Clock

HOUR = 3600.0


class RateLimit:
    def __init__(self, clock: Clock, limit: int = 5000) -> None:
        self.limit = limit
        self.spent = 0  # in total, over all hours
        self._clock = clock
        self._used = 0
        self._reset = 0.0

    def _roll(self) -> None:
        if self._clock.now >= self._reset:
            self._used, self._reset = 0, self._clock.now + HOUR

    def spend(self, points: int) -> bool:
        """False if the limit would be exceeded; nothing is spent then."""
        self._roll()
        if self._used + points > self.limit:
            return False
        self._used += points
        self.spent += points
        return True

    @property
    def remaining(self) -> int:
        self._roll()
        return self.limit - self._used

    @property
    def reset(self) -> float:
        self._roll()
        return self._reset

    def headers(self, resource: str) -> dict[str, str]:
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Used": str(self._used),
            "X-RateLimit-Reset": str(int(self.reset) + 1),
            "X-RateLimit-Resource": resource,
        }
