"""Which epic is begun first, and which lane's agent is started first when a slot is free: what most hangs on, by
the work that is left. `bmad plan` tells the same, by the same rule."""

from collections.abc import Callable, Collection, Mapping, Sequence
from math import inf
from typing import NamedTuple

from ...core.graph import Graph, build, tails
from ...core.schedule import Candidate
from ...core.slots import Asking, begun_next, pick

LEAST = 1.0  # seconds: of what nobody knows the size


class _Known(NamedTuple):
    """What follows from the graph and the work that is left."""

    tails: Mapping[str, float]
    places: Mapping[str, int]
    waits_for: Mapping[str, Sequence[str]]
    all_left: float


class Ranking:
    """`seconds`: that a call of this step takes."""

    def __init__(self, slots: int, *, mending_first: bool, seconds: Callable[[str], float]) -> None:
        self._slots = max(1, slots)
        self._mending_first = mending_first
        self._seconds = seconds
        self._graph: Graph = build((), ())
        self._left: dict[str, float] = {}  # epic, by number: seconds of work
        self._numbers: dict[str, str] = {}  # of lanes
        self._mending: set[str] = set()
        self._known: _Known | None = None

    def know(self, graph: Graph, left: Mapping[str, float]) -> None:
        """As the board has it; of lanes under way it knows less than we have heard."""
        self._graph = graph
        heard = {number: self._left[number] for number in self._numbers.values() if number in self._left}
        self._left = {**left, **heard}
        self._known = None

    def begin(self, lane: str, number: str, left: float) -> None:
        self._numbers[lane] = number
        self._left.setdefault(number, left)
        self._known = None

    def heard(self, lane: str, kind: str, step: str) -> None:
        """An entry of that lane's journal."""
        number = self._numbers.get(lane, "")
        if kind in ("accepted", "delivering"):
            takes = self._seconds(step) if kind == "accepted" else inf
            self._left[number] = max(0.0, self._left.get(number, 0.0) - takes)
            self._known = None
        if kind == "pull-round":
            self._mending.add(lane)
        elif kind == "pending":
            self._mending.discard(lane)

    def first(self, lanes: Collection[str]) -> str:
        """Of those that ask for a slot."""
        left = self._now().all_left
        found = pick(self._lanes(lanes), left=left, slots=self._slots, mending_first=self._mending_first)
        assert found is not None
        return found.key

    def next_epic(self, epics: Collection[Candidate], developed: Collection[str]) -> Candidate | None:
        """Which of these is begun now, beside the lanes that are being developed."""
        fresh = self._asking([(epic.key, epic.number) for epic in epics], begun=False)
        found = begun_next(fresh, self._lanes(developed), left=self._now().all_left, slots=self._slots)
        return next((epic for epic in epics if found is not None and epic.key == found.key), None)

    def unbegun(self, developed: Collection[str]) -> list[Candidate]:
        """Epics that wait for nothing but what is out, as far as we were told."""
        begun = set(self._numbers.values())
        out = begun - {self._numbers.get(lane, "") for lane in developed}
        waits = self._now().waits_for.items()
        return [Candidate(node, node, "") for node, ons in waits if node not in begun and out.issuperset(ons)]

    def _lanes(self, lanes: Collection[str]) -> list[Asking]:
        return self._asking([(lane, self._numbers.get(lane, "")) for lane in sorted(lanes)], begun=True)

    def _asking(self, named: Sequence[tuple[str, str]], *, begun: bool) -> list[Asking]:
        known = self._now()
        return [
            Asking(
                key,
                known.tails.get(number, self._left.get(number, LEAST)),
                known.places.get(number, len(known.places)),
                begun,
                key in self._mending,
            )
            for key, number in named
        ]

    def _now(self) -> _Known:
        if self._known is None:
            graph = self._graph
            work = {node: self._left.get(node, LEAST) for node in graph.nodes}
            places = {node: place for place, node in enumerate(graph.nodes)}
            self._known = _Known(tails(graph, work), places, graph.waits_for(), sum(work.values()))
        return self._known
