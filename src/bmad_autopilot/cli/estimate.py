"""What a run may cost, by what earlier calls of this project did."""

from collections.abc import Iterable
from statistics import fmean

from ..agents.attempts import read_spec
from ..agents.verdicts import read_verdict
from ..core.errors import FileError
from ..runs.layout import find_attempts
from ..views.preface import Estimate

MOST_CALLS = 100  # the newest ones; reading them takes some milliseconds


def estimate(runs: str, steps: Iterable[str]) -> Estimate | None:
    """None: nobody has told a price yet, or nothing is to be called."""
    wanted = list(steps)
    prices = _prices(runs)
    if not prices or not wanted:
        return None
    every = [price for of_step in prices.values() for price in of_step]
    dollars = sum(fmean(prices.get(step, every)) for step in wanted)
    return Estimate(round(dollars, 2), len(wanted), len(every))


def _prices(runs: str) -> dict[str, list[float]]:
    prices: dict[str, list[float]] = {}
    for place in find_attempts(runs)[:MOST_CALLS]:
        verdict = read_verdict(place.folder)
        if verdict is None or verdict.spend.dollars is None:
            continue
        try:
            prices.setdefault(read_spec(place.folder).step, []).append(verdict.spend.dollars)
        except FileError:
            continue
    return prices
