"""The loop, proven: crashes at every point of every effect, thousands of worlds, nothing lost, nothing twice."""

import gc
from collections.abc import Iterator
from functools import lru_cache

import pytest

from bmad_autopilot.sim.faults import INTENT_KINDS, CrashPhase, CrashPlan
from bmad_autopilot.sim.sample import story_keys
from bmad_autopilot.sim.scenario import SimulationOptions
from bmad_autopilot.sim.simulate import command_for, run_simulation, simulate
from bmad_autopilot.sim.users import Manner
from bmad_autopilot.workflows.workflow import PIPELINES

# One of each trouble, so that every kind of effect occurs.
TROUBLES = (
    *("picky", "asking", "broken-checks", "honest"),
    *("environment", "limit", "breaks-board", "parks"),
    *("commits-itself", "crashing", "no-change", "overloaded"),
)
CRASHES_A_WORLD = 16
SEEDS_A_CASE = 100


def every_trouble(workflow: str, crash_at: tuple[int, ...] = ()) -> SimulationOptions:
    return SimulationOptions(
        workflow=PIPELINES[workflow],
        habits=dict(zip(story_keys(3, 4), TROUBLES, strict=True)),
        manner=Manner.PATIENT,
        attended=False,
        crash_rate=0.0,
        crash_at=crash_at,
        retrospective="run",
    )


EFFECTS = frozenset("set-row restore-board commit save start gather clear-state check ask".split())
RECORDS = frozenset(
    (
        "run resumed story ended accepted row-set check commit asked answered round resting restored edited gone "
        "left waiting finished"
    ).split()
)
EVERY_POINT = frozenset(
    (
        *(
            (kind, phase)
            for kind in INTENT_KINDS - {"effect"}
            for phase in (CrashPhase.BEFORE_INTENT, CrashPhase.AFTER_INTENT)
        ),
        *((kind, CrashPhase.AFTER_EFFECT) for kind in EFFECTS),
        *((kind, CrashPhase.AFTER_RECORD) for kind in RECORDS),
    )
)


@lru_cache
def world(workflow: str) -> tuple[int, CrashPlan]:
    """The first seed in which people also edit rows, remove one and press Ctrl-C, so that there is a point of
    every kind of effect and record in every phase; and those points."""
    for seed in range(500):
        crashes = run_simulation(seed, every_trouble(workflow)).world.crashes
        if crashes.first_points.keys() >= EVERY_POINT:
            return seed, crashes
    raise AssertionError("no world has every kind of effect")


def crash_everywhere(workflow: str, *, in_a_world: int) -> None:
    """A crash at every point that a world has, so many to a world, far apart; in lean the first of each kind alone
    too. A crash lets time pass: what a world does not come to because of it is played in one of its own."""
    seed, seen = world(workflow)
    worlds = -(-seen.points // in_a_world)
    plans = [tuple(range(first, seen.points + 1, worlds)) for first in range(1, worlds + 1)]
    if workflow == "lean":
        plans += [(seen.first_points[point],) for point in sorted(EVERY_POINT)]
    for plan in plans:
        report = simulate(seed, every_trouble(workflow, plan))
        assert report.crashes, plan
        assert not report.broken, f"crashes at points {plan} of {workflow}, seed {seed}: {report.message}"
        plans += [(number,) for number in plan[report.crashes :]]


@pytest.mark.parametrize(
    "workflow", ["lean", *(pytest.param(name, marks=pytest.mark.real) for name in PIPELINES if name != "lean")]
)
def test_a_crash_at_every_point_loses_nothing_and_repeats_nothing(workflow: str) -> None:
    crash_everywhere(workflow, in_a_world=CRASHES_A_WORLD)


@pytest.mark.soak
@pytest.mark.parametrize("workflow", PIPELINES)
def test_nor_does_one_alone(workflow: str) -> None:
    crash_everywhere(workflow, in_a_world=1)


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    """A world makes much and keeps little in circles: without the collector it plays a sixth faster."""
    gc.disable()
    yield
    gc.enable()
    gc.collect()


def hold(seeds: range, workflow: str) -> None:
    for seed in seeds:
        report = simulate(seed, SimulationOptions(workflow=PIPELINES[workflow], stories=2 + seed % 3))
        assert not report.broken, report.message


def cases(first: int, count: int) -> list[tuple[int, str]]:
    workflows = ("lean", "build", "build", "lean", "build", "build", "lean", "build", "build", "full")
    starts = range(first, first + count, SEEDS_A_CASE)
    return [(start, workflows[index % len(workflows)]) for index, start in enumerate(starts)]


@pytest.mark.parametrize(("first", "workflow"), cases(0, 2000))
def test_every_promise_holds_in_any_world(first: int, workflow: str) -> None:
    hold(range(first, first + SEEDS_A_CASE), workflow)


@pytest.mark.soak
@pytest.mark.parametrize(("first", "workflow"), cases(2000, 10_000))
def test_and_in_ten_thousand_more(first: int, workflow: str) -> None:
    hold(range(first, first + SEEDS_A_CASE), workflow)


def test_a_world_that_nobody_disturbs_gets_everything_done() -> None:
    quiet = SimulationOptions(
        habits={}, crash_rate=0.0, has_interference=False, manner=Manner.PATIENT, retrospective="run"
    )
    report = simulate(1, quiet._replace(max_cost=float("inf"), max_hours=float("inf")))
    assert (report.done, report.stories, report.broken) == (12, 12, ())
    assert report.endings == ("completed",) * 3
    assert (report.calls, report.commits, report.questions) == (12 * 3 + 3, 12 + 2 * 3, 0)


def test_a_seed_always_plays_the_same() -> None:
    first, second = simulate(11), simulate(11)
    assert first == second
    assert first.crashes
    assert simulate(12).effects != first.effects


def test_where_nobody_answers_the_run_waits() -> None:
    habits = {"1-1-list-accounts": "asking"}
    absent = SimulationOptions(1, 2, habits=habits, manner=Manner.ABSENT, crash_rate=0.0, has_interference=False)
    report = simulate(3, absent._replace(max_cost=float("inf"), max_hours=float("inf")))
    assert (report.endings, report.done, report.broken) == (("waiting",), 0, ())


def test_a_failing_seed_names_itself_and_how_to_see_it_again() -> None:
    options = SimulationOptions(2, 3, workflow=PIPELINES["build"])
    report = simulate(5, options)._replace(broken=("nothing is lost: all is",))
    assert "seed 5 breaks a promise" in report.message
    assert "nothing is lost: all is" in report.message
    assert report.effects[-1].line() in report.message
    assert report.message.endswith("bmad simulate --seed 5 --epics 2 --stories 3 --workflow build")
    assert command_for(8, SimulationOptions(crash_rate=0.0)) == "bmad simulate --seed 8 --no-crashes"
