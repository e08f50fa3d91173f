"""Simulates a seed: the real loop in a world in memory, with crashes, faults and people; checks the invariants."""

from collections.abc import Callable, Iterator
from random import Random
from typing import NamedTuple

from ..core.errors import AutopilotError, FileError
from ..core.journal_fold import fold
from ..core.run_ending import RunEnding
from ..core.scheduling import EpicCandidate
from ..core.statuses import DONE
from ..engine.lane import Lane
from ..engine.loop import LaneLoop
from ..engine.observation import statuses_of
from .delivery_invariants import find_delivery_violations
from .delivery_scenario import DeliveryOptions, DeliveryScenario, make_delivery_scenario, make_hub
from .effect_log import LAST_EFFECTS, Effect, EffectActor
from .faults import Crash, CrashPlan
from .github.model import VIEWER
from .invariants import find_violations
from .memory.git import board_rows
from .memory.ports import build_memory_ports
from .memory.supervisor import MemorySupervisor
from .memory.world import MemoryQuestion, MemoryWorld
from .result import LaneSession, SimulationResult
from .sample import sample_files, story_keys
from .scenario import BRANCH, Scenario, SimulationOptions, make_scenario, seeded_random

MAX_LANE_STARTS = 300  # supervisor starts per lane
REPAIR_SECONDS = 1800.0
DEFAULTS = SimulationOptions()
FindViolations = Callable[[SimulationResult], Iterator[str]]


class SimulationReport(NamedTuple):
    """The outcome of one seed."""

    seed: int
    done: int
    stories: int
    endings: tuple[str, ...]  # one per epic's run
    crashes: int
    calls: int
    commits: int
    questions: int
    edits: int  # by people
    points: int  # crash points passed
    seconds: float  # virtual
    dollars: float
    broken: tuple[str, ...]  # violations of invariants
    effects: list[Effect]
    command: str  # that repeats this simulation
    pulls: int = 0  # our pull requests, in a simulated delivery
    merged: int = 0

    @property
    def message(self) -> str:
        """For a seed with violations: the violations, the last effects and the command that repeats it."""
        violations = [f"  {one}" for one in self.broken]
        last = [effect.line() for effect in self.effects[-LAST_EFFECTS:]]
        return "\n".join(
            [f"seed {self.seed} breaks a promise", *violations, *last, f"see it again: {self.command}"]
        )


def simulate(seed: int, options: SimulationOptions = DEFAULTS) -> SimulationReport:
    return make_report(run_simulation(seed, options), command_for(seed, options))


def command_for(seed: int, options: SimulationOptions) -> str:
    """The command that repeats this seed; the project's own settings are not part of it."""
    words = ["bmad simulate --seed", str(seed)]
    for name in ("epics", "stories"):
        if getattr(options, name) != getattr(DEFAULTS, name):
            words.append(f"--{name} {getattr(options, name)}")
    if options.workflow != DEFAULTS.workflow:
        words.append(f"--workflow {options.workflow.name}")
    if not options.crash_rate:
        words.append("--no-crashes")
    return " ".join(words)


def run_simulation(seed: int, options: SimulationOptions = DEFAULTS) -> SimulationResult:
    scenario = make_scenario(seed, options)
    crashes = CrashPlan(seeded_random(seed, "crashes"), at=options.crash_at, rate=options.crash_rate)
    world = MemoryWorld(sample_files(options.epics, options.stories), seeded_random(seed, "world"), crashes)
    result = SimulationResult(seed, world, scenario, story_keys(options.epics, options.stories))
    scenario.participants.humans.schedule_edits(world, scenario.edits)
    for at in scenario.stops:
        world.schedule(at, lambda: setattr(world, "stop", True))
    for at in scenario.pauses:
        world.schedule(at, lambda: setattr(world, "pause", True))
    for number in range(1, options.epics + 1):
        lane = scenario.lane._replace(key=f"epic-{number}", epic=str(number))
        session = LaneSession(f"run-{number}", lane)
        result.sessions.append(session)
        head = world.git.head
        session.ending = _run_lane(world, scenario, session, seeded_random(seed, f"fate {number}"))
        if not world.git.descends(world.git.head, head):
            # An agent removed commits in a run that still waits: a person restores them before the next epic.
            world.git.head = head
            world.record(EffectActor.PERSON, "put-history-back")
        session.finished_at = world.now
        session.rows = {key: row.meaning for key, row in board_rows(world.last_readable_board()).items()}
    return result


