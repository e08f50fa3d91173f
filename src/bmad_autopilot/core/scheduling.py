"""Schedules lanes: which epic continues or starts next, and which one gets a free agent slot. Pure."""

import heapq
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from .dependency_graph import DependencyGraph, chain_lengths
from .transitions import EpicPhase


class LaneStage(StrEnum):
    """The state of an unfinished lane."""

    WORK = "work"  # its stories can continue
    MOVED = "moved"  # its pull request can continue: something changed or a timer expired
    WAITS = "waits"  # waits for others, at most until `until`
    ASKS = "asks"  # waits for an answer
    BLOCKED = "blocked"  # blocked until a person intervenes
    PARKED = "held"  # parked by a person until it is unparked


class LaneView(NamedTuple):
    key: str  # of the epic
    stage: LaneStage
    is_delivered: bool  # stories and fix rounds are done: it needs no checkout
    until: float | None = None
    is_busy: bool = False  # an agent may be running: no other lane may use the checkout


class EpicCandidate(NamedTuple):
    """An epic without a lane."""

    key: str
    number: str
    title: str
    branch: str = ""  # of its pull request, if it already has one


class LaneChoice(NamedTuple):
    phase: EpicPhase
    key: str = ""  # of the lane or epic
    until: float | None = None  # end of a wait


def matches_epic(patterns: Sequence[str], candidate: EpicCandidate) -> bool:
    """Whether a pattern (a case-insensitive regular expression) matches number, key or title; none: all match."""
    texts = (candidate.number, candidate.key, candidate.title)
    return not patterns or any(re.search(one, text, re.IGNORECASE) for one in patterns for text in texts if text)


def is_checkout_free(lanes: Sequence[LaneView]) -> bool:
    """Whether no lane has unfinished work in the shared checkout."""
    return all(lane.is_delivered for lane in lanes)


def choose_lane(
    lanes: Sequence[LaneView],
    epics: Iterable[EpicCandidate],
    *,
    max_open: int,
    has_room: bool,
    driven_count: int = 0,
) -> LaneChoice:
    """Choose what to do next. Order: a lane with a running agent (it occupies the checkout), pull requests that
    can continue, epics in development, a new epic within the limit, a wait.
    `lanes`: lanes without a worker; `driven_count`: lanes with one; `max_open`: limit of open lanes;
    `has_room`: whether a checkout is available for another epic."""
    phases = {LaneStage.MOVED: EpicPhase.CHECK_PENDING_PR, LaneStage.WORK: EpicPhase.DEVELOP_STORIES}
    busy = next((lane for lane in lanes if lane.is_busy and lane.stage in phases), None)
    if busy is not None:
        return LaneChoice(phases[busy.stage], busy.key)
    for stage, phase in phases.items():
        found = next((lane for lane in lanes if lane.stage is stage), None)
        if found is not None:
            return LaneChoice(phase, found.key)
    if has_room and len(lanes) + driven_count < max_open:
        following = next(iter(epics), None)
        if following is not None:
            return LaneChoice(EpicPhase.FIND_EPIC, following.key)
    waits = [lane for lane in lanes if lane.stage is LaneStage.WAITS]
    if waits:
        times = [lane.until for lane in waits if lane.until is not None]
        return LaneChoice(EpicPhase.WAIT_COPILOT, waits[0].key, min(times, default=None))
    blocked = [lane for lane in lanes if lane.stage in (LaneStage.BLOCKED, LaneStage.ASKS, LaneStage.PARKED)]
    return LaneChoice(EpicPhase.BLOCKED, blocked[0].key) if blocked else LaneChoice(EpicPhase.DONE)


# Agent slots: which lane gets the next one, and how long a plan takes with a given number. Lanes request a slot
# for each call, so it may pass to another epic between two calls.

# How close the longest chain must come to the whole remaining time before it precedes work in progress. If it
# always did, plans would be no shorter and slots would move from epic to epic: on the 400 graphs of the benchmark
# an epic is then interrupted 5 times instead of 0.2, and up to 13 epics are open per slot instead of 2.
URGENCY_MARGIN = 0.05


class SlotRequest(NamedTuple):
    """A lane that is ready for its next call."""

    key: str
    chain_length: float  # work on the longest chain that starts with this call
    position: int = 0  # in natural order
    is_started: bool = False  # the epic has had calls
    fixes_pull: bool = False  # the call fixes its pull request


def pick_request(
    requests: Collection[SlotRequest], *, work_left: float, slots: int, fixes_first: bool = True
) -> SlotRequest | None:
    """Choose the request that gets a free slot: first pull request fixes, then a critical chain, then started
    epics, then the longest chain. `work_left`: work of all epics that has not been started."""
    if not requests:
        return None
    longest = max(one.chain_length for one in requests)
    urgent = (1 - URGENCY_MARGIN) * max(longest, work_left / max(1, slots))

    def rank(one: SlotRequest) -> tuple[bool, bool, bool, float, int]:
        waits = slots == 1 or one.chain_length < urgent  # with one slot every order takes equally long
        return (
            fixes_first and not one.fixes_pull,
            waits,
            waits and not one.is_started,
            -one.chain_length,
            one.position,
        )

    return min(requests, key=rank)


