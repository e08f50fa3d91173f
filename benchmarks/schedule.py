"""How near the schedule comes to the shortest there could be. Run inside the installed environment; prints JSON.

`ratios`: on 400 random graphs of epics, the schedule's length by max(longest chain, work / slots). `phases`: the
same where every epic of a phase waits for all of the one before. There the plain bound is out of anybody's reach
(while one epic is waited for, slots stand idle), so these are held against the bound that knows it: no call begins
before what it waits for, nor ends later than what waits for it allows."""

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import NamedTuple

from bmad_autopilot.core.graph import Edge, Graph, Source, build, sorted_by_waiting, tails
from bmad_autopilot.core.slots import least_makespan, makespan

GRAPHS = 400
SEED = 7
MOST_EPICS, MOST_STORIES, MOST_SLOTS = 30, 12, 8
REACH = 6  # epics back that one may wait for, where graphs are not drawn evenly
REVIEW_SENT_BACK = 0.25


class Case(NamedTuple):
    shape: str
    graph: Graph
    calls: dict[str, list[float]]
    slots: int


Pairs = list[tuple[int, int]]  # one that waits, the one it waits for


def scattered(dice: Random, count: int) -> Pairs:
    """Any epic may wait for any earlier one, from none at all to nearly half of them."""
    density = dice.choice((0.0, 0.05, 0.1, 0.2, 0.4))
    return [(one, on) for one in range(count) for on in range(one) if dice.random() < density]


def chained(dice: Random, count: int) -> Pairs:
    """Chains side by side, of any length; a single one too."""
    last: dict[int, int] = {}
    pairs = []
    chains = dice.randint(1, max(1, count // 2))
    for one in range(count):
        chain = dice.randrange(chains)
        pairs += [(one, last[chain])] if chain in last else []
        last[chain] = one
    return pairs


def forked(dice: Random, count: int) -> Pairs:
    """Trees: most epics wait for one that came shortly before."""
    return [(one, dice.randint(max(0, one - REACH), one - 1)) for one in range(1, count) if dice.random() < 0.8]


def joined(dice: Random, count: int) -> Pairs:
    """Forks and joins: up to two of those that came shortly before."""
    pairs = []
    for one in range(1, count):
        near = range(max(0, one - REACH), one)
        pairs += [(one, on) for on in dice.sample(near, min(len(near), dice.randint(0, 2)))]
    return pairs


def phased(dice: Random, count: int) -> Pairs:
    """Phases of one to four epics; each epic waits for all of the phase before."""
    phases: list[range] = []
    at = 0
    while at < count:
        phases.append(range(at, min(count, at + dice.choice((1, 1, 2, 3, 4)))))
        at = phases[-1].stop
    return [(one, on) for before, phase in pairwise(phases) for one in phase for on in before]


SHAPES = (scattered, chained, forked, joined)


def case(dice: Random, shape: Callable[[Random, int], Pairs]) -> Case:
    count = dice.randint(2, MOST_EPICS)
    names = [str(number) for number in range(1, count + 1)]
    edges = [Edge(names[one], names[on], Source.EPICS) for one, on in shape(dice, count)]
    calls = {name: _epic(dice) for name in names}
    return Case(shape.__name__, build(names, edges), calls, dice.randint(1, MOST_SLOTS))


def _epic(dice: Random) -> list[float]:
    """Minutes of its calls: a story is prepared, developed and reviewed; some reviews send it back."""
    calls: list[float] = []
    for _ in range(dice.randint(1, MOST_STORIES)):
        calls += [dice.uniform(2, 5), dice.lognormvariate(2.3, 0.5), dice.uniform(3, 8)]
        while dice.random() < REVIEW_SENT_BACK:
            calls += [dice.lognormvariate(1.6, 0.5), dice.uniform(2, 6)]
    return calls


def random_cases(seed: int, count: int = GRAPHS) -> list[Case]:
    dice = Random(seed)
    return [case(dice, dice.choice(SHAPES)) for _ in range(count)]


def ratio(one: Case) -> float:
    return makespan(one.graph, one.calls, one.slots) / least_makespan(one.graph, one.calls, one.slots)


def phase_ratio(one: Case) -> float:
    return makespan(one.graph, one.calls, one.slots) / better_bound(one)


def better_bound(one: Case) -> float:
    """Nothing of a call that has so much before it and so much behind it fits into the first hours or the last."""
    graph, work = one.graph, {epic: sum(calls) for epic, calls in one.calls.items()}
    behind = {epic: tail - work[epic] for epic, tail in tails(graph, work).items()}
    ons, before = graph.waits_for(), dict[str, float]()
    for epic in sorted_by_waiting(graph):
        before[epic] = max((before[on] + work[on] for on in ons[epic]), default=0.0)
    best = least_makespan(graph, one.calls, one.slots)
    for first in set(before.values()):
        for last in set(behind.values()):
            inside = sum(
                max(0.0, min(work[epic], work[epic] + behind[epic] - last) - max(0.0, first - before[epic]))
                for epic in graph.nodes
            )
            best = max(best, first + last + inside / one.slots) if inside else best
    return best


def main(count: int) -> None:
    dice = Random(SEED)
    phases = [phase_ratio(case(dice, phased)) for _ in range(max(1, count // 4))]
    print(json.dumps({"ratios": [ratio(one) for one in random_cases(SEED, count)], "phases": phases}))


if __name__ == "__main__":
    main(int(sys.argv[2]))
