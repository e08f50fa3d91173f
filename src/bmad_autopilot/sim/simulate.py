"""A rehearsal: epics run by the real loop in a world in memory, with crashes, faults and people, from one seed."""

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from ..core.errors import AutopilotError, FileError
from ..core.statuses import DONE
from ..engine.lane import Lane
from ..engine.loop import LaneLoop
from ..engine.position import statuses_of
from .faults import Crash, CrashPlan
from .invariants import broken_promises
from .log import LAST, Actor, Effect
from .memory import World
from .memory_board import rows_of
from .memory_doors import MemoryDoors
from .played import Played, Session
from .sample import sample_files, story_keys
from .scenario import Options, Scenario, chances, make_scenario

MAX_SESSIONS = 300  # of one lane: starts of a supervisor
REPAIR_SECONDS = 1800.0
DEFAULTS = Options()
Promises = Callable[[Played], Iterator[str]]


class Report(NamedTuple):
    """What one seed came to."""

    seed: int
    done: int
    stories: int
    endings: tuple[str, ...]  # of each epic's run
    crashes: int
    calls: int
    commits: int
    questions: int
    edits: int  # by people
    points: int  # passed at which a supervisor could have died
    seconds: float  # virtual
    dollars: float
    broken: tuple[str, ...]  # promises that did not hold
    effects: list[Effect]
    command: str  # that plays it again
    pulls: int = 0  # of ours, where epics are delivered
    merged: int = 0

    @property
    def message(self) -> str:
        """Of a seed that broke a promise: which one, what happened last, and how to see it again."""
        told = [f"  {one}" for one in self.broken]
        last = [effect.line() for effect in self.effects[-LAST:]]
        return "\n".join([f"seed {self.seed} breaks a promise", *told, *last, f"see it again: {self.command}"])


def simulate(seed: int, options: Options = DEFAULTS) -> Report:
    return report(play(seed, options), command_for(seed, options))


def command_for(seed: int, options: Options) -> str:
    """As it is typed; what a project's own settings say is not part of it."""
    words = ["bmad simulate --seed", str(seed)]
    for name in ("epics", "stories"):
        if getattr(options, name) != getattr(DEFAULTS, name):
            words.append(f"--{name} {getattr(options, name)}")
    if options.workflow != DEFAULTS.workflow:
        words.append(f"--workflow {options.workflow.name}")
    if not options.crash_rate:
        words.append("--no-crashes")
    return " ".join(words)


def play(seed: int, options: Options = DEFAULTS) -> Played:
    scenario = make_scenario(seed, options)
    crashes = CrashPlan(chances(seed, "crashes"), at=options.crash_at, rate=options.crash_rate)
    world = World(sample_files(options.epics, options.stories), chances(seed, "world"), crashes)
    played = Played(seed, world, scenario, story_keys(options.epics, options.stories))
    scenario.cast.humans.edits(world, scenario.edits)
    for at in scenario.stops:
        world.schedule(at, lambda: setattr(world, "stop", True))
    for at in scenario.pauses:
        world.schedule(at, lambda: setattr(world, "pause", True))
    for number in range(1, options.epics + 1):
        lane = scenario.lane._replace(key=f"epic-{number}", epic=str(number))
        session = Session(f"run-{number}", lane)
        played.sessions.append(session)
        head = world.git.head
        session.ending = _run(world, scenario, session, chances(seed, f"fate {number}"))
        if not world.git.descends(world.git.head, head):
            # What an agent took from the branch, in a run that still waits, a person puts back before the next.
            world.git.head = head
            world.did(Actor.PERSON, "put-history-back")
        session.finished = world.now
        session.rows = {key: row.meaning for key, row in rows_of(world.readable()).items()}
    return played


def _run(world: World, scenario: Scenario, session: Session, fate: Random) -> str:
    """One lane, its supervisor started again and again until there is nothing left to start it for."""
    statuses = statuses_of(session.lane, rows_of(world.readable()))
    lane = session.lane = session.lane._replace(dirty=world.git.dirty(), rows=statuses)
    world.books.dirty = lane.dirty
    for number in range(MAX_SESSIONS):
        try:
            ending = _session(world, scenario, session.run, lane, resumed=number > 0)
        except Crash as crash:
            world.did(Actor.FATE, "crash", session.run, at=str(crash))
            if fate.random() < scenario.lost_rate:
                world.lose_calls()
            world.advance(world.now + fate.choice((1.0, 60.0, 1200.0, 20_000.0)))
            continue
        except FileError:
            world.advance(world.now + REPAIR_SECONDS)
            scenario.cast.humans.mends_board(world)
            continue
        except AutopilotError as error:
            return f"stuck: {error.message}"
        world.did(Actor.US, "ended", session.run, ending=ending)
        if not _comes_back(world, scenario, session.run, ending):
            return ending
    return "endless"


def _session(world: World, scenario: Scenario, run: str, lane: Lane, *, resumed: bool) -> str:
    doors = MemoryDoors(world, run, lane, scenario.cast)
    if not world.journals.get(run):
        doors.note("run", {"run_id": run, "target": lane.key, "key": lane.key, "scope": lane.scope})
    elif resumed:
        doors.note("resumed", {})
    return LaneLoop(doors, lane).to_end()


def _comes_back(world: World, scenario: Scenario, run: str, ending: str) -> bool:
    """Whether somebody starts it again."""
    if ending in ("left", "paused"):
        world.stop = world.pause = False
        world.advance(world.now + REPAIR_SECONDS)
        return True
    if ending == "handed-over":
        world.advance(world.now + REPAIR_SECONDS)
        return True
    if ending == "waiting":
        asked = next((one for (name, _), one in reversed(world.questions.items()) if name == run), None)
        if asked is None or asked.answer_at is None:
            return False
        world.advance(asked.answer_at)
        return True
    return False


def report(played: Played, command: str = "", promises: Promises = broken_promises) -> Report:
    world = played.world
    log = world.log
    rows = rows_of(world.readable())
    return Report(
        played.seed,
        sum(key in rows and rows[key].meaning == DONE for key in played.stories),
        len(played.stories),
        tuple(session.ending for session in played.sessions),
        sum(1 for _ in log.of("crash")),
        len(world.calls),
        sum(1 for commit in world.git.commits.values() if commit.key),
        len(world.questions),
        sum(1 for _ in log.of("edit-row", "remark", "write-file", "spoil-board")),
        world.crashes.points,
        world.now,
        sum(call.ending.dollars for call in world.calls.values() if call.state == "finished"),
        tuple(promises(played)),
        log.effects,
        command,
    )
