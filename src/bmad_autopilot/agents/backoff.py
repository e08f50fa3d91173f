"""How long to wait before a failed call is made again, and how often: each cause has a count of its own."""

from typing import NamedTuple

from .outcomes import Outcome


class Patience(NamedTuple):
    """Seconds, and how often the call is made again."""

    first: float
    factor: float
    longest: float
    tries: int


# What passes by itself is given hours. What the agent did is tried once more at once, told what went wrong. A lost
# call was nobody's fault, but one that takes its shim with it each time must end somewhere.
PATIENCE: dict[Outcome, Patience] = {
    Outcome.OVERLOADED: Patience(30, 2, 1800, 12),
    Outcome.NETWORK: Patience(10, 2, 1800, 12),
    Outcome.CRASHED: Patience(0, 1, 0, 1),
    Outcome.STALLED: Patience(0, 1, 0, 1),
    Outcome.MAX_TURNS: Patience(0, 1, 0, 1),
    Outcome.LOST: Patience(2, 2, 60, 3),
}


def pause(cause: Outcome, failures: int, random: float) -> float:
    """Seconds to wait after this many failures of one cause. Full jitter: lanes that failed together do not come
    back together."""
    patience = PATIENCE[cause]
    return random * min(patience.first * patience.factor ** (failures - 1), patience.longest)
