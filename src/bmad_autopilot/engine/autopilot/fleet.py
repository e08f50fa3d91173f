"""Lanes beside each other: which of them may start an agent, which may be merged, whether another can be begun.
With one at a time in the checkout nothing of all this holds anybody up."""

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ...core.graph import Graph
from ...core.schedule import Candidate
from ..seats import Seat, Seats, Slots
from .lanes import Held
from .ranking import Ranking

MAX_CRASHES = 3  # of a lane, in a row
PAUSE = 5.0  # seconds after the first of them; each time three times as many


class Fleet:
    """`seconds`: that a call of a step takes. `can_call`: whether the agents of an epic that is begun now could be
    called, or those that stand in for them."""

    def __init__(
        self,
        agents: int,
        wake: Callable[[], None],
        *,
        mend_first: bool,
        seconds: Callable[[str], float],
        can_call: Callable[[], bool] = lambda: True,
    ) -> None:
        self._agents = agents
        self._can_call = can_call
        self._wake = wake
        self._seconds = seconds
        self._ranking = Ranking(agents, mending_first=mend_first, seconds=seconds)
        self._slots = Slots(agents, self._first) if agents else None
        self._turns = Slots(1, lambda lanes: lanes[0]) if agents else None
        self._lock = threading.RLock()
        self._developing: set[str] = set()
        self._resting: set[str] = set()
        self._turned: set[str] = set()
        self._changed = False
        self._crashes: Counter[str] = Counter()

    def seats(self, lane: str) -> Seats:
        return Seats(Seat(self._slots, lane), Seat(self._turns, lane, lambda: self._is_turn(lane)))

    # what the supervisor does

    def to_begin(self, epics: Sequence[Candidate], graph: Graph, left: Mapping[str, float]) -> Candidate | None:
        """Which of these is begun now, if any is. `graph`, `left`: of all that is not over, as the board has it.
        What has a pull request already comes first."""
        with self._lock:
            self._ranking.know(graph, left)
            has_place = not self._agents or len(self._at_work) < self._agents
            adopted = next((one for one in epics if one.branch), None)
            if adopted is not None and has_place:
                return adopted
            fresh = [one for one in epics if not one.branch]
            return self._ranking.next_epic(fresh, self._at_work if self._agents else ())

    def begin(self, epic: Candidate) -> None:
        with self._lock:
            self._ranking.begin(epic.key, epic.number, 0.0)
            self._developing.add(epic.key)

    def go_on(self, held: Held) -> None:
        lane = held.lane
        with self._lock:
            self._ranking.begin(lane.key, lane.epic or "", self._left(held))
            self._turned.discard(lane.key)
            if not held.is_delivered:
                self._developing.add(lane.key)

    def _left(self, held: Held) -> float:
        if held.is_delivered:
            return 0.0
        stories = held.lane.stories - sum(story.finished for story in held.record.stories.values())
        return max(0, stories) * sum(self._seconds(step.name) for step in held.lane.workflow.steps)

    def came_back(self, lane: str, *, well: bool) -> None:
        """Nobody drives it now. Whether it keeps its turn it has said itself. `well`: it did not break off."""
        with self._lock:
            if well:
                self._crashes.pop(lane, None)
            self._developing.discard(lane)
            self._resting.discard(lane)

    @property
    def _at_work(self) -> set[str]:
        """One that waits for its account needs no agent. An epic begun in its place must not wait for the same."""
        resting = self._developing & self._resting
        return self._developing - resting if resting and self._can_call() else set(self._developing)

    def has_room(self) -> bool:
        """Fewer are being developed than agents may be at work; or what was last known says that an epic had
        better be begun beside them. Which one, `to_begin` says."""
        with self._lock:
            return self._has_room()

    def _has_room(self) -> bool:
        at_work = self._at_work
        if len(at_work) < self._agents:
            return True
        return self._ranking.next_epic(self._ranking.unbegun(self._developing), at_work) is not None

    def tries_again(self, lane: str) -> bool:
        with self._lock:
            self._crashes[lane] += 1
            again = self._crashes[lane] < MAX_CRASHES
        if not again:
            self.seats(lane).turn.give_back()
        return again

    def pause(self, lane: str) -> float:
        """Seconds before it is driven again."""
        with self._lock:
            times = self._crashes[lane]
        return PAUSE * 3 ** (times - 1) if times else 0.0

    def has_news(self) -> bool:
        """Once: a place may be free, or somebody's turn has come."""
        with self._lock:
            changed, self._changed = self._changed, False
            return changed

    def turned(self) -> frozenset[str]:
        """Whose turn to be merged may have come. Known until it is gone on with: just now it may be at work."""
        with self._lock:
            return frozenset(self._turned)

    # what lanes tell

    def heard(self, lane: str, kind: str, data: Mapping[str, Any]) -> None:
        with self._lock:
            at_work, had_room = len(self._at_work), kind != "accepted" or self._has_room()
            self._ranking.heard(lane, kind, str(data.get("step", "")))
            if kind == "delivering":
                self._developing.discard(lane)
            elif kind == "resting":
                self._resting.add(lane)
            elif kind == "call":
                self._resting.discard(lane)
            elif kind in ("accepted", "commit"):
                self._crashes.pop(lane, None)
            is_free = len(self._at_work) < at_work or (not had_room and self._has_room())
            self._changed = self._changed or is_free
        if is_free:
            self._wake()

    def _first(self, lanes: Collection[str]) -> str:
        with self._lock:
            return self._ranking.first(lanes)

    def _is_turn(self, lane: str) -> None:
        with self._lock:
            self._turned.add(lane)
        self._wake()
