"""Schedules parallel lanes: which may start an agent, which may merge, whether another epic is started.
With one lane at a time every request is granted."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import Any, NamedTuple

from ...board.overview import EpicView
from ...core.backoff import backoff
from ...core.dependency_graph import DependencyGraph, build_graph, chain_lengths
from ...core.estimates import CallEstimates, default_estimates, estimate_calls
from ...core.scheduling import EpicCandidate, SlotRequest, next_epic_to_start, pick_request
from ...project.bmad_install import Era
from ...project.project import Project
from ...runs.layout import find_runs, runs_folder
from ...workflows.selection import select_workflow
from ...workflows.workflow import Workflow, steps_left
from ..slots import LaneLimits, SlotHandle, SlotPool
from .lanes import LaneState

# Priority of epics and lanes: the longest remaining dependency path goes first. `bmad plan` uses the same rule.

MIN_SECONDS = 1.0  # for an epic without an estimate


class _Derived(NamedTuple):
    """Derived from the graph and the remaining work."""

    tails: Mapping[str, float]
    positions: Mapping[str, int]
    waits_for: Mapping[str, Sequence[str]]
    total_left: float


class LanePriority:
    """`seconds`: the estimated duration of one call of a step."""

    def __init__(self, slots: int, *, fixes_first: bool, seconds: Callable[[str], float]) -> None:
        self._slots = max(1, slots)
        self._fixes_first = fixes_first
        self._seconds = seconds
        self._graph: DependencyGraph = build_graph((), ())
        self._work_left: dict[str, float] = {}  # epic number → seconds of work
        self._numbers: dict[str, str] = {}  # lane → epic number
        self._fixing: set[str] = set()
        self._derived: _Derived | None = None

    def update(self, graph: DependencyGraph, left: Mapping[str, float]) -> None:
        """Take over the board's figures. For running lanes the journal events are more recent and win."""
        self._graph = graph
        measured = {
            number: self._work_left[number] for number in self._numbers.values() if number in self._work_left
        }
        self._work_left = {**left, **measured}
        self._derived = None

    def add_lane(self, lane: str, number: str, left: float) -> None:
        self._numbers[lane] = number
        self._work_left.setdefault(number, left)
        self._derived = None

    def on_event(self, lane: str, kind: str, step: str) -> None:
        """Count a journal event of that lane."""
        number = self._numbers.get(lane, "")
        if kind in ("accepted", "delivering"):
            takes = self._seconds(step) if kind == "accepted" else inf
            self._work_left[number] = max(0.0, self._work_left.get(number, 0.0) - takes)
            self._derived = None
        if kind == "pull-round":
            self._fixing.add(lane)
        elif kind == "pending":
            self._fixing.discard(lane)

    def choose(self, lanes: Collection[str]) -> str:
        """Choose which of these lanes gets the free slot."""
        left = self._derive().total_left
        found = pick_request(self._lanes(lanes), work_left=left, slots=self._slots, fixes_first=self._fixes_first)
        assert found is not None
        return found.key

    def next_epic(self, epics: Collection[EpicCandidate], developed: Collection[str]) -> EpicCandidate | None:
        """Which of these to start now, beside the lanes in development."""
        fresh = self._asking([(epic.key, epic.number) for epic in epics], begun=False)
        found = next_epic_to_start(
            fresh, self._lanes(developed), work_left=self._derive().total_left, slots=self._slots
        )
        return next((epic for epic in epics if found is not None and epic.key == found.key), None)

    def startable_epics(self, developed: Collection[str]) -> list[EpicCandidate]:
        """Epics whose dependencies are all published, as of the last update."""
        begun = set(self._numbers.values())
        out = begun - {self._numbers.get(lane, "") for lane in developed}
        waits = self._derive().waits_for.items()
        return [EpicCandidate(node, node, "") for node, ons in waits if node not in begun and out.issuperset(ons)]

    def _lanes(self, lanes: Collection[str]) -> list[SlotRequest]:
        return self._asking([(lane, self._numbers.get(lane, "")) for lane in sorted(lanes)], begun=True)

    def _asking(self, named: Sequence[tuple[str, str]], *, begun: bool) -> list[SlotRequest]:
        derived = self._derive()
        return [
            SlotRequest(
                key,
                derived.tails.get(number, self._work_left.get(number, MIN_SECONDS)),
                derived.positions.get(number, len(derived.positions)),
                begun,
                key in self._fixing,
            )
            for key, number in named
        ]

    def _derive(self) -> _Derived:
        if self._derived is None:
            graph = self._graph
            work = {node: self._work_left.get(node, MIN_SECONDS) for node in graph.nodes}
            positions = {node: position for position, node in enumerate(graph.nodes)}
            self._derived = _Derived(
                chain_lengths(graph, work), positions, graph.dependencies(), sum(work.values())
            )
        return self._derived


MAX_CRASHES = 3  # consecutive, of one lane
MAX_PAUSE = 600.0
PAUSE = 5.0  # seconds after the first crash; tripled each time


