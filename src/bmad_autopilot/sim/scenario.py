"""The scenario of a simulation, drawn from a seed: agents' habits, people, interference and limits."""

from collections.abc import Mapping
from random import Random
from typing import NamedTuple

from ..core.lane_scope import LaneScope
from ..engine.lane import Lane
from ..engine.observe import AFTER_EPIC, AFTER_STORY, BEFORE_DEV
from ..workflows.workflow import PIPELINES, Workflow
from .habits import HABITS, Habit, HabitKind
from .habits.lying_reviews_and_tests import TEST_TAMPERERS
from .habits.untidy_files import TEST_FILE_HABITS
from .sample import story_keys
from .users import Humans, Manner

BRANCH = "main"
INTERFERENCE_SECONDS = 40_000.0  # people interfere within this time
_HABIT_WEIGHTS = {HabitKind.HONEST: 45, HabitKind.FAULTY: 30, HabitKind.UNTIDY: 15, HabitKind.LIAR: 10}
# Only on a real machine: in memory an agent's `git add -f` looks like a file that is not ignored.
_NEEDS_REAL_GIT = frozenset(("commits-state",))
# These change the sample's own tests, which a second one could not change again: at most one per scenario. Each
# liar occurs at most once, too: its second call would leave what the first one left, and change nothing.
_CHANGES_TESTS = frozenset((*TEST_TAMPERERS, *TEST_FILE_HABITS, "guts-in-review", "deletes-in-review"))
_POLICIES: tuple[Mapping[str, str], ...] = (
    {},
    {"all": "retry"},
    {"all": "skip"},
    {"failed": "retry", "liar": "skip", "checks": "abort", "timeout": "extend", "left-out": "leave"},
)


class SimulationOptions(NamedTuple):
    """The caller's choices; None lets the seed choose."""

    epics: int = 3
    stories: int = 4
    workflow: Workflow = PIPELINES["lean"]
    habits: Mapping[str, str] | None = None  # story → habit; all other stories are honest
    manner: Manner | None = None
    attended: bool | None = None
    crash_rate: float = 0.01
    crash_at: tuple[int, ...] = ()  # point numbers, instead of a rate
    has_interference: bool = True  # people edit and press Ctrl-C; machines go down
    max_rounds: int = 3
    max_fixes: int = 3
    max_cost: float | None = None
    max_hours: float | None = None
    retrospective: str | None = None
    human_checkpoint: str | None = None
    unattended: Mapping[str, str] | None = None


class Participants:
    """The agents' habits by story, and the people."""

    def __init__(self, habits: dict[str, str]) -> None:
        self.habits = habits
        self.initial_habits = dict(habits)
        self.humans: Humans
        self.unattended: Mapping[str, str] = {}  # the settings' choice per cause for unattended runs

    def habit_of(self, story: str) -> Habit:
        return HABITS[self.habits.get(story, "honest")]

    def make_honest(self, story: str) -> None:
        if story in self.habits:
            self.habits[story] = "honest"

    def initial_kind(self, story: str) -> HabitKind:
        """The kind of the story's initial habit."""
        return HABITS[self.initial_habits.get(story, "honest")].kind


class Scenario(NamedTuple):
    participants: Participants
    lane: Lane  # of every epic, except for its key and number
    edits: list[float]
    stops: list[float]
    lost_rate: float  # share of crashes that also end the running agents
    pauses: tuple[float, ...] = ()


def seeded_random(seed: int, stream: str) -> Random:
    """An independent random stream per purpose: one crash more or less does not change the other draws."""
    return Random(f"{stream} {seed}")  # noqa: S311 (a rehearsal, no secret)


def make_scenario(seed: int, options: SimulationOptions) -> Scenario:
    rng = seeded_random(seed, "scenario")
    participants = Participants(_habits(rng, options))
    manner = options.manner or rng.choices(tuple(Manner), (6, 3, 1))[0]
    attended = rng.random() < 0.5 if options.attended is None else options.attended
    participants.humans = Humans(
        manner, seeded_random(seed, "humans"), participants, attended=attended, branch=BRANCH
    )
    lane = Lane(
        LaneScope.EPIC,
        "",
        None,
        options.workflow,
        branch=BRANCH,
        max_rounds=options.max_rounds,
        max_fixes=options.max_fixes,
        max_cost=options.max_cost if options.max_cost is not None else _draw_limit(rng, 0.2, (1.0, 5.0)),
        max_hours=options.max_hours if options.max_hours is not None else _draw_limit(rng, 0.1, (1.0, 12.0)),
        retrospective=options.retrospective or rng.choice(("offer", "run", "never")),
    )
    people = seeded_random(seed, "people")
    checkpoint = people.choices(("none", BEFORE_DEV, AFTER_STORY, AFTER_EPIC), (7, 1, 1, 1))[0]
    lane = lane._replace(human_checkpoint=options.human_checkpoint or checkpoint)
    chosen = people.choices(_POLICIES, (7, 1, 1, 1))[0]
    participants.unattended = chosen if options.unattended is None else options.unattended
    if not options.has_interference:
        return Scenario(participants, lane, [], [], 0.0)
    edits = [rng.uniform(0.0, INTERFERENCE_SECONDS) for _ in range(rng.choice((0, 0, 1, 3, 8)))]
    stops = [rng.uniform(0.0, INTERFERENCE_SECONDS) for _ in range(rng.choice((0, 0, 1, 2)))]
    pauses = tuple(people.uniform(0.0, INTERFERENCE_SECONDS) for _ in range(people.choice((0, 0, 0, 1, 2))))
    return Scenario(participants, lane, edits, stops, 0.1, pauses)


def _habits(rng: Random, options: SimulationOptions) -> dict[str, str]:
    if options.habits is not None:
        return dict(options.habits)
    by_kind = {kind: [habit.name for habit in HABITS.values() if habit.kind is kind] for kind in HabitKind}
    by_kind[HabitKind.LIAR] = [name for name in by_kind[HabitKind.LIAR] if name not in _NEEDS_REAL_GIT]
    kinds = rng.choices(tuple(_HABIT_WEIGHTS), tuple(_HABIT_WEIGHTS.values()), k=options.epics * options.stories)
    keys = story_keys(options.epics, options.stories)
    drawn: dict[str, str] = {}
    for key, kind in zip(keys, kinds, strict=True):
        name = rng.choice(by_kind[kind])
        used = set(drawn.values())
        spent = (kind is HabitKind.LIAR and name in used) or (
            name in _CHANGES_TESTS and bool(used & _CHANGES_TESTS)
        )
        drawn[key] = "honest" if spent else name
    return drawn


def _draw_limit(rng: Random, chance: float, between: tuple[float, float]) -> float | None:
    value = rng.uniform(*between)
    return round(value, 2) if rng.random() < chance else None
