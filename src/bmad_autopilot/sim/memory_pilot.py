"""The autopilot over a world in memory: as engine/autopilot/supervising.py with folders, so this one with
dictionaries. Which lane comes next is decided by the same rules, and each is driven by the same loop."""

from collections.abc import Callable

from ..core.errors import ConflictError
from ..core.folding import fold
from ..core.rules import Phase
from ..core.schedule import Candidate, Choice, Stage, choose_lane, is_vacant
from ..engine.autopilot.finding import branch_for, open_epics
from ..engine.autopilot.lanes import Held, after, last_pending, placed
from ..engine.autopilot.watching import AWAY, moved_lanes
from ..engine.delivery.effects import AGAIN
from ..engine.driving import RunEnd
from ..engine.lane import Lane
from ..engine.loop import LaneLoop
from .memory import World
from .memory_board import board_of
from .memory_doors import MemoryDoors
from .memory_hub import Hub
from .memory_lines import MemoryLines
from .played import Session
from .scenario import Cast

INTERVAL = 10.0  # seconds between two looks at what is pending
RESCAN = 600.0
SELDOM = 6 * 3600.0
QUIET = 3 * 86400.0  # seconds after the last thing that happened
IDLE = ("pending", "trouble", "resumed")  # what is noted of a lane that comes no further

LaneFor = Callable[[Candidate, str, str], Lane]  # for an epic, on this branch, standing on that one