class LaneScheduler:
    """`seconds`: the estimated duration of one call of a step. `can_call`: whether the agents of a new epic, or
    their substitutes, can be called now."""

    def __init__(
        self,
        agents: int,
        wake: Callable[[], None],
        *,
        fixes_first: bool,
        seconds: Callable[[str], float],
        can_call: Callable[[], bool] = lambda: True,
    ) -> None:
        self._agents = agents
        self._can_call = can_call
        self._wake = wake
        self._seconds = seconds
        self._priority = LanePriority(agents, fixes_first=fixes_first, seconds=seconds)
        self._slots = SlotPool(agents, self._choose_lane) if agents else None
        self._merge_slot = SlotPool(1, lambda lanes: lanes[0]) if agents else None
        self._lock = threading.RLock()
        self._developing: set[str] = set()
        self._rate_limited: set[str] = set()
        self._merge_turns: set[str] = set()
        self._changed = False
        self._crashes: Counter[str] = Counter()

    def limits(self, lane: str) -> LaneLimits:
        return LaneLimits(
            SlotHandle(self._slots, lane), SlotHandle(self._merge_slot, lane, lambda: self._on_turn(lane))
        )

    # called by the supervisor

    def choose_epic(
        self, epics: Sequence[EpicCandidate], graph: DependencyGraph, left: Mapping[str, float]
    ) -> EpicCandidate | None:
        """Which of these to start now, if any. `graph`, `left`: of all unfinished epics, from the board.
        An epic with an open pull request comes first."""
        with self._lock:
            self._priority.update(graph, left)
            has_place = not self._agents or len(self._active) < self._agents
            adopted = next((one for one in epics if one.branch), None)
            if adopted is not None and has_place:
                return adopted
            fresh = [one for one in epics if not one.branch]
            return self._priority.next_epic(fresh, self._active if self._agents else ())

    def start_epic(self, epic: EpicCandidate) -> None:
        with self._lock:
            self._priority.add_lane(epic.key, epic.number, 0.0)
            self._developing.add(epic.key)

    def resume_lane(self, state: LaneState) -> None:
        lane = state.lane
        with self._lock:
            self._priority.add_lane(lane.key, lane.epic or "", self._work_left(state))
            self._merge_turns.discard(lane.key)
            if not state.is_delivered:
                self._developing.add(lane.key)

    def _work_left(self, state: LaneState) -> float:
        if state.is_delivered:
            return 0.0
        stories = state.lane.stories - sum(story.finished for story in state.record.stories.values())
        return max(0, stories) * sum(self._seconds(step.name) for step in state.lane.workflow.steps)

    def mark_completed(self, lane: str, *, succeeded: bool) -> None:
        """Its worker has returned. The lane itself keeps or releases its merge turn. `succeeded`: no exception."""
        with self._lock:
            if succeeded:
                self._crashes.pop(lane, None)
            self._developing.discard(lane)
            self._rate_limited.discard(lane)

    @property
    def _active(self) -> set[str]:
        """Lanes that need an agent. A rate-limited lane does not, unless a new epic would hit the same limit."""
        resting = self._developing & self._rate_limited
        return self._developing - resting if resting and self._can_call() else set(self._developing)

    def has_room(self) -> bool:
        """Fewer lanes are in development than agents allowed, or the last update says that one more epic should
        start. `choose_epic` says which."""
        with self._lock:
            return self._has_room()

    def _has_room(self) -> bool:
        at_work = self._active
        if len(at_work) < self._agents:
            return True
        return self._priority.next_epic(self._priority.startable_epics(self._developing), at_work) is not None

    def record_crash(self, lane: str) -> bool:
        with self._lock:
            self._crashes[lane] += 1
            retry = self._crashes[lane] < MAX_CRASHES
        if not retry:
            self.limits(lane).merge_turn.release()
        return retry

    def retry_delay(self, lane: str) -> float:
        """Seconds before the lane runs again."""
        with self._lock:
            times = self._crashes[lane]
        return backoff(PAUSE, times, most=MAX_PAUSE, factor=3.0) if times else 0.0

    def has_changed(self) -> bool:
        """True once after a change: a slot may be free, or a lane has the merge turn."""
        with self._lock:
            changed, self._changed = self._changed, False
            return changed

    def merge_turns(self) -> frozenset[str]:
        """Lanes that may have the merge turn. Kept until the lane is resumed: it may be running just now."""
        with self._lock:
            return frozenset(self._merge_turns)

    # called by lanes

    def on_event(self, lane: str, kind: str, data: Mapping[str, Any]) -> None:
        with self._lock:
            at_work, had_room = len(self._active), kind != "accepted" or self._has_room()
            self._priority.on_event(lane, kind, str(data.get("step", "")))
            if kind == "delivering":
                self._developing.discard(lane)
            elif kind == "resting":
                self._rate_limited.add(lane)
            elif kind == "call":
                self._rate_limited.discard(lane)
            elif kind in ("accepted", "commit"):
                self._crashes.pop(lane, None)
            is_free = len(self._active) < at_work or (not had_room and self._has_room())
            self._changed = self._changed or is_free
        if is_free:
            self._wake()

    def _choose_lane(self, lanes: Collection[str]) -> str:
        with self._lock:
            return self._priority.choose(lanes)

    def _on_turn(self, lane: str) -> None:
        with self._lock:
            self._merge_turns.add(lane)
        self._wake()


# Estimated work of an epic: its stories' remaining steps times the measured duration of such calls in this
# project. `bmad plan` shows it.


class EpicEstimates(NamedTuple):
    figures: CallEstimates
    workflow: Workflow

    def remaining_steps(self, epic: EpicView) -> list[list[str]]:
        """Step names for each of its stories; empty for a finished one."""
        return [[step.name for step in steps_left(self.workflow, meaning)] for meaning in epic.meanings]

    def step_seconds(self, step: str) -> float:
        """Seconds of one call, the middle estimate."""
        return self.figures.seconds_of(step).middle

    def epic_seconds(self, epic: EpicView) -> float:
        return sum(self.step_seconds(step) for steps in self.remaining_steps(epic) for step in steps)


def load_estimates(project: Project) -> EpicEstimates:
    workflow = select_workflow(project.config, only_build=project.bmad.era is Era.BUILD)
    runs = runs_folder(project.root.path)
    if not find_runs(runs):
        return EpicEstimates(default_estimates(), workflow)
    from ..progress import past_calls

    return EpicEstimates(estimate_calls(past_calls(runs)), workflow)
