"""The graphs that the schedule is measured on, and the bars it must meet."""

from collections import Counter
from random import Random
from statistics import fmean

import pytest

from benchmarks.schedule import SEED, better_bound, case, phase_ratio, phased, random_cases, ratio
from benchmarks.scheduler_replay import replay_figures
from bmad_autopilot.core.scheduling import least_makespan


@pytest.mark.parametrize("count", [100, pytest.param(400, marks=pytest.mark.soak)])
def test_the_schedule_meets_its_bars(count: int) -> None:
    """`make bench` prints the figures for all of them."""
    ratios = [ratio(one) for one in random_cases(SEED, count)]
    assert fmean(ratios) <= 1.03
    assert max(ratios) <= 1.10


@pytest.mark.parametrize("count", [60, pytest.param(400, marks=pytest.mark.soak)])
def test_what_is_flown_meets_the_same_bars(count: int) -> None:
    """Played with the supervisor's own fleet: which epic is begun, and who gets an agent."""
    found = [replay_figures(one) for one in random_cases(SEED, count)]
    assert fmean(one.ratio for one in found) <= 1.03
    assert max(one.ratio for one in found) <= 1.10
    assert max(one.most_open for one in found) <= 2.0


def test_graphs_of_every_shape_size_and_number_of_slots() -> None:
    cases = random_cases(SEED)
    assert min(Counter(one.shape for one in cases).values()) > 60
    assert {one.slots for one in cases} == set(range(1, 9))
    assert {len(one.graph.nodes) for one in cases} == set(range(2, 31))
    assert not any(one.graph.problems for one in cases)
    assert sum(bool(one.graph.edges) for one in cases) > 300


def test_the_same_seed_gives_the_same_graphs() -> None:
    assert random_cases(3, 5) == random_cases(3, 5) != random_cases(4, 5)


def test_phases_are_held_against_a_bound_that_knows_them() -> None:
    dice = Random(SEED)
    cases = [case(dice, phased) for _ in range(20)]
    assert all(better_bound(one) >= least_makespan(one.graph, one.calls, one.slots) for one in cases)
    assert max(map(phase_ratio, cases)) <= 1.10
