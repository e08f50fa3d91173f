"""A rehearsal of deliveries: epics to merged pull requests on the simulated GitHub, by the real loop, from one
seed."""

from collections.abc import Iterator

from ..core.errors import AutopilotError
from ..core.folding import fold
from ..core.schedule import Candidate
from ..core.statuses import DONE
from ..engine.lane import Lane
from .delivery_scenario import DeliveryOptions, DeliveryScenario, make_delivery, make_hub
from .faults import Crash, CrashPlan
from .github.model import VIEWER
from .invariants_delivery import broken_deliveries
from .log import Actor, Effect
from .memory import MemoryQuestion, World
from .memory_board import rows_of
from .memory_pilot import MemoryPilot
from .played import Played
from .sample import sample_files, story_keys
from .scenario import BRANCH, chances
from .simulate import Report, report

MAX_FLIGHTS = 200  # starts of a supervisor
PAUSE = 1800.0  # seconds until somebody starts us again
DEFAULTS = DeliveryOptions()


def simulate_delivery(seed: int, options: DeliveryOptions = DEFAULTS) -> Report:
    played = play_delivery(seed, options)
    records = [fold(played.journal(session.run)).delivery for session in played.sessions]
    pulls, merged = sum(bool(one.pull) for one in records), sum(bool(one.merged) for one in records)
    made = report(played, command_for(seed, options), broken_deliveries)
    effects = sorted([*made.effects, *_of_others(played)], key=lambda effect: effect.at)
    return made._replace(done=_done(played), pulls=pulls, merged=merged, effects=effects)


def _of_others(played: Played) -> Iterator[Effect]:
    """What people and machines did on GitHub."""
    assert played.world.hub is not None
    for one in played.world.hub.model.effects.all:
        if one.by != VIEWER:
            about = one.data.get("branch") or f"#{one.data.get('number', '')}"
            yield Effect(one.at, Actor.PERSON, "github", "", {"by": one.by, "did": one.kind, "about": about})


def _done(played: Played) -> int:
    """Stories that are done on the base branch there: what is merged counts."""
    hub = played.world.hub
    assert hub is not None
    raw = hub.refs.files(hub.refs.head_of(BRANCH)).get(played.world.books.board, b"")
    rows = rows_of(raw)
    return sum(key in rows and rows[key].meaning == DONE for key in played.stories)


def command_for(seed: int, options: DeliveryOptions) -> str:
    """As it is typed."""
    words = ["bmad simulate --delivery --seed", str(seed)]
    words += [f"--epics {options.epics}"] if options.epics else []
    words += [f"--stories {options.stories}"] if options.stories else []
    words += ["--no-crashes"] if not options.crash_rate else []
    return " ".join(words)


def play_delivery(seed: int, options: DeliveryOptions = DEFAULTS) -> Played:
    delivery = make_delivery(seed, options)
    scenario = delivery.scenario
    crashes = CrashPlan(chances(seed, "crashes"), at=options.crash_at, rate=options.crash_rate)
    world = World(sample_files(delivery.epics, delivery.stories), chances(seed, "world"), crashes)
    world.hub = make_hub(world, seed, delivery, options)
    played = Played(seed, world, scenario, story_keys(delivery.epics, delivery.stories))
    for at in scenario.stops:
        world.schedule(at, lambda: setattr(world, "stop", True))
    fate = chances(seed, "fate")
    for _ in range(MAX_FLIGHTS):
        try:
            ending = _fly(world, delivery, played)
        except Crash as crash:
            world.did(Actor.FATE, "crash", at=str(crash))
            if fate.random() < scenario.lost_rate:
                world.lose_calls()
            world.advance(world.now + fate.choice((1.0, 60.0, 1200.0, 20_000.0)))
            continue
        except AutopilotError as error:
            played.ending = f"stuck: {error.message}"
            break
        played.ending = ending
        if not _comes_back(world, played, ending):
            break
    return played


def _fly(world: World, delivery: DeliveryScenario, played: Played) -> str:
    assert world.hub is not None

    def lane_for(epic: Candidate, branch: str, onto: str) -> Lane:
        plan = delivery.plan._replace(base=BRANCH, onto=onto)
        return delivery.scenario.lane._replace(key=epic.key, epic=epic.number, branch=branch, delivery=plan)

    cast = delivery.scenario.cast
    return MemoryPilot(world, world.hub, cast, played.sessions, lane_for, most=delivery.most).fly()


def _comes_back(world: World, played: Played, ending: str) -> bool:
    """Whether somebody starts it again."""
    if ending in ("left", "paused"):
        world.stop = world.pause = False
        world.advance(world.now + PAUSE)
        return True
    taken_over = [session for session in played.sessions if session.ending == "handed-over"]
    if taken_over:  # by somebody who has done by then what they wanted to
        for session in taken_over:
            session.ending = ""
        world.advance(world.now + PAUSE)
        return True
    if ending != "blocked":
        return False
    times = [asked.answer_at for asked in _open(world, played) if asked.answer_at is not None]
    if times:
        world.advance(min(times) + 0.001)
    return bool(times)


def _open(world: World, played: Played) -> Iterator[MemoryQuestion]:
    """What lanes ask that are not over; somebody may have answered it by now."""
    for session in played.sessions:
        record = fold(world.journals.get(session.run, []))
        if record.question is not None and not record.ended:
            yield world.questions[session.run, str(record.question["question"])]