def next_epic_to_start(
    not_started: Collection[SlotRequest], in_development: Collection[SlotRequest], *, work_left: float, slots: int
) -> SlotRequest | None:
    """Choose the epic to start now: the first that would get a slot if all epics in development requested one as
    well. So a critical chain starts even beside as many epics as there are slots. None: epics in development
    would get all slots."""
    asking = [*in_development, *not_started]
    for _ in range(slots):
        first = pick_request(asking, work_left=work_left, slots=slots)
        if first is None or first in not_started:
            return first
        asking.remove(first)
    return None


class CallSpan(NamedTuple):
    """Consecutive calls of one epic, without a gap."""

    epic: str
    start: float
    end: float


class Schedule(NamedTuple):
    spans: tuple[CallSpan, ...]  # by start time
    length: float

    def start_times(self) -> dict[str, float]:
        return {spell.epic: spell.start for spell in reversed(self.spans)}

    def end_times(self) -> dict[str, float]:
        return {spell.epic: spell.end for spell in self.spans}


Calls = Mapping[str, Sequence[float]]  # epic → durations of its calls, in order


def schedule_calls(graph: DependencyGraph, calls: Calls, slots: int) -> Schedule:
    """The schedule of all calls, if each takes its estimated time."""
    return _ScheduleSimulation(graph, calls).run(max(1, slots))


def makespan(graph: DependencyGraph, calls: Calls, slots: int) -> float:
    return schedule_calls(graph, calls, slots).length


def least_makespan(graph: DependencyGraph, calls: Calls, slots: int) -> float:
    """Lower bound of every schedule: the longest chain, or all work divided by the slots."""
    work = {epic: sum(calls[epic]) for epic in graph.nodes}
    longest = max(chain_lengths(graph, work).values(), default=0.0)
    return max(longest, sum(work.values()) / max(1, slots))


class _ScheduleSimulation:
    """Simulates the calls in the order of their end times."""

    def __init__(self, graph: DependencyGraph, calls: Calls) -> None:
        self._calls = {epic: list(calls[epic]) for epic in graph.nodes}
        work = {epic: sum(times) for epic, times in self._calls.items()}
        self._work_left = sum(work.values())
        self._chain_lengths = chain_lengths(graph, work)
        self._dependents = graph.dependents()
        self._open_dependencies = {epic: len(ons) for epic, ons in graph.dependencies().items()}
        self._positions = {epic: position for position, epic in enumerate(graph.nodes)}
        self._calls_made = dict.fromkeys(graph.nodes, 0)
        # A heap: of the epics not started only the first can be picked, which keeps plans of hundreds fast.
        self._not_started: list[tuple[float, int, str]] = []
        self._started: set[str] = set()
        self._spans: dict[str, list[CallSpan]] = {epic: [] for epic in graph.nodes}
        for epic in [epic for epic, count in self._open_dependencies.items() if not count]:
            self._request_call(epic)

    def run(self, slots: int) -> Schedule:
        running: list[tuple[float, int, str]] = []
        now = 0.0
        while self._not_started or self._started or running:
            while (self._not_started or self._started) and len(running) < slots:
                epic = self._next(slots)
                heapq.heappush(running, (now + self._start_call(epic, now), self._positions[epic], epic))
            now = running[0][0]
            while running and running[0][0] <= now:
                self._request_call(heapq.heappop(running)[2])
        spells = [spell for own in self._spans.values() for spell in own]
        return Schedule(tuple(sorted(spells, key=lambda one: (one.start, self._positions[one.epic]))), now)

    def _next(self, slots: int) -> str:
        names = [*self._started, *(epic for _, _, epic in self._not_started[:1])]
        asking = [
            SlotRequest(epic, self._chain_lengths[epic], self._positions[epic], epic in self._started)
            for epic in names
        ]
        picked = pick_request(asking, work_left=self._work_left, slots=slots)
        assert picked is not None
        if picked.is_started:
            self._started.remove(picked.key)
        else:
            heapq.heappop(self._not_started)
        return picked.key

    def _request_call(self, epic: str) -> None:
        """Request the epic's next call; if it has none left, unblock its dependents instead."""
        waiting = [epic]
        while waiting:
            epic = waiting.pop()
            if self._calls_made[epic] < len(self._calls[epic]):
                if self._calls_made[epic]:
                    self._started.add(epic)
                else:
                    heapq.heappush(self._not_started, (-self._chain_lengths[epic], self._positions[epic], epic))
                continue
            for after in self._dependents[epic]:
                self._open_dependencies[after] -= 1
                if not self._open_dependencies[after]:
                    waiting.append(after)

    def _start_call(self, epic: str, now: float) -> float:
        takes = self._calls[epic][self._calls_made[epic]]
        self._calls_made[epic] += 1
        self._chain_lengths[epic] -= takes
        self._work_left -= takes
        own = self._spans[epic]
        if own and own[-1].end >= now:
            own[-1] = own[-1]._replace(end=now + takes)
        else:
            own.append(CallSpan(epic, now, now + takes))
        return takes