class MemoryPilot:
    """One supervisor's life: a crash ends it, and the next begins with what the journals say."""

    def __init__(
        self, world: World, hub: Hub, cast: Cast, sessions: list[Session], lane_for: LaneFor, *, most: int
    ) -> None:
        self._world = world
        self._hub = hub
        self._cast = cast
        self._sessions = sessions
        self._lane_for = lane_for
        self._most = most
        held = [_held(world, session) for session in sessions]
        self._over = [one.lane.key for one in held if one.record.ended == "completed"]
        self._lanes = [one for one in held if one.record.ended != "completed"]
        self._last = world.now  # when something happened, or was still to happen

    def fly(self) -> str:
        """How it ended: done, blocked, left, paused, or quiet: nothing will ever happen any more."""
        while True:
            if self._world.stop:
                return "left"
            epics = self._epics()
            views = [held.view() for held in self._lanes]
            choice = choose_lane(views, epics, most=self._most, room=is_vacant(views))
            ending = self._act(choice, epics)
            if ending is not None:
                return ending

    def _act(self, choice: Choice, epics: list[Candidate]) -> str | None:
        if choice.phase in (Phase.DONE, Phase.BLOCKED):
            return choice.phase.value.lower()
        if choice.phase is Phase.WAIT_COPILOT:
            return self._watch()
        if choice.phase is Phase.FIND_EPIC:
            return self._took(self._begin(next(one for one in epics if one.key == choice.key)))
        held = next(one for one in self._lanes if one.lane.key == choice.key)
        why = self._stand(held)
        if why:
            self._lanes = placed(self._lanes, held.held_up(why, self._world.now + AGAIN))
            return None
        return self._took(self._go_on(held))

    def _took(self, end: RunEnd) -> str | None:
        self._session(end.folder).ending = end.status
        if end.status in ("completed", "not-done"):
            self._lanes = [held for held in self._lanes if held.folder != end.folder]
            self._over.append(end.lane.key)
            return None
        self._lanes = placed(self._lanes, after(end))
        return end.status if end.status in ("left", "paused") else None

    # epics

    def _epics(self) -> list[Candidate]:
        taken = [held.lane.key for held in self._lanes] + self._over
        raw = self._hub.refs.files(self._tip()).get(self._world.books.board, b"")
        return open_epics(board_of(raw), {}, (), taken)

    def _before(self) -> Held | None:
        return last_pending(self._lanes)

    def _tip(self) -> str:
        before = self._before()
        base = self._hub.model.repository.default_branch
        return self._world.git.head_of(before.lane.branch) if before else self._hub.refs.head_of(base)

    def _begin(self, epic: Candidate) -> RunEnd:
        branch, before = branch_for(epic.number), self._before()
        lane = self._lane_for(epic, branch, before.lane.branch if before else "")
        session = Session(f"run-{len(self._sessions) + 1}", lane)
        self._lines(session).switch(branch, self._tip())
        self._sessions.append(session)
        return self._drive(session)

    def _go_on(self, held: Held) -> RunEnd:
        session = self._session(held.folder)
        return self._drive(session)

    def _stand(self, held: Held) -> str:
        """Its branch checked out, where its work lies. Why that cannot be; empty: it can go on."""
        try:
            if held.is_at_work:
                self._lines(self._session(held.folder)).switch(held.lane.branch, "")
        except ConflictError as error:
            return f"the work tree: {error}"
        return ""

    def _drive(self, session: Session) -> RunEnd:
        doors = MemoryDoors(self._world, session.run, session.lane, self._cast)
        lane = session.lane
        if not self._world.journals.get(session.run):
            doors.note("run", {"run_id": session.run, "target": lane.key, "key": lane.key, "scope": lane.scope})
        else:
            doors.note("resumed", {})
        before = len(self._world.journals[session.run])
        loop = LaneLoop(doors, lane)
        end = RunEnd(loop.to_end(), loop.run, session.run, lane)
        if any(kind not in IDLE for kind, _, _ in self._world.journals[session.run][before:]):
            self._last = self._world.now
        return end

    def _session(self, run: str) -> Session:
        return next(one for one in self._sessions if one.run == run)

    def _lines(self, session: Session) -> MemoryLines:
        return MemoryLines(self._world, self._hub, session.run, "", session.lane.dirty)

    # waiting

    def _watch(self) -> str | None:
        """One look at all that is pending, and a wait until something happens."""
        world, rescan = self._world, self._world.now + RESCAN
        while not world.stop:
            moved = self._moved()
            if moved:
                self._wake(moved)
                return None
            following = world.next_event()
            self._last = self._last if following is None else world.now
            if world.now > self._last + (2 * QUIET if self._is_held_up() else QUIET):
                return "quiet"
            times = [self._until(held, following) for held in self._waiting() if held.until is not None]
            happens = [] if following is None else [max(following, world.now + INTERVAL), rescan]
            world.advance(min([*times, *happens], default=rescan))
            if following is not None and world.now >= rescan:
                self._wake({held.folder for held in self._waiting()})
                return None
        return None

    def _until(self, held: Held, following: float | None) -> float:
        """Where nothing is to happen any more, who is held up is looked at now and then: that says as much."""
        until = held.until or self._world.now
        return until if held.fingerprint or following is not None else max(until, self._world.now + SELDOM)

    def _is_held_up(self) -> bool:
        """By a forge that is away: that passes."""
        soon = self._world.now + AWAY + 1.0
        return any(not held.fingerprint and held.until and held.until <= soon for held in self._waiting())

    def _wake(self, runs: set[str]) -> None:
        self._lanes = [held.moved() if held.folder in runs else held for held in self._lanes]

    def _waiting(self) -> list[Held]:
        return [held for held in self._lanes if held.stage is Stage.WAITS]

    def _moved(self) -> set[str]:
        moved = moved_lanes(self._waiting(), self._world.now, self._hub.forge, self._world.advance)
        return moved | {
            held.folder for held in self._lanes if held.stage is Stage.ASKS and self._is_answered(held)
        }

    def _is_answered(self, held: Held) -> bool:
        asked = held.record.question
        known = self._world.questions.get((held.folder, str(asked["question"]))) if asked else None
        return known is not None and known.answer is not None


def _held(world: World, session: Session) -> Held:
    record = fold(world.journals.get(session.run, []))
    stage = Stage.MOVED if record.delivery.began else Stage.WORK
    return Held(session.run, session.lane, record, Stage.BLOCKED if record.ended == "failed" else stage)
