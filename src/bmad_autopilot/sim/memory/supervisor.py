"""The autopilot on a world in memory: engine/autopilot/supervisor.py with dictionaries instead of folders. It
chooses lanes by the same rules and runs each with the same loop."""

from collections.abc import Callable

from ...core.errors import ConflictError
from ...core.journal_fold import fold
from ...core.run_ending import RunEnding
from ...core.scheduling import EpicCandidate, LaneChoice, LaneStage, choose_lane, is_checkout_free
from ...core.transitions import EpicPhase
from ...engine.autopilot.epics import branch_for, open_epics
from ...engine.autopilot.lanes import LaneState, lane_after_run, last_pending, replace_lane
from ...engine.autopilot.monitor import AWAY, ready_lanes
from ...engine.delivery.branch_actions import AGAIN
from ...engine.lane import Lane
from ...engine.loop import LaneLoop
from ...engine.runner import RunEnd
from ..result import LaneSession
from ..scenario import Participants
from .branches import MemoryBranches
from .git import parse_board
from .ports import build_memory_ports
from .world import Hub, MemoryWorld

INTERVAL = 10.0  # between polls of pending lanes
RESCAN = 600.0
SLOW_INTERVAL = 6 * 3600.0
QUIET_SECONDS = 3 * 86400.0  # without activity before the autopilot gives up
IDLE_KINDS = ("pending", "trouble", "resumed")  # journal entries of a lane without progress

LaneFor = Callable[[EpicCandidate, str, str], Lane]  # (epic, its branch, the branch below it)


