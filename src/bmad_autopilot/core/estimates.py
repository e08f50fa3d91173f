"""Estimates duration and cost of agent calls from past calls, or from defaults where there are none. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from .json_types import Figure

MIN_SAMPLES = 5  # fewer calls of a step than this say little about their spread
UNCERTAINTY_FACTOR = 2.0  # an estimate from few calls may be off by this factor in either direction
MAX_ROUNDS = 4.0

# Not measured: these defaults only keep a plan's proportions right until real calls exist.
DEFAULT_MINUTES = {"create-story": 5.0, "validate": 4.0, "dev": 15.0, "revision": 8.0, "build-auto": 20.0}
DEFAULT_OTHER_MINUTES = 7.0
DEFAULT_ROUNDS = 1.3  # actual calls per planned call: reviews send work back
DEFAULT_DOLLARS_PER_MINUTE = 0.31  # per minute; a peer's bill: $7.75 for 25 minutes


class Range(NamedTuple):
    low: Figure
    middle: Figure
    high: Figure

    def scaled_by(self, factor: float) -> "Range":
        return Range(self.low * factor, self.middle * factor, self.high * factor)


class PastCall(NamedTuple):
    """A past call that succeeded."""

    run: str
    story: str
    step: str
    seconds: float
    dollars: float | None = None


class CallEstimates(NamedTuple):
    """Estimates for one call of each step."""

    seconds: Mapping[str, Range]
    other_seconds: Range  # for steps without past calls
    dollars: Mapping[str, Range]
    other_dollars: Range | None  # None: no past call reported a price
    rounds: float  # actual calls per planned call
    calls: int = 0  # number of past calls used; 0: defaults only

    def seconds_of(self, step: str) -> Range:
        return self.seconds.get(step, self.other_seconds).scaled_by(self.rounds)

    def dollars_of(self, step: str) -> Range | None:
        found = self.dollars.get(step, self.other_dollars)
        return found.scaled_by(self.rounds) if found else None


def sum_ranges(ranges: Iterable[Range]) -> Range:
    found = list(ranges)
    return Range(*(sum(one[part] for one in found) for part in range(3)))


def estimate_calls(past: Sequence[PastCall]) -> CallEstimates:
    if not past:
        return default_estimates()
    seconds = _by_step((one.step, one.seconds) for one in past)
    dollars = _by_step((one.step, one.dollars) for one in past if one.dollars is not None)
    planned = len({(one.run, one.story, one.step) for one in past})
    every_dollar = [value for values in dollars.values() for value in values]
    return CallEstimates(
        {step: _percentile_range(values) for step, values in seconds.items()},
        _percentile_range([one.seconds for one in past]),
        {step: _percentile_range(values) for step, values in dollars.items()},
        _percentile_range(every_dollar) if every_dollar else None,
        min(MAX_ROUNDS, len(past) / planned),
        len(past),
    )


def default_estimates() -> CallEstimates:
    minutes = {step: _range_around(60 * value) for step, value in DEFAULT_MINUTES.items()}
    other = _range_around(60 * DEFAULT_OTHER_MINUTES)
    rate = DEFAULT_DOLLARS_PER_MINUTE / 60
    dollars = {step: found.scaled_by(rate) for step, found in minutes.items()}
    return CallEstimates(minutes, other, dollars, other.scaled_by(rate), DEFAULT_ROUNDS)


def _by_step(pairs: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for step, value in pairs:
        found.setdefault(step, []).append(value)
    return found


def _percentile_range(values: Sequence[float]) -> Range:
    """20th, 50th and 80th percentile; for fewer than MIN_SAMPLES values, a wide range around the median."""
    ordered = sorted(values)
    middle = _quantile(ordered, 0.5)
    if len(ordered) < MIN_SAMPLES:
        return _range_around(middle)
    return Range(_quantile(ordered, 0.2), middle, _quantile(ordered, 0.8))


def _range_around(middle: float) -> Range:
    return Range(middle / UNCERTAINTY_FACTOR, middle, middle * UNCERTAINTY_FACTOR)


def _quantile(ordered: Sequence[float], part: float) -> float:
    at = part * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)
