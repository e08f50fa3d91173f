"""Which epic waits for which, and from where we know: edges that count, and those that cannot. Pure."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from .errors import Place


class Source(StrEnum):
    """Who says that one epic waits for another."""

    ORDER = "order"  # each builds on the one before it
    SETTINGS = "settings"
    EPICS = "epics"  # the epics files
    STORIES = "stories"  # a stories.yaml


class Edge(NamedTuple):
    epic: str  # the one that waits, by number
    on: str  # for this one
    source: Source
    place: Place | None = None


class Fault(StrEnum):
    MISSING = "missing"  # waits for an epic that is not there
    ITSELF = "itself"
    CYCLE = "cycle"


class Problem(NamedTuple):
    """An edge that is passed over."""

    fault: Fault
    edge: Edge
    cycle: tuple[str, ...] = ()  # the shortest through it: each waits for the next, the last for the first


class Graph(NamedTuple):
    nodes: tuple[str, ...]  # in their natural order
    edges: tuple[Edge, ...] = ()  # without cycles, one for each pair
    problems: tuple[Problem, ...] = ()

    def waits_for(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {node: [] for node in self.nodes}
        for edge in self.edges:
            found[edge.epic].append(edge.on)
        return found

    def followers(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {node: [] for node in self.nodes}
        for edge in self.edges:
            found[edge.on].append(edge.epic)
        return found


def in_order(nodes: Sequence[str]) -> list[Edge]:
    """Each on the one before it."""
    return [Edge(epic, on, Source.ORDER) for on, epic in pairwise(nodes)]


def build(nodes: Sequence[str], edges: Iterable[Edge], over: Collection[str] = ()) -> Graph:
    """`nodes`: in their natural order. `over`: epics that need not be waited for any more. Of several edges from
    one epic to another the first counts."""
    places = {node: place for place, node in enumerate(nodes)}
    problems: list[Problem] = []
    kept: dict[tuple[str, str], Edge] = {}
    for edge in edges:
        if edge.epic not in places:  # done, or not asked for: nobody waits
            continue
        if edge.epic == edge.on:
            problems.append(Problem(Fault.ITSELF, edge))
        elif edge.on in places:
            kept.setdefault((edge.epic, edge.on), edge)
        elif edge.on not in over:
            problems.append(Problem(Fault.MISSING, edge))
    problems += _cut_cycles(kept, places)
    return Graph(tuple(nodes), tuple(kept.values()), tuple(problems))


def _cut_cycles(edges: dict[tuple[str, str], Edge], places: Mapping[str, int]) -> list[Problem]:
    """Every cycle has an epic that waits for a later one: such an edge gives way to the natural order."""
    ahead = {node: [on for epic, on in edges if epic == node] for node in {epic for epic, _ in edges}}
    forward = [edge for edge in edges.values() if places[edge.on] > places[edge.epic]]
    problems = []
    for edge in sorted(forward, key=lambda one: (places[one.epic], places[one.on])):
        back = _way(ahead, edge.on, edge.epic)
        if back:
            problems.append(Problem(Fault.CYCLE, edge, (edge.epic, *back[:-1])))
            del edges[edge.epic, edge.on]
            ahead[edge.epic].remove(edge.on)
    return problems


def _way(ahead: Mapping[str, Sequence[str]], start: str, end: str) -> tuple[str, ...]:
    """The shortest way along the edges, both ends included; empty: there is none."""
    came: dict[str, str] = {start: ""}
    waiting = deque([start])
    while waiting:
        here = waiting.popleft()
        if here == end:
            way = [here]
            while came[way[-1]]:
                way.append(came[way[-1]])
            return tuple(reversed(way))
        for node in ahead.get(here, ()):
            if node not in came:
                came[node] = here
                waiting.append(node)
    return ()


def tails(graph: Graph, work: Mapping[str, float]) -> dict[str, float]:
    """For each epic the work on the longest chain that begins with it: itself and what waits for it."""
    followers = graph.followers()
    found: dict[str, float] = {}
    for node in reversed(sorted_by_waiting(graph)):
        found[node] = work[node] + max((found[after] for after in followers[node]), default=0.0)
    return found


def critical_path(graph: Graph, work: Mapping[str, float]) -> tuple[str, ...]:
    """The chain that takes longest, from its first epic on."""
    lengths, followers = tails(graph, work), graph.followers()
    path: list[str] = []
    ahead: Sequence[str] = graph.nodes
    while ahead:
        path.append(max(ahead, key=lambda node: lengths[node]))
        ahead = followers[path[-1]]
    return tuple(path)


def sorted_by_waiting(graph: Graph) -> list[str]:
    """Each after all that it waits for; else in the natural order."""
    import heapq

    places = {node: place for place, node in enumerate(graph.nodes)}
    open_edges = {node: len(ons) for node, ons in graph.waits_for().items()}
    followers = graph.followers()
    free = [places[node] for node, count in open_edges.items() if not count]
    heapq.heapify(free)
    found = []
    while free:
        node = graph.nodes[heapq.heappop(free)]
        found.append(node)
        for after in followers[node]:
            open_edges[after] -= 1
            if not open_edges[after]:
                heapq.heappush(free, places[after])
    assert len(found) == len(graph.nodes), "a graph is built without cycles"
    return found
