"""The simulated world in memory: one work tree, its agents, people and GitHub, and a clock that jumps to the next
event."""

import heapq
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
from .agent_calls import MemoryCall
from .git import Files, MemoryGit, MemoryStoryPaths, is_readable
from .site import MemorySite

EFFECT_SECONDS = 0.05  # duration of each of our effects, so that others can act in between


class MemoryQuestion:
    """`site`: where the lane that asks works."""

    def __init__(self, name: str, payload: Asked, at: float, site: MemorySite) -> None:
        self.site = site
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
        self.site = MemorySite(MemoryGit(files))  # the user's checkout
        self.sites: dict[str, MemorySite] = {}  # of runs that work elsewhere
        self.hub: Hub | None = None  # GitHub, in a simulated delivery
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
        self._before_halfway: list[tuple[MemoryCall, MemoryGit]] = []  # running calls whose first half is due

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
        for call, git in [one for one in self._before_halfway if one[0].halfway_at <= at]:
            call.apply_half(git)
            self._before_halfway.remove((call, git))

    def next_event(self) -> float | None:
        return self._events[0][0] if self._events else None

    def crash_point(self, kind: str, phase: CrashPhase) -> None:
        """Advance by one effect: others may act, and the supervisor may crash."""
        to = self.now + EFFECT_SECONDS
        if self._before_halfway or (self._events and self._events[0][0] <= to):
            self.advance(to)
        else:
            self.now = to
        self.crashes.maybe_crash(kind, phase)

    # state and effects

    def record(self, actor: EffectActor, kind: str, run: str = "", /, **data: Any) -> None:
        self.log.add(self.now, actor, kind, run, **data)

    @property
    def git(self) -> MemoryGit:
        return self.site.git

    @property
    def story_paths(self) -> MemoryStoryPaths:
        return self.site.story_paths

    @property
    def board(self) -> bytes:
        return self.site.board

    @board.setter
    def board(self, raw: bytes) -> None:
        self.site.board = raw

    def site_of(self, run: str) -> MemorySite:
        return self.sites.get(run, self.site)

    def last_readable_board(self) -> bytes:
        return self.board if is_readable(self.board) else self.board_before_corruption

    def start(self, run: str, call: MemoryCall) -> None:
        git = self.site_of(run).git
        self.calls[run, call.order.id] = call
        call.begin(git, self.now)
        self.record(
            EffectActor.US, "start", run, call=call.order.id, story=call.order.story, habit=call.habit.name
        )
        self._before_halfway.append((call, git))
        self.schedule(call.ends_at, lambda: self._end(run, call, git))

    def _end(self, run: str, call: MemoryCall, git: MemoryGit) -> None:
        if call.state != "running":
            return
        call.end(git, self.now)
        if call.ending.outcome == "limit":
            self.parked_until = self.now + (call.ending.resets_after or 900.0)
        self.record(
            EffectActor.AGENT, "end", run, call=call.order.id, story=call.order.story, outcome=call.ending.outcome
        )

    def cancel(self, run: str, call: CallId) -> None:
        known = self.calls[run, call]
        known.cancel(self.site_of(run).git, self.now)
        self.record(EffectActor.US, "end", run, call=call, story=known.order.story, outcome=known.ending.outcome)

    def lose_calls(self) -> None:
        """The machine goes down: running agents are lost with their work unfinished."""
        for (run, _), call in self.calls.items():
            if call.state == "running":
                call.state = "lost"
                self.record(EffectActor.FATE, "lost", run, call=call.order.id, story=call.order.story)


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