class MemorySupervisor:
    """One supervisor process: a crash ends it, and the next one starts from the journals."""

    def __init__(
        self,
        world: MemoryWorld,
        hub: Hub,
        participants: Participants,
        sessions: list[LaneSession],
        lane_for: LaneFor,
        *,
        max_pending: int,
    ) -> None:
        self._world = world
        self._hub = hub
        self._participants = participants
        self._sessions = sessions
        self._lane_for = lane_for
        self._max_pending = max_pending
        lane_state = [_lane_state(world, session) for session in sessions]
        self._completed = [one.lane.key for one in lane_state if one.record.final_status == RunEnding.COMPLETED]
        self._lanes = [one for one in lane_state if one.record.final_status != RunEnding.COMPLETED]
        self._last_activity = world.now  # last time with progress or a scheduled event

    def run(self) -> str:
        """The ending: done, blocked, left, paused, or quiet (no further event will occur)."""
        while True:
            if self._world.stop:
                return "left"
            epics = self._epics()
            views = [lane_state.view() for lane_state in self._lanes]
            choice = choose_lane(views, epics, max_open=self._max_pending, has_room=is_checkout_free(views))
            ending = self._act(choice, epics)
            if ending is not None:
                return ending

    def _act(self, choice: LaneChoice, epics: list[EpicCandidate]) -> str | None:
        if choice.phase in (EpicPhase.DONE, EpicPhase.BLOCKED):
            return choice.phase.value.lower()
        if choice.phase is EpicPhase.WAIT_COPILOT:
            return self._wait_for_change()
        if choice.phase is EpicPhase.FIND_EPIC:
            return self._apply_end(self._start_epic(next(one for one in epics if one.key == choice.key)))
        lane_state = next(one for one in self._lanes if one.lane.key == choice.key)
        why = self._check_out(lane_state)
        if why:
            self._lanes = replace_lane(self._lanes, lane_state.as_waiting(why, self._world.now + AGAIN))
            return None
        return self._apply_end(self._resume(lane_state))

    def _apply_end(self, end: RunEnd) -> str | None:
        self._session(end.folder).ending = end.status
        if end.status.is_over:
            self._lanes = [lane_state for lane_state in self._lanes if lane_state.folder != end.folder]
            self._completed.append(end.lane.key)
            return None
        self._lanes = replace_lane(self._lanes, lane_after_run(end, ""))
        return end.status if end.status.is_stopped else None

    # epics

    def _epics(self) -> list[EpicCandidate]:
        taken = [lane_state.lane.key for lane_state in self._lanes] + self._completed
        raw = self._hub.refs.files(self._start_commit()).get(self._world.story_paths.board, b"")
        return open_epics(parse_board(raw), {}, (), taken)

    def _lane_below(self) -> LaneState | None:
        return last_pending(self._lanes)

    def _start_commit(self) -> str:
        before = self._lane_below()
        base = self._hub.model.repository.default_branch
        return self._world.git.head_of(before.lane.branch) if before else self._hub.refs.head_of(base)

    def _start_epic(self, epic: EpicCandidate) -> RunEnd:
        branch, before = branch_for(epic.number), self._lane_below()
        lane = self._lane_for(epic, branch, before.lane.branch if before else "")
        session = LaneSession(f"run-{len(self._sessions) + 1}", lane)
        self._branches(session).switch(branch, self._start_commit())
        self._sessions.append(session)
        return self._run_lane(session)

    def _resume(self, lane_state: LaneState) -> RunEnd:
        session = self._session(lane_state.folder)
        return self._run_lane(session)

    def _check_out(self, lane_state: LaneState) -> str:
        """Check out the lane's branch if it has work in progress; the reason if that fails, or empty."""
        try:
            if lane_state.is_at_work:
                self._branches(self._session(lane_state.folder)).switch(lane_state.lane.branch, "")
        except ConflictError as error:
            return f"the work tree: {error}"
        return ""

    def _run_lane(self, session: LaneSession) -> RunEnd:
        ports = build_memory_ports(self._world, session.run, session.lane, self._participants)
        lane = session.lane
        if not self._world.journals.get(session.run):
            ports.records.note(
                "run", {"run_id": session.run, "target": lane.key, "key": lane.key, "scope": lane.scope}
            )
        else:
            ports.records.note("resumed", {})
        before = len(self._world.journals[session.run])
        loop = LaneLoop(ports, lane)
        end = RunEnd(loop.run_to_end(), loop.run, session.run, lane)
        if any(kind not in IDLE_KINDS for kind, _, _ in self._world.journals[session.run][before:]):
            self._last_activity = self._world.now
        return end

    def _session(self, run: str) -> LaneSession:
        return next(one for one in self._sessions if one.run == run)

    def _branches(self, session: LaneSession) -> MemoryBranches:
        return MemoryBranches(self._world, self._hub, session.run, "", session.lane.dirty)

    # waiting

    def _wait_for_change(self) -> str | None:
        """Poll the pending lanes until one has changed or the rescan is due."""
        world, rescan = self._world, self._world.now + RESCAN
        while not world.stop:
            moved = self._changed_lanes()
            if moved:
                self._wake(moved)
                return None
            following = world.next_event()
            self._last_activity = self._last_activity if following is None else world.now
            if world.now > self._last_activity + (2 * QUIET_SECONDS if self._is_forge_away() else QUIET_SECONDS):
                return "quiet"
            times = [
                self._until(lane_state, following)
                for lane_state in self._waiting()
                if lane_state.until is not None
            ]
            happens = [] if following is None else [max(following, world.now + INTERVAL), rescan]
            world.advance(min([*times, *happens], default=rescan))
            if following is not None and world.now >= rescan:
                self._wake({lane_state.folder for lane_state in self._waiting()})
                return None
        return None

    def _until(self, lane_state: LaneState, following: float | None) -> float:
        """If no event is scheduled, a blocked lane is polled only every SLOW_INTERVAL, with the same result."""
        until = lane_state.until or self._world.now
        return (
            until
            if lane_state.fingerprint or following is not None
            else max(until, self._world.now + SLOW_INTERVAL)
        )

    def _is_forge_away(self) -> bool:
        """Whether a lane waits for an unavailable forge, which recovers."""
        soon = self._world.now + AWAY + 1.0
        return any(
            not lane_state.fingerprint and lane_state.until and lane_state.until <= soon
            for lane_state in self._waiting()
        )

    def _wake(self, runs: set[str]) -> None:
        self._lanes = [
            lane_state.as_ready() if lane_state.folder in runs else lane_state for lane_state in self._lanes
        ]

    def _waiting(self) -> list[LaneState]:
        return [lane_state for lane_state in self._lanes if lane_state.stage is LaneStage.WAITS]

    def _changed_lanes(self) -> set[str]:
        moved = ready_lanes(self._waiting(), self._world.now, self._hub.forge, self._world.advance)
        return moved | {
            lane_state.folder
            for lane_state in self._lanes
            if lane_state.stage is LaneStage.ASKS and self._is_answered(lane_state)
        }

    def _is_answered(self, lane_state: LaneState) -> bool:
        asked = lane_state.record.question
        known = self._world.questions.get((lane_state.folder, str(asked["question"]))) if asked else None
        return known is not None and known.answer is not None


def _lane_state(world: MemoryWorld, session: LaneSession) -> LaneState:
    record = fold(world.journals.get(session.run, []))
    stage = LaneStage.MOVED if record.delivery.started_at else LaneStage.WORK
    return LaneState(
        session.run, session.lane, record, LaneStage.BLOCKED if record.final_status == RunEnding.FAILED else stage
    )
