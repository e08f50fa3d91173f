"""Compares the schedule with the shortest possible one. Run inside the installed environment; prints JSON.

`ratios`: on 400 random graphs of epics, the schedule's length divided by max(longest chain, work / slots).
`phases`: the same where every epic of a phase waits for the whole phase before. There the simple bound cannot be
reached, because slots are idle at the end of each phase, so a tighter bound is used: no call starts before its
dependencies end, nor ends later than its dependents allow."""

import json
import sys
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import NamedTuple

from bmad_autopilot.core.dependency_graph import (
    DependencyGraph,
    DependencySource,
    Edge,
    build_graph,
    chain_lengths,
    topological_order,
)
from bmad_autopilot.core.scheduling import least_makespan, makespan

GRAPHS = 400
SEED = 7
MOST_EPICS, MOST_STORIES, MOST_SLOTS = 30, 12, 8
REACH = 6  # an epic waits for one of the last six, except in evenly drawn graphs
REVIEW_SENT_BACK = 0.25


class Case(NamedTuple):
    shape: str
    graph: DependencyGraph
    calls: dict[str, list[float]]
    slots: int


Pairs = list[tuple[int, int]]  # (dependent, dependency)


def scattered(rng: Random, count: int) -> Pairs:
    """Any epic may wait for any earlier one, with a density from zero to nearly a half."""
    density = rng.choice((0.0, 0.05, 0.1, 0.2, 0.4))
    return [(one, on) for one in range(count) for on in range(one) if rng.random() < density]


def chained(rng: Random, count: int) -> Pairs:
    """One or more parallel chains of any length."""
    last: dict[int, int] = {}
    pairs = []
    chains = rng.randint(1, max(1, count // 2))
    for one in range(count):
        chain = rng.randrange(chains)
        pairs += [(one, last[chain])] if chain in last else []
        last[chain] = one
    return pairs


def forked(rng: Random, count: int) -> Pairs:
    """Trees: most epics wait for one recent epic."""
    return [(one, rng.randint(max(0, one - REACH), one - 1)) for one in range(1, count) if rng.random() < 0.8]


def joined(rng: Random, count: int) -> Pairs:
    """Forks and joins: epics wait for up to two recent epics."""
    pairs = []
    for one in range(1, count):
        near = range(max(0, one - REACH), one)
        pairs += [(one, on) for on in rng.sample(near, min(len(near), rng.randint(0, 2)))]
    return pairs


def phased(rng: Random, count: int) -> Pairs:
    """Phases of one to four epics; each epic waits for all of the phase before."""
    phases: list[range] = []
    at = 0
    while at < count:
        phases.append(range(at, min(count, at + rng.choice((1, 1, 2, 3, 4)))))
        at = phases[-1].stop
    return [(one, on) for before, phase in pairwise(phases) for one in phase for on in before]


SHAPES = (scattered, chained, forked, joined)


def case(rng: Random, shape: Callable[[Random, int], Pairs]) -> Case:
    count = rng.randint(2, MOST_EPICS)
    names = [str(number) for number in range(1, count + 1)]
    edges = [Edge(names[one], names[on], DependencySource.EPICS) for one, on in shape(rng, count)]
    calls = {name: _epic(rng) for name in names}
    return Case(shape.__name__, build_graph(names, edges), calls, rng.randint(1, MOST_SLOTS))


def _epic(rng: Random) -> list[float]:
    """Durations of its calls in minutes: per story create, dev and review; some reviews request changes."""
    calls: list[float] = []
    for _ in range(rng.randint(1, MOST_STORIES)):
        calls += [rng.uniform(2, 5), rng.lognormvariate(2.3, 0.5), rng.uniform(3, 8)]
        while rng.random() < REVIEW_SENT_BACK:
            calls += [rng.lognormvariate(1.6, 0.5), rng.uniform(2, 6)]
    return calls


def random_cases(seed: int, count: int = GRAPHS) -> list[Case]:
    rng = Random(seed)
    return [case(rng, rng.choice(SHAPES)) for _ in range(count)]


def ratio(one: Case) -> float:
    return makespan(one.graph, one.calls, one.slots) / least_makespan(one.graph, one.calls, one.slots)


def phase_ratio(one: Case) -> float:
    return makespan(one.graph, one.calls, one.slots) / better_bound(one)


def better_bound(one: Case) -> float:
    """A lower bound that excludes, for each epic, the time needed before it and the time needed after it."""
    graph, work = one.graph, {epic: sum(calls) for epic, calls in one.calls.items()}
    behind = {epic: tail - work[epic] for epic, tail in chain_lengths(graph, work).items()}
    ons, before = graph.dependencies(), dict[str, float]()
    for epic in topological_order(graph):
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
    rng = Random(SEED)
    phases = [phase_ratio(case(rng, phased)) for _ in range(max(1, count // 4))]
    print(json.dumps({"ratios": [ratio(one) for one in random_cases(SEED, count)], "phases": phases}))


if __name__ == "__main__":
    main(int(sys.argv[2]))
