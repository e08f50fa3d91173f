"""Which lane's agent is started first when a slot is free: what most hangs on, by the stories that are left."""

from collections.abc import Collection, Mapping

from ...core.graph import Graph, build, tails
from ...core.slots import Asking, pick


class Ranking:
    def __init__(self, slots: int, *, mending_first: bool) -> None:
        self._slots = slots
        self._mending_first = mending_first
        self._graph: Graph = build((), ())
        self._left: dict[str, int] = {}  # epic, by number: stories that are not over
        self._numbers: dict[str, str] = {}  # of lanes
        self._mending: set[str] = set()

    def know(self, graph: Graph, left: Mapping[str, int]) -> None:
        """As the board has it; of lanes under way it knows less than we have heard."""
        self._graph = graph
        heard = {number: self._left[number] for number in self._numbers.values() if number in self._left}
        self._left = {**left, **heard}

    def begin(self, lane: str, number: str, stories: int) -> None:
        self._numbers[lane] = number
        self._left.setdefault(number, stories)

    def heard(self, lane: str, kind: str, label: str) -> None:
        """An entry of that lane's journal."""
        number = self._numbers.get(lane, "")
        if kind == "commit" and label == "done" and self._left.get(number):
            self._left[number] -= 1
        if kind == "pull-round":
            self._mending.add(lane)
        elif kind == "pending":
            self._mending.discard(lane)

    def first(self, lanes: Collection[str]) -> str:
        work = {node: float(self._left.get(node, 1)) for node in self._graph.nodes}
        longest = tails(self._graph, work)
        places = {node: place for place, node in enumerate(self._graph.nodes)}
        asking = [self._asking(lane, longest, places) for lane in sorted(lanes)]
        found = pick(asking, left=sum(work.values()), slots=self._slots, mending_first=self._mending_first)
        assert found is not None
        return found.key

    def _asking(self, lane: str, longest: Mapping[str, float], places: Mapping[str, int]) -> Asking:
        number = self._numbers.get(lane, "")
        return Asking(lane, longest.get(number, 1.0), places.get(number, len(places)), True, lane in self._mending)
