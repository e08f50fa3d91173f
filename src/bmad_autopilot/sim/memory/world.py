"""The simulated world in memory: one work tree, its agents, people and GitHub, and a clock that jumps to the next
event."""

import heapq
import json
from collections.abc import Callable
from random import Random
from typing import Any

from ...core.forge_errors import ForgeError, ForgeErrorKind
from ...engine.delivery.branch_port import BranchMerge
from ...engine.ports import CallId, RunEvent
from ...engine.ports import LaneQuestion as Asked
from ..effect_log import EffectActor, EffectLog
from ..faults import CrashPhase, CrashPlan
from ..github.forge import SimForge
from ..github.model import SimGitHub
from ..github.records import RETRY_AFTER, GitHubFault, GitHubFaults, SimRepository
from ..github.refs import MemoryRefs
from ..sample import BOARD, IMPLEMENTATION
from .agent_calls import MemoryCall
from .git import Files, MemoryGit, MemoryStoryPaths, board_rows, is_readable

EFFECT_SECONDS = 0.05  # duration of each of our effects, so that others can act in between


class MemoryQuestion:
    def __init__(self, name: str, payload: Asked, at: float) -> None:
        self.name = name
        self.payload = payload
        self.at = at
        self.answer: str | None = None
        self.by = "human"
        self.answer_at: float | None = None  # time of the scheduled answer; None: there will be none


class MemoryWorld:
    def __init__(self, files: Files, rng: Random, crashes: CrashPlan) -> None:
        self.now = 0.0
        self.rng = rng
        self.crashes = crashes
        self.log = EffectLog()
        self.git = MemoryGit(files)
        self.hub: Hub | None = None  # GitHub, in a simulated delivery
        self.story_paths = MemoryStoryPaths(self.git, IMPLEMENTATION, BOARD)
        self.journals: dict[str, list[RunEvent]] = {}
        self.calls: dict[tuple[str, CallId], MemoryCall] = {}
        self.questions: dict[tuple[str, str], MemoryQuestion] = {}
        self.parked_until = 0.0
        self.stop = False
        self.pause = False
        self.saved: dict[str, Files] = {}
        self.board_before_corruption = self.board  # before a person corrupted it
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0
        self._before_halfway: MemoryCall | None = None  # the running call, until its first half is applied

    # time

    def schedule(self, at: float, event: Callable[[], None]) -> None:
        self._number += 1
        heapq.heappush(self._events, (max(at, self.now), self._number, event))

    def advance(self, to: float) -> None:
        while self._events and self._events[0][0] <= to:
            at, _, event = heapq.heappop(self._events)
            self._apply_half(at)
            self.now = max(self.now, at)
            event()
        self._apply_half(to)
        self.now = max(self.now, to)

    def _apply_half(self, at: float) -> None:
        """Not an event: an agent's first half wakes no wait."""
        call = self._before_halfway
        if call is not None and call.halfway_at <= at:
            call.apply_half(self.git)
            self._before_halfway = None

    def next_event(self) -> float | None:
        return self._events[0][0] if self._events else None

    def crash_point(self, kind: str, phase: CrashPhase) -> None:
        """Advance by one effect: others may act, and the supervisor may crash."""
        to = self.now + EFFECT_SECONDS
        if self._before_halfway is not None or (self._events and self._events[0][0] <= to):
            self.advance(to)
        else:
            self.now = to
        self.crashes.maybe_crash(kind, phase)

    # state and effects

    def record(self, actor: EffectActor, kind: str, run: str = "", /, **data: Any) -> None:
        self.log.add(self.now, actor, kind, run, **data)

    @property
    def board(self) -> bytes:
        return self.git.files.get(self.story_paths.board, b"")

    @board.setter
    def board(self, raw: bytes) -> None:
        self.git.write(self.story_paths.board, raw)

    def last_readable_board(self) -> bytes:
        return self.board if is_readable(self.board) else self.board_before_corruption

    def row_meaning(self, key: str) -> str:
        """The meaning of a row's status; empty if there is no row."""
        row = board_rows(self.board).get(key)
        return row.meaning if row else ""

    def running_calls(self) -> list[MemoryCall]:
        return [call for call in self.calls.values() if call.state == "running"]

    def start(self, run: str, call: MemoryCall) -> None:
        self.calls[run, call.order.id] = call
        call.begin(self.git, self.now)
        self.record(
            EffectActor.US, "start", run, call=call.order.id, story=call.order.story, habit=call.habit.name
        )
        self._before_halfway = call
        self.schedule(call.ends_at, lambda: self._end(run, call))

    def _end(self, run: str, call: MemoryCall) -> None:
        if call.state != "running":
            return
        call.end(self.git, self.now)
        if call.ending.outcome == "limit":
            self.parked_until = self.now + (call.ending.resets_after or 900.0)
        self.record(
            EffectActor.AGENT, "end", run, call=call.order.id, story=call.order.story, outcome=call.ending.outcome
        )

    def cancel(self, run: str, call: CallId) -> None:
        known = self.calls[run, call]
        known.cancel(self.git, self.now)
        self.record(EffectActor.US, "end", run, call=call, story=known.order.story, outcome=known.ending.outcome)

    def lose_calls(self) -> None:
        """The machine goes down: running agents are lost with their work unfinished."""
        for call in self.running_calls():
            call.state = "lost"
            self.record(EffectActor.FATE, "lost", call=call.order.id, story=call.order.story)

    def clear_state(self, story: str) -> None:
        self.git.remove(self.story_paths.state(story))

    def deliver_answer(self, question: MemoryQuestion) -> None:
        """Write the answer into the agent-state file, if that has the question, like the real port."""
        path = self.story_paths.state(question.payload.story)
        try:
            state = json.loads(self.git.files.get(path, b""))
            own = next(one for one in state["questions"] if one["id"] == question.payload.agent_question_id)
        except (ValueError, LookupError, TypeError, StopIteration):
            return
        own["answer"] = question.answer
        self.git.write(path, json.dumps(state).encode())

    def remove_old_answers(self, story: str) -> None:
        """Remove old verdicts and answers, so that what exists after a call is the call's own."""
        self.git.remove(self.story_paths.review(story))
        self.git.remove(self.story_paths.threads(story))


# The simulated GitHub of a world in memory, and the faults between the two.


class Hub:
    """Shared by all supervisors of a world: GitHub survives their crashes."""

    def __init__(self, world: "MemoryWorld", rng: Random, faults: GitHubFaults, repository: SimRepository) -> None:
        self.refs = MemoryRefs(world.git)
        self.model = SimGitHub(world, self.refs, rng, repository)
        self.faults = faults
        self.forge = SimForge(self.model, faults)
        self.merge_results: dict[
            tuple[str, str, str], BranchMerge
        ] = {}  # cached: a merge of two commits never changes
        self.before_merge: Callable[[], object] = lambda: None  # what others do right before our merge
        self.code_hashes: dict[str, str] = {}  # by commit

    def inject_fault(self, call: str, *, is_effect: bool) -> bool:
        """ForgeError if the fault prevents the git call. True: the call succeeds and its answer is lost."""
        fault = self.faults.pick(call, is_effect=is_effect)
        if fault in (None, GitHubFault.STALE):
            return False
        if fault is GitHubFault.LOST:
            return True
        trouble = (
            ForgeErrorKind.LIMIT
            if fault in (GitHubFault.LIMIT, GitHubFault.SECONDARY)
            else ForgeErrorKind.UNAVAILABLE
        )
        raise ForgeError(trouble, f"{call}: {fault}", until=self.model.now + RETRY_AFTER)