def _run_lane(world: MemoryWorld, scenario: Scenario, session: LaneSession, fate: Random) -> str:
    """Run one lane, restarting its supervisor until the run ends or waits for an answer that never comes."""
    statuses = statuses_of(session.lane, board_rows(world.last_readable_board()))
    lane = session.lane = session.lane._replace(dirty=world.git.dirty(), rows=statuses)
    world.story_paths.dirty = lane.dirty
    for number in range(MAX_LANE_STARTS):
        try:
            ending = _run_supervisor_once(world, scenario, session.run, lane, resumed=number > 0)
        except Crash as crash:
            world.record(EffectActor.FATE, "crash", session.run, at=str(crash))
            if fate.random() < scenario.lost_rate:
                world.lose_calls()
            world.advance(world.now + fate.choice((1.0, 60.0, 1200.0, 20_000.0)))
            continue
        except FileError:
            world.advance(world.now + REPAIR_SECONDS)
            scenario.participants.humans.repair_board(world)
            continue
        except AutopilotError as error:
            return f"stuck: {error.message}"
        world.record(EffectActor.US, "ended", session.run, ending=ending)
        if not _is_restarted(world, scenario, session.run, ending):
            return ending
    return "endless"


def _run_supervisor_once(world: MemoryWorld, scenario: Scenario, run: str, lane: Lane, *, resumed: bool) -> str:
    ports = build_memory_ports(world, run, lane, scenario.participants)
    if not world.journals.get(run):
        ports.records.note("run", {"run_id": run, "target": lane.key, "key": lane.key, "scope": lane.scope})
    elif resumed:
        ports.records.note("resumed", {})
    return LaneLoop(ports, lane).run_to_end()


def _is_restarted(world: MemoryWorld, scenario: Scenario, run: str, ending: str) -> bool:
    """Whether a person starts the supervisor again; advances the clock to that time."""
    if ending in (RunEnding.DETACHED, RunEnding.PAUSED):
        world.stop = world.pause = False
        world.advance(world.now + REPAIR_SECONDS)
        return True
    if ending == RunEnding.HANDED_OVER:
        world.advance(world.now + REPAIR_SECONDS)
        return True
    if ending == RunEnding.WAITING:
        asked = next((one for (name, _), one in reversed(world.questions.items()) if name == run), None)
        if asked is None or asked.answer_at is None:
            return False
        world.advance(asked.answer_at)
        return True
    return False


def make_report(
    result: SimulationResult, command: str = "", find_violations: FindViolations = find_violations
) -> SimulationReport:
    world = result.world
    log = world.log
    rows = board_rows(world.last_readable_board())
    return SimulationReport(
        result.seed,
        sum(key in rows and rows[key].meaning == DONE for key in result.stories),
        len(result.stories),
        tuple(session.ending for session in result.sessions),
        sum(1 for _ in log.select("crash")),
        len(world.calls),
        sum(1 for commit in world.git.commits.values() if commit.key),
        len(world.questions),
        sum(1 for _ in log.select("edit-row", "remark", "write-file", "spoil-board")),
        world.crashes.points,
        world.now,
        sum(call.ending.dollars for call in world.calls.values() if call.state == "finished"),
        tuple(find_violations(result)),
        log.effects,
        command,
    )


# Simulated deliveries: epics to merged pull requests on the simulated GitHub.

MAX_SUPERVISOR_STARTS = 200
RESTART_SECONDS = 1800.0  # until a person starts the supervisor again
DELIVERY_DEFAULTS = DeliveryOptions()


def simulate_delivery(seed: int, options: DeliveryOptions = DELIVERY_DEFAULTS) -> SimulationReport:
    result = run_delivery_simulation(seed, options)
    records = [fold(result.journal(session.run)).delivery for session in result.sessions]
    pulls, merged = sum(bool(one.pull) for one in records), sum(bool(one.merged) for one in records)
    made = make_report(result, delivery_command_for(seed, options), find_delivery_violations)
    effects = sorted([*made.effects, *_effects_of_others(result)], key=lambda effect: effect.at)
    return made._replace(done=_merged_stories(result), pulls=pulls, merged=merged, effects=effects)


