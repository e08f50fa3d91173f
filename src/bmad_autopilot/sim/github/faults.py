"""What goes wrong between us and the simulated GitHub: per call, by a seed or by a script."""

from collections.abc import Callable, Iterable
from enum import StrEnum
from random import Random
from typing import TypeVar

STALE_SECONDS = 8.0  # a read may be that old
RETRY_AFTER = 30.0

T = TypeVar("T")


class Fault(StrEnum):
    LIMIT = "429"
    SECONDARY = "secondary-limit"
    GATEWAY = "502"
    TIMEOUT = "timeout"  # nothing was done
    LOST = "lost-answer"  # the effect happened
    STALE = "stale-read"


_READS = (Fault.LIMIT, Fault.SECONDARY, Fault.GATEWAY, Fault.TIMEOUT, Fault.STALE, Fault.STALE)
_EFFECTS = (Fault.LIMIT, Fault.SECONDARY, Fault.GATEWAY, Fault.TIMEOUT, Fault.LOST, Fault.LOST)


class GitHubFaults:
    """At most `most` at random, so that it ends; and those of a script, one per call of that kind: a method of the
    forge, and on the wire the name of a GraphQL operation, or `POST /repos/acme/widgets/pulls`."""

    def __init__(self, rng: Random | None = None, *, rate: float = 0.0, most: int = 40) -> None:
        self._rng = rng or Random(0)  # noqa: S311 - seeds, not secrets
        self._rate = rate
        self._left = most
        self._script: dict[str, list[Fault]] = {}
        self.made: list[tuple[str, Fault]] = []

    def script(self, call: str, faults: Iterable[Fault]) -> None:
        self._script.setdefault(call, []).extend(faults)

    def pick(self, call: str, *, is_effect: bool) -> Fault | None:
        planned = self._script.get(call)
        if planned:
            fault = planned.pop(0)
        elif self._rate and self._left > 0 and self._rng.random() < self._rate:
            self._left -= 1
            fault = self._rng.choice(_EFFECTS if is_effect else _READS)
        else:
            return None
        self.made.append((call, fault))
        return fault


class Replica:
    """What was answered before, for reads that are a little old: the one thing a reader must not trust."""

    def __init__(self) -> None:
        self._answers: dict[object, tuple[float, object]] = {}

    def read(self, key: object, now: float, fresh: Callable[[], T], *, is_stale: bool) -> T:
        known = self._answers.get(key)
        if is_stale and known is not None and now - known[0] <= STALE_SECONDS:
            return known[1]  # type: ignore[return-value]
        answer = fresh()
        self._answers[key] = (now, answer)
        return answer
