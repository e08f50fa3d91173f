"""Deliveries, proven: epics to merged pull requests on a simulated GitHub, with faults, mischief and crashes."""

import gc
from collections.abc import Iterator

import pytest

from bmad_autopilot.engine.lane import AUTO, NO_REVIEWER, DeliveryPlan
from bmad_autopilot.sim.delivery_scenario import DeliveryOptions
from bmad_autopilot.sim.faults import CrashPhase
from bmad_autopilot.sim.simulate import delivery_command_for, run_delivery_simulation, simulate_delivery
from bmad_autopilot.sim.users import Manner

SEEDS_A_CASE = 25
OFTEN = DeliveryOptions(crash_rate=0.03)
STEADY = DeliveryOptions(crash_rate=0.0)
QUIET = DeliveryOptions(
    epics=5, stories=1, crash_rate=0.0, fault_rate=0.0, has_interference=False, manner=Manner.PATIENT
)

INTENDED = (
    "push open-pull reopen label retarget request-review reply resolve rerun merge enqueue clear-branch".split()
)
DONE_THERE = (
    "push open-pull reopen label edit-pull request-review reply resolve rerun merge enqueue delete-branch".split()
)
EVERY_POINT = frozenset(
    (
        *((kind, phase) for kind in INTENDED for phase in (CrashPhase.BEFORE_INTENT, CrashPhase.AFTER_INTENT)),
        *((kind, CrashPhase.AFTER_EFFECT) for kind in DONE_THERE),
        *((kind, CrashPhase.AFTER_RECORD) for kind in INTENDED),
    )
)


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """A world makes much and keeps little in circles."""
    gc.disable()
    yield
    gc.enable()
    gc.collect()


def hold(seeds: range, options: DeliveryOptions) -> None:
    for seed in seeds:
        report = simulate_delivery(seed, options)
        assert not report.broken, report.message


@pytest.mark.parametrize("first", range(0, 75, SEEDS_A_CASE))
def test_every_promise_holds_in_any_delivery(first: int) -> None:
    hold(range(first, first + SEEDS_A_CASE), OFTEN)


@pytest.mark.soak
@pytest.mark.parametrize("first", range(1000, 3000, SEEDS_A_CASE))
def test_and_in_two_thousand_more(first: int) -> None:
    hold(range(first, first + SEEDS_A_CASE), OFTEN)


@pytest.mark.soak
def test_a_crash_at_each_effect_on_github_repeats_nothing() -> None:
    """Each kind of effect in each phase, in the first worlds that have it."""
    places: dict[tuple[str, CrashPhase], list[tuple[int, int]]] = {point: [] for point in EVERY_POINT}
    for seed in range(400):
        seen = run_delivery_simulation(seed, STEADY).world.crashes.first_points
        for point in EVERY_POINT & seen.keys():
            places[point].append((seed, seen[point]))
    missing = [point for point, found in places.items() if not found]
    assert not missing, missing
    for point, found in places.items():
        for seed, number in found[:3]:
            report = simulate_delivery(seed, STEADY._replace(crash_at=(number,)))
            assert report.crashes == 1, (point, seed)
            assert not report.broken, f"a crash at {point}: {report.message}"


def test_five_epics_that_nobody_disturbs_are_all_merged() -> None:
    report = simulate_delivery(1, QUIET._replace(plan=DeliveryPlan(merge=AUTO, review=NO_REVIEWER, checks=False)))
    assert (report.merged, report.pulls, report.done, report.stories) == (5, 5, 5, 5)
    assert (report.broken, set(report.endings)) == ((), {"completed"})


def test_a_seed_always_plays_the_same() -> None:
    first, second = simulate_delivery(7), simulate_delivery(7)
    assert first == second
    assert first.crashes
    assert simulate_delivery(8).effects != first.effects


def test_the_command_plays_it_again() -> None:
    assert delivery_command_for(7, DeliveryOptions()) == "bmad simulate --delivery --seed 7"
    options = DeliveryOptions(2, 3, crash_rate=0.0)
    assert (
        delivery_command_for(7, options) == "bmad simulate --delivery --seed 7 --epics 2 --stories 3 --no-crashes"
    )