def _effects_of_others(result: SimulationResult) -> Iterator[Effect]:
    """Effects of people and machines on GitHub."""
    assert result.world.hub is not None
    for one in result.world.hub.model.effects.all:
        if one.by != VIEWER:
            about = one.data.get("branch") or f"#{one.data.get('number', '')}"
            yield Effect(one.at, EffectActor.PERSON, "github", "", {"by": one.by, "did": one.kind, "about": about})


def _merged_stories(result: SimulationResult) -> int:
    """Stories that are done on the remote base branch: only what is merged counts."""
    hub = result.world.hub
    assert hub is not None
    raw = hub.refs.files(hub.refs.head_of(BRANCH)).get(result.world.story_paths.board, b"")
    rows = board_rows(raw)
    return sum(key in rows and rows[key].meaning == DONE for key in result.stories)


def delivery_command_for(seed: int, options: DeliveryOptions) -> str:
    """The command that repeats this seed."""
    words = ["bmad simulate --delivery --seed", str(seed)]
    words += [f"--epics {options.epics}"] if options.epics else []
    words += [f"--stories {options.stories}"] if options.stories else []
    words += ["--no-crashes"] if not options.crash_rate else []
    return " ".join(words)


def run_delivery_simulation(seed: int, options: DeliveryOptions = DELIVERY_DEFAULTS) -> SimulationResult:
    delivery = make_delivery_scenario(seed, options)
    scenario = delivery.scenario
    crashes = CrashPlan(seeded_random(seed, "crashes"), at=options.crash_at, rate=options.crash_rate)
    world = MemoryWorld(sample_files(delivery.epics, delivery.stories), seeded_random(seed, "world"), crashes)
    world.hub = make_hub(world, seed, delivery, options)
    result = SimulationResult(seed, world, scenario, story_keys(delivery.epics, delivery.stories))
    for at in scenario.stops:
        world.schedule(at, lambda: setattr(world, "stop", True))
    fate = seeded_random(seed, "fate")
    for _ in range(MAX_SUPERVISOR_STARTS):
        try:
            ending = _run_autopilot(world, delivery, result)
        except Crash as crash:
            world.record(EffectActor.FATE, "crash", at=str(crash))
            if fate.random() < scenario.lost_rate:
                world.lose_calls()
            world.advance(world.now + fate.choice((1.0, 60.0, 1200.0, 20_000.0)))
            continue
        except AutopilotError as error:
            result.ending = f"stuck: {error.message}"
            break
        result.ending = ending
        if not _is_delivery_restarted(world, result, ending):
            break
    return result


def _run_autopilot(world: MemoryWorld, delivery: DeliveryScenario, result: SimulationResult) -> str:
    assert world.hub is not None

    def lane_for(epic: EpicCandidate, branch: str, onto: str) -> Lane:
        plan = delivery.plan._replace(base=BRANCH, onto=onto)
        return delivery.scenario.lane._replace(key=epic.key, epic=epic.number, branch=branch, delivery=plan)

    participants = delivery.scenario.participants
    return MemorySupervisor(
        world, world.hub, participants, result.sessions, lane_for, max_pending=delivery.max_pending
    ).run()


def _is_delivery_restarted(world: MemoryWorld, result: SimulationResult, ending: str) -> bool:
    """Whether a person starts the supervisor again; advances the clock to that time."""
    if ending in (RunEnding.DETACHED, RunEnding.PAUSED):
        world.stop = world.pause = False
        world.advance(world.now + RESTART_SECONDS)
        return True
    taken_over = [session for session in result.sessions if session.ending == RunEnding.HANDED_OVER]
    if taken_over:  # by a person, who is finished when the supervisor starts again
        for session in taken_over:
            session.ending = ""
        world.advance(world.now + RESTART_SECONDS)
        return True
    if ending != "blocked":
        return False
    times = [asked.answer_at for asked in _open_questions(world, result) if asked.answer_at is not None]
    if times:
        world.advance(min(times) + 0.001)
    return bool(times)


def _open_questions(world: MemoryWorld, result: SimulationResult) -> Iterator[MemoryQuestion]:
    """Questions of lanes that have not ended; a person may have answered them already."""
    for session in result.sessions:
        record = fold(world.journals.get(session.run, []))
        if record.question is not None and not record.final_status:
            yield world.questions[session.run, str(record.question["question"])]
