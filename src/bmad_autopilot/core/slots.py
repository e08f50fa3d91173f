"""Who gets an agent next, and how long all of it takes with so many at once. A slot is asked for call by call, so
it may pass to another epic between two calls of one. Pure."""

import heapq
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from .graph import Graph, tails

# How near the longest chain must come to the whole time left before it goes ahead of work in hand. Were it always
# to, plans would be no shorter, and every slot would pass from epic to epic: on the 400 graphs of the benchmark an
# epic is then put down 5 times instead of 0.2, and up to 13 are open for each slot instead of 2.
MARGIN = 0.05


class Asking(NamedTuple):
    """A lane that could make its next call."""

    key: str
    tail: float  # work on the longest chain that begins with this call
    place: int = 0  # in the natural order
    begun: bool = False  # some of its calls were made
    mends: bool = False  # its pull request waits for this


def pick(asking: Collection[Asking], *, left: float, slots: int, mending_first: bool = True) -> Asking | None:
    """Whose call is made when a slot is free: what mends a pull request; then a chain that nothing may hold up;
    then what was begun; then what most hangs on. `left`: work of all epics that nobody has begun to do."""
    if not asking:
        return None
    longest = max(one.tail for one in asking)
    urgent = (1 - MARGIN) * max(longest, left / max(1, slots))

    def rank(one: Asking) -> tuple[bool, bool, bool, float, int]:
        waits = slots == 1 or one.tail < urgent  # one at a time: in any order it takes as long
        return mending_first and not one.mends, waits, waits and not one.begun, -one.tail, one.place

    return min(asking, key=rank)


def begun_next(
    fresh: Collection[Asking], developed: Collection[Asking], *, left: float, slots: int
) -> Asking | None:
    """Which epic is begun now: the first that would be given one of all slots, were those that are developed to
    ask as well. So a chain that nothing may hold up is begun beside as many as there are slots. None: all slots
    would go to what is developed."""
    asking = [*developed, *fresh]
    for _ in range(slots):
        first = pick(asking, left=left, slots=slots)
        if first is None or first in fresh:
            return first
        asking.remove(first)
    return None


class Spell(NamedTuple):
    """Calls of one epic, one right after another."""

    epic: str
    begins: float
    ends: float


class Timetable(NamedTuple):
    spells: tuple[Spell, ...]  # by when they begin
    length: float

    def begins(self) -> dict[str, float]:
        return {spell.epic: spell.begins for spell in reversed(self.spells)}

    def ends(self) -> dict[str, float]:
        return {spell.epic: spell.ends for spell in self.spells}


Calls = Mapping[str, Sequence[float]]  # of each epic: how long its calls take, one after another


def timetable(graph: Graph, calls: Calls, slots: int) -> Timetable:
    """What runs when, if every call takes as long as it should."""
    return _Playing(graph, calls).play(max(1, slots))


def makespan(graph: Graph, calls: Calls, slots: int) -> float:
    return timetable(graph, calls, slots).length


def least_makespan(graph: Graph, calls: Calls, slots: int) -> float:
    """No schedule is shorter: the longest chain, or all work shared out evenly."""
    work = {epic: sum(calls[epic]) for epic in graph.nodes}
    longest = max(tails(graph, work).values(), default=0.0)
    return max(longest, sum(work.values()) / max(1, slots))


class _Playing:
    """One pass over the calls, in the order of their ends."""

    def __init__(self, graph: Graph, calls: Calls) -> None:
        self._calls = {epic: list(calls[epic]) for epic in graph.nodes}
        work = {epic: sum(times) for epic, times in self._calls.items()}
        self._left = sum(work.values())
        self._tails = tails(graph, work)
        self._followers = graph.followers()
        self._open = {epic: len(ons) for epic, ons in graph.waits_for().items()}
        self._places = {epic: place for place, epic in enumerate(graph.nodes)}
        self._made = dict.fromkeys(graph.nodes, 0)
        # Of those that were not begun only the first can be picked: a plan of hundreds looks at few of them.
        self._fresh: list[tuple[float, int, str]] = []
        self._begun: set[str] = set()
        self._spells: dict[str, list[Spell]] = {epic: [] for epic in graph.nodes}
        for epic in [epic for epic, count in self._open.items() if not count]:
            self._ask(epic)

    def play(self, slots: int) -> Timetable:
        running: list[tuple[float, int, str]] = []
        now = 0.0
        while self._fresh or self._begun or running:
            while (self._fresh or self._begun) and len(running) < slots:
                epic = self._next(slots)
                heapq.heappush(running, (now + self._begin(epic, now), self._places[epic], epic))
            now = running[0][0]
            while running and running[0][0] <= now:
                self._ask(heapq.heappop(running)[2])
        spells = [spell for own in self._spells.values() for spell in own]
        return Timetable(tuple(sorted(spells, key=lambda one: (one.begins, self._places[one.epic]))), now)

    def _next(self, slots: int) -> str:
        names = [*self._begun, *(epic for _, _, epic in self._fresh[:1])]
        asking = [Asking(epic, self._tails[epic], self._places[epic], epic in self._begun) for epic in names]
        picked = pick(asking, left=self._left, slots=slots)
        assert picked is not None
        if picked.begun:
            self._begun.remove(picked.key)
        else:
            heapq.heappop(self._fresh)
        return picked.key

    def _ask(self, epic: str) -> None:
        """For its next call; where it has no more, on behalf of those that wait for it."""
        waiting = [epic]
        while waiting:
            epic = waiting.pop()
            if self._made[epic] < len(self._calls[epic]):
                if self._made[epic]:
                    self._begun.add(epic)
                else:
                    heapq.heappush(self._fresh, (-self._tails[epic], self._places[epic], epic))
                continue
            for after in self._followers[epic]:
                self._open[after] -= 1
                if not self._open[after]:
                    waiting.append(after)

    def _begin(self, epic: str, now: float) -> float:
        takes = self._calls[epic][self._made[epic]]
        self._made[epic] += 1
        self._tails[epic] -= takes
        self._left -= takes
        own = self._spells[epic]
        if own and own[-1].ends >= now:
            own[-1] = own[-1]._replace(ends=now + takes)
        else:
            own.append(Spell(epic, now, now + takes))
        return takes
