"""What a call will take and cost, by what earlier ones did; guesses where there were none. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

FEW = 5  # calls of a step: fewer say little about how much they differ
ALIKE = 2.0  # a figure taken from few calls may be off by this factor, either way
MOST_ROUNDS = 4.0

# Nobody has measured these here: they only keep a plan's proportions right until calls have been made.
GUESSED_MINUTES = {"create-story": 5.0, "validate": 4.0, "dev": 15.0, "revision": 8.0, "build-auto": 20.0}
GUESSED_OTHER = 7.0
GUESSED_ROUNDS = 1.3  # calls for each one planned: reviews send work back
GUESSED_DOLLARS = 0.31  # a minute, as a peer's bill of $7.75 for 25 minutes says


class Range(NamedTuple):
    low: float
    middle: float
    high: float

    def times(self, factor: float) -> "Range":
        return Range(self.low * factor, self.middle * factor, self.high * factor)


class PastCall(NamedTuple):
    """One that ended well."""

    run: str
    story: str
    step: str
    seconds: float
    dollars: float | None = None


class Figures(NamedTuple):
    """Of one call of each step."""

    seconds: Mapping[str, Range]
    other_seconds: Range  # of steps that were never called
    dollars: Mapping[str, Range]
    other_dollars: Range | None  # None: no call has told a price
    rounds: float  # calls for each one that is planned
    calls: int = 0  # it is taken from; 0: all of it is guessed

    def seconds_of(self, step: str) -> Range:
        return self.seconds.get(step, self.other_seconds).times(self.rounds)

    def dollars_of(self, step: str) -> Range | None:
        found = self.dollars.get(step, self.other_dollars)
        return found.times(self.rounds) if found else None


def total(ranges: Iterable[Range]) -> Range:
    found = list(ranges)
    return Range(*(sum(one[part] for one in found) for part in range(3)))


def figures(past: Sequence[PastCall]) -> Figures:
    if not past:
        return guessed()
    seconds = _by_step((one.step, one.seconds) for one in past)
    dollars = _by_step((one.step, one.dollars) for one in past if one.dollars is not None)
    planned = len({(one.run, one.story, one.step) for one in past})
    every_dollar = [value for values in dollars.values() for value in values]
    return Figures(
        {step: _spread(values) for step, values in seconds.items()},
        _spread([one.seconds for one in past]),
        {step: _spread(values) for step, values in dollars.items()},
        _spread(every_dollar) if every_dollar else None,
        min(MOST_ROUNDS, len(past) / planned),
        len(past),
    )


def guessed() -> Figures:
    minutes = {step: _around(60 * value) for step, value in GUESSED_MINUTES.items()}
    other = _around(60 * GUESSED_OTHER)
    rate = GUESSED_DOLLARS / 60
    dollars = {step: found.times(rate) for step, found in minutes.items()}
    return Figures(minutes, other, dollars, other.times(rate), GUESSED_ROUNDS)


def _by_step(pairs: Iterable[tuple[str, float]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for step, value in pairs:
        found.setdefault(step, []).append(value)
    return found


def _spread(values: Sequence[float]) -> Range:
    """From the fifth that was least to the fifth that was most; of few, by a wide guess around the middle."""
    ordered = sorted(values)
    middle = _quantile(ordered, 0.5)
    if len(ordered) < FEW:
        return _around(middle)
    return Range(_quantile(ordered, 0.2), middle, _quantile(ordered, 0.8))


def _around(middle: float) -> Range:
    return Range(middle / ALIKE, middle, middle * ALIKE)


def _quantile(ordered: Sequence[float], part: float) -> float:
    at = part * (len(ordered) - 1)
    below = int(at)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (at - below)
