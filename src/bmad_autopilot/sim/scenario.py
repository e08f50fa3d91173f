"""What a simulation plays: which agents, which people, which troubles. All of it follows from a seed."""

from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from ..engine.lane import Lane
from ..engine.observing import AFTER_EPIC, AFTER_STORY, BEFORE_DEV
from ..workflows.pipelines import PIPELINES, Workflow
from .habits import HABITS, Habit, Kind
from .habits.liars_with_tests import TAMPERERS
from .habits.untidy_tests import TESTERS
from .humans import Humans, Manner
from .sample import story_keys

BRANCH = "main"
HORIZON = 40_000.0  # seconds within which people meddle
_MIX = {Kind.HONEST: 45, Kind.FAULTY: 30, Kind.UNTIDY: 15, Kind.LIAR: 10}
# Of a real machine alone: nothing in memory can tell an agent's `git add -f` from a file that is not ignored.
_NOT_HERE = frozenset(("commits-state",))
# What one of them has done to the sample's own tests, another cannot do again: one of them in a scenario. The same
# holds of each liar: what it left behind is no news when it does so again.
_WITH_TESTS = frozenset((*TAMPERERS, *TESTERS, "guts-in-review", "deletes-in-review"))
_POLICIES: tuple[Mapping[str, str], ...] = (
    {},
    {"all": "retry"},
    {"all": "skip"},
    {"failed": "retry", "liar": "skip", "checks": "abort", "timeout": "extend", "left-out": "leave"},
)


class Options(NamedTuple):
    """What the caller has chosen; None: the seed chooses."""

    epics: int = 3
    stories: int = 4
    workflow: Workflow = PIPELINES["lean"]
    habits: Mapping[str, str] | None = None  # story → habit; those not named are honest
    manner: Manner | None = None
    attended: bool | None = None
    crash_rate: float = 0.01
    crash_at: tuple[int, ...] = ()  # numbers of points, in place of a rate
    meddling: bool = True  # people edit, press Ctrl-C; machines go down
    max_rounds: int = 3
    max_fixes: int = 3
    max_cost: float | None = None
    max_hours: float | None = None
    retrospective: str | None = None
    human_checkpoint: str | None = None
    unattended: Mapping[str, str] | None = None


class Cast:
    """Who plays: an agent's habit for each story, and the people."""

    def __init__(self, habits: dict[str, str]) -> None:
        self.habits = habits
        self.first = dict(habits)
        self.humans: Humans
        self.unattended: Mapping[str, str] = {}  # what the settings choose where nobody is there

    def habit_of(self, story: str) -> Habit:
        return HABITS[self.habits.get(story, "honest")]

    def mend(self, story: str) -> None:
        if story in self.habits:
            self.habits[story] = "honest"

    def kind(self, story: str) -> Kind:
        """As it was at first."""
        return HABITS[self.first.get(story, "honest")].kind


class Scenario(NamedTuple):
    cast: Cast
    lane: Lane  # of every epic, its name apart
    edits: list[float]
    stops: list[float]
    lost_rate: float  # of crashes that take the machine and its agents along
    pauses: tuple[float, ...] = ()


def chances(seed: int, what: str) -> Random:
    """A stream of its own for each of those who draw: a crash more or less changes nobody else's luck."""
    return Random(f"{what} {seed}")  # noqa: S311 (a rehearsal, no secret)


def make_scenario(seed: int, options: Options) -> Scenario:
    rng = chances(seed, "scenario")
    cast = Cast(_habits(rng, options))
    manner = options.manner or rng.choices(tuple(Manner), (6, 3, 1))[0]
    attended = rng.random() < 0.5 if options.attended is None else options.attended
    cast.humans = Humans(manner, chances(seed, "humans"), cast, attended=attended, branch=BRANCH)
    lane = Lane(
        "epic",
        "",
        None,
        options.workflow,
        branch=BRANCH,
        max_rounds=options.max_rounds,
        max_fixes=options.max_fixes,
        max_cost=options.max_cost if options.max_cost is not None else _perhaps(rng, 0.2, (1.0, 5.0)),
        max_hours=options.max_hours if options.max_hours is not None else _perhaps(rng, 0.1, (1.0, 12.0)),
        retrospective=options.retrospective or rng.choice(("offer", "run", "never")),
    )
    people = chances(seed, "people")
    stage = people.choices(("none", BEFORE_DEV, AFTER_STORY, AFTER_EPIC), (7, 1, 1, 1))[0]
    lane = lane._replace(human_checkpoint=options.human_checkpoint or stage)
    chosen = people.choices(_POLICIES, (7, 1, 1, 1))[0]
    cast.unattended = chosen if options.unattended is None else options.unattended
    if not options.meddling:
        return Scenario(cast, lane, [], [], 0.0)
    edits = [rng.uniform(0.0, HORIZON) for _ in range(rng.choice((0, 0, 1, 3, 8)))]
    stops = [rng.uniform(0.0, HORIZON) for _ in range(rng.choice((0, 0, 1, 2)))]
    pauses = tuple(people.uniform(0.0, HORIZON) for _ in range(people.choice((0, 0, 0, 1, 2))))
    return Scenario(cast, lane, edits, stops, 0.1, pauses)


def _habits(rng: Random, options: Options) -> dict[str, str]:
    if options.habits is not None:
        return dict(options.habits)
    by_kind = {kind: [habit.name for habit in HABITS.values() if habit.kind is kind] for kind in Kind}
    by_kind[Kind.LIAR] = [name for name in by_kind[Kind.LIAR] if name not in _NOT_HERE]
    kinds = rng.choices(tuple(_MIX), tuple(_MIX.values()), k=options.epics * options.stories)
    keys = story_keys(options.epics, options.stories)
    drawn: dict[str, str] = {}
    for key, kind in zip(keys, kinds, strict=True):
        name = rng.choice(by_kind[kind])
        used = set(drawn.values())
        spent = (kind is Kind.LIAR and name in used) or (name in _WITH_TESTS and bool(used & _WITH_TESTS))
        drawn[key] = "honest" if spent else name
    return drawn


def _perhaps(rng: Random, chance: float, between: tuple[float, float]) -> float | None:
    value = rng.uniform(*between)
    return round(value, 2) if rng.random() < chance else None
