"""The dependency graph of epics: valid edges with their source, and rejected edges. Pure."""

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from enum import StrEnum
from itertools import pairwise
from typing import NamedTuple

from .errors import Location


class DependencySource(StrEnum):
    """Where a dependency is declared."""

    ORDER = "order"  # each epic depends on the one before it
    SETTINGS = "settings"
    EPICS = "epics"  # the epics files
    STORIES = "stories"  # a stories.yaml


class Edge(NamedTuple):
    epic: str  # number of the epic that waits
    depends_on: str  # number of the epic it waits for
    source: DependencySource
    location: Location | None = None


class EdgeFault(StrEnum):
    MISSING = "missing"  # depends on an epic that does not exist
    SELF = "itself"
    CYCLE = "cycle"


class EdgeProblem(NamedTuple):
    """A rejected edge."""

    fault: EdgeFault
    edge: Edge
    cycle: tuple[str, ...] = ()  # the shortest cycle: each epic waits for the next, the last for the first


class DependencyGraph(NamedTuple):
    nodes: tuple[str, ...]  # in natural order
    edges: tuple[Edge, ...] = ()  # acyclic, at most one per pair
    problems: tuple[EdgeProblem, ...] = ()

    def dependencies(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {node: [] for node in self.nodes}
        for edge in self.edges:
            found[edge.epic].append(edge.depends_on)
        return found

    def dependents(self) -> dict[str, list[str]]:
        found: dict[str, list[str]] = {node: [] for node in self.nodes}
        for edge in self.edges:
            found[edge.depends_on].append(edge.epic)
        return found


def chain_in_order(nodes: Sequence[str]) -> list[Edge]:
    """Edges that make each epic depend on the one before it."""
    return [Edge(epic, on, DependencySource.ORDER) for on, epic in pairwise(nodes)]


def build_graph(nodes: Sequence[str], edges: Iterable[Edge], finished: Collection[str] = ()) -> DependencyGraph:
    """Build the graph of `nodes`, given in natural order. `finished`: epics that no longer block others. The first
    of several edges between two epics wins."""
    positions = {node: position for position, node in enumerate(nodes)}
    problems: list[EdgeProblem] = []
    kept: dict[tuple[str, str], Edge] = {}
    for edge in edges:
        if edge.epic not in positions:  # a finished or unselected epic does not wait
            continue
        if edge.epic == edge.depends_on:
            problems.append(EdgeProblem(EdgeFault.SELF, edge))
        elif edge.depends_on in positions:
            kept.setdefault((edge.epic, edge.depends_on), edge)
        elif edge.depends_on not in finished:
            problems.append(EdgeProblem(EdgeFault.MISSING, edge))
    problems += _break_cycles(kept, positions)
    return DependencyGraph(tuple(nodes), tuple(kept.values()), tuple(problems))


def _break_cycles(edges: dict[tuple[str, str], Edge], positions: Mapping[str, int]) -> list[EdgeProblem]:
    """Remove edges until no cycle is left. Every cycle has an edge to a later epic; natural order wins over it."""
    ahead = {node: [on for epic, on in edges if epic == node] for node in {epic for epic, _ in edges}}
    forward = [edge for edge in edges.values() if positions[edge.depends_on] > positions[edge.epic]]
    problems = []
    for edge in sorted(forward, key=lambda one: (positions[one.epic], positions[one.depends_on])):
        back = _shortest_path(ahead, edge.depends_on, edge.epic)
        if back:
            problems.append(EdgeProblem(EdgeFault.CYCLE, edge, (edge.epic, *back[:-1])))
            del edges[edge.epic, edge.depends_on]
            ahead[edge.epic].remove(edge.depends_on)
    return problems


def _shortest_path(ahead: Mapping[str, Sequence[str]], start: str, end: str) -> tuple[str, ...]:
    """The shortest path along the edges, both ends included; empty if there is none."""
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


def chain_lengths(graph: DependencyGraph, work: Mapping[str, float]) -> dict[str, float]:
    """For each epic, the work on the longest chain that starts with it: its own and that of its dependents."""
    dependents = graph.dependents()
    found: dict[str, float] = {}
    for node in reversed(topological_order(graph)):
        found[node] = work[node] + max((found[after] for after in dependents[node]), default=0.0)
    return found


def critical_path(graph: DependencyGraph, work: Mapping[str, float]) -> tuple[str, ...]:
    """The chain with the most work, first epic first."""
    lengths, dependents = chain_lengths(graph, work), graph.dependents()
    path: list[str] = []
    ahead: Sequence[str] = graph.nodes
    while ahead:
        path.append(max(ahead, key=lambda node: lengths[node]))
        ahead = dependents[path[-1]]
    return tuple(path)


def topological_order(graph: DependencyGraph) -> list[str]:
    """Each epic after all its dependencies; otherwise in natural order."""
    import heapq

    positions = {node: position for position, node in enumerate(graph.nodes)}
    open_edges = {node: len(ons) for node, ons in graph.dependencies().items()}
    dependents = graph.dependents()
    free = [positions[node] for node, count in open_edges.items() if not count]
    heapq.heapify(free)
    found = []
    while free:
        node = graph.nodes[heapq.heappop(free)]
        found.append(node)
        for after in dependents[node]:
            open_edges[after] -= 1
            if not open_edges[after]:
                heapq.heappush(free, positions[after])
    assert len(found) == len(graph.nodes), "a graph is built without cycles"
    return found
