"""Graphs of epics as the autopilot flies them: what is begun, and who gets an agent, is decided by its own fleet.
Only time is played: a call takes as long as it should, and nothing else takes any."""

import heapq
from typing import NamedTuple

from benchmarks.schedule import Case
from bmad_autopilot.core.schedule import Candidate, choose_lane
from bmad_autopilot.core.slots import least_makespan
from bmad_autopilot.engine.autopilot.fleet import Fleet


class Flown:
    def __init__(self, case: Case) -> None:
        self._calls, self._graph = case.calls, case.graph
        takes = {f"{epic}/{at}": seconds for epic, calls in case.calls.items() for at, seconds in enumerate(calls)}
        self._fleet = Fleet(case.slots, lambda: None, mend_first=True, seconds=takes.__getitem__)
        self._waits = case.graph.waits_for()
        self._left = {epic: sum(calls) for epic, calls in case.calls.items()}
        self._made: dict[str, int] = {}  # calls of each epic that was begun
        self._out: set[str] = set()
        self._asking: list[str] = []
        self.most_open = 0  # epics begun and not out, at a time

    def play(self) -> float:
        """When all is out."""
        calls: list[tuple[float, str]] = []
        now = 0.0
        while True:
            self._begin()
            calls += [(now + self._call(epic), epic) for epic in self._given()]
            heapq.heapify(calls)
            if not calls:
                assert self._out == set(self._graph.nodes)
                return now
            now = calls[0][0]
            while calls and calls[0][0] <= now:
                self._ended(heapq.heappop(calls)[1])

    def _begin(self) -> None:
        while True:
            ready = [
                Candidate(epic, epic, "")
                for epic in self._graph.nodes
                if epic not in self._made and self._out.issuperset(self._waits[epic])
            ]
            room = self._fleet.has_room()
            chosen = self._fleet.to_begin(ready, self._graph, self._left) if room else None
            choice = choose_lane([], [chosen] if chosen else [], most=1000, room=room)
            if not choice.key:
                return
            self._fleet.begin(next(one for one in ready if one.key == choice.key))
            self._made[choice.key] = 0
            self._asking.append(choice.key)
            self.most_open = max(self.most_open, len(self._made) - len(self._out))

    def _given(self) -> list[str]:
        for epic in self._asking:
            self._fleet.seats(epic).slot.want(lambda: None)
        given = [epic for epic in self._asking if self._fleet.seats(epic).slot.take()]
        self._asking = [epic for epic in self._asking if epic not in given]
        return given

    def _call(self, epic: str) -> float:
        self._made[epic] += 1
        return self._calls[epic][self._made[epic] - 1]

    def _ended(self, epic: str) -> None:
        self._fleet.seats(epic).slot.give_back()
        self._fleet.heard(epic, "accepted", {"step": f"{epic}/{self._made[epic] - 1}"})
        if self._made[epic] < len(self._calls[epic]):
            self._asking.append(epic)
            return
        self._fleet.heard(epic, "delivering", {})
        self._fleet.came_back(epic, well=True)
        self._out.add(epic)


class Figures(NamedTuple):
    ratio: float  # by the least there could be
    most_open: float  # for each slot


def figures(case: Case) -> Figures:
    flown = Flown(case)
    length = flown.play()
    return Figures(length / least_makespan(case.graph, case.calls, case.slots), flown.most_open / case.slots)
