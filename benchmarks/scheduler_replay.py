"""Replays graphs of epics with the autopilot's own LaneScheduler, which starts epics and grants slots. Time is
simulated: a call takes its given duration, everything else takes none."""

import heapq
from typing import NamedTuple

from benchmarks.schedule import Case
from bmad_autopilot.core.scheduling import EpicCandidate, choose_lane, least_makespan
from bmad_autopilot.engine.autopilot.scheduler import LaneScheduler


class SchedulerReplay:
    def __init__(self, case: Case) -> None:
        self._calls, self._graph = case.calls, case.graph
        takes = {f"{epic}/{at}": seconds for epic, calls in case.calls.items() for at, seconds in enumerate(calls)}
        self._scheduler = LaneScheduler(case.slots, lambda: None, fixes_first=True, seconds=takes.__getitem__)
        self._waits = case.graph.dependencies()
        self._left = {epic: sum(calls) for epic, calls in case.calls.items()}
        self._made: dict[str, int] = {}  # calls made, per started epic
        self._delivered: set[str] = set()
        self._asking: list[str] = []
        self.most_open = 0  # maximum number of epics started and not delivered

    def replay(self) -> float:
        """The time at which all epics are delivered."""
        calls: list[tuple[float, str]] = []
        now = 0.0
        while True:
            self._begin()
            calls += [(now + self._call(epic), epic) for epic in self._granted()]
            heapq.heapify(calls)
            if not calls:
                assert self._delivered == set(self._graph.nodes)
                return now
            now = calls[0][0]
            while calls and calls[0][0] <= now:
                self._ended(heapq.heappop(calls)[1])

    def _begin(self) -> None:
        while True:
            ready = [
                EpicCandidate(epic, epic, "")
                for epic in self._graph.nodes
                if epic not in self._made and self._delivered.issuperset(self._waits[epic])
            ]
            room = self._scheduler.has_room()
            chosen = self._scheduler.choose_epic(ready, self._graph, self._left) if room else None
            choice = choose_lane([], [chosen] if chosen else [], max_open=1000, has_room=room)
            if not choice.key:
                return
            self._scheduler.start_epic(next(one for one in ready if one.key == choice.key))
            self._made[choice.key] = 0
            self._asking.append(choice.key)
            self.most_open = max(self.most_open, len(self._made) - len(self._delivered))

    def _granted(self) -> list[str]:
        for epic in self._asking:
            self._scheduler.limits(epic).slot.request(lambda: None)
        given = [epic for epic in self._asking if self._scheduler.limits(epic).slot.acquire()]
        self._asking = [epic for epic in self._asking if epic not in given]
        return given

    def _call(self, epic: str) -> float:
        self._made[epic] += 1
        return self._calls[epic][self._made[epic] - 1]

    def _ended(self, epic: str) -> None:
        self._scheduler.limits(epic).slot.release()
        self._scheduler.on_event(epic, "accepted", {"step": f"{epic}/{self._made[epic] - 1}"})
        if self._made[epic] < len(self._calls[epic]):
            self._asking.append(epic)
            return
        self._scheduler.on_event(epic, "delivering", {})
        self._scheduler.mark_completed(epic, succeeded=True)
        self._delivered.add(epic)


class Figures(NamedTuple):
    ratio: float  # to the lower bound of the makespan
    most_open: float  # per slot


def replay_figures(case: Case) -> Figures:
    flown = SchedulerReplay(case)
    length = flown.replay()
    return Figures(length / least_makespan(case.graph, case.calls, case.slots), flown.most_open / case.slots)
