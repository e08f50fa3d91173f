"""Which epic waits for which."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.dependency_graph import (
    DependencyGraph,
    DependencySource,
    Edge,
    EdgeFault,
    build_graph,
    chain_in_order,
    chain_lengths,
    critical_path,
    topological_order,
)
from bmad_autopilot.core.errors import Location


def edges(*pairs: str) -> list[Edge]:
    """`3>1`: 3 waits for 1."""
    cut = [pair.split(">") for pair in pairs]
    return [
        Edge(epic, on, DependencySource.EPICS, Location("epics.md", line))
        for line, (epic, on) in enumerate(cut, 1)
    ]


def shown(graph: DependencyGraph) -> list[str]:
    return [f"{edge.epic}>{edge.depends_on}" for edge in graph.edges]


def test_in_order_each_waits_for_the_one_before_it() -> None:
    graph = build_graph("123", chain_in_order("123"))
    assert shown(graph) == ["2>1", "3>2"]
    assert {edge.source for edge in graph.edges} == {DependencySource.ORDER}
    assert chain_in_order("1") == chain_in_order("") == []


def test_of_several_edges_between_two_the_first_counts() -> None:
    graph = build_graph("12", edges("2>1", "2>1"))
    assert [edge.location for edge in graph.edges] == [Location("epics.md", 1)]


def test_what_is_not_there_and_what_waits_for_itself_is_told_of_and_passed_over() -> None:
    graph = build_graph("123", edges("2>9", "3>3", "3>2"))
    assert shown(graph) == ["3>2"]
    assert [(one.fault, one.edge.location) for one in graph.problems] == [
        (EdgeFault.MISSING, Location("epics.md", 1)),
        (EdgeFault.SELF, Location("epics.md", 2)),
    ]


def test_what_is_over_is_not_waited_for_and_no_problem() -> None:
    graph = build_graph("23", edges("2>1", "1>7", "3>2"), finished={"1"})
    assert (shown(graph), graph.problems) == (["3>2"], ())


def test_a_cycle_is_named_by_the_shortest_way_and_gives_way_to_the_order() -> None:
    graph = build_graph("1234", edges("1>3", "3>2", "2>1", "3>1", "4>3"))
    (problem,) = graph.problems
    assert (problem.fault, problem.cycle) == (EdgeFault.CYCLE, ("1", "3"))
    assert problem.edge.location == Location("epics.md", 1)
    assert shown(graph) == ["3>2", "2>1", "3>1", "4>3"]


def test_a_removed_edge_closes_no_other_cycle() -> None:
    graph = build_graph("123", edges("1>2", "2>1", "2>3", "3>1"))
    assert [(problem.edge.epic, problem.edge.depends_on) for problem in graph.problems] == [("1", "2")]
    assert shown(graph) == ["2>1", "2>3", "3>1"]


def test_the_first_epic_in_natural_order_gives_up_its_edge() -> None:
    graph = build_graph(["2", "10", "11"], edges("10>11", "2>10", "11>2"))
    assert [(problem.edge.epic, problem.edge.depends_on) for problem in graph.problems] == [("2", "10")]


def test_to_wait_for_a_later_one_is_fine_without_a_cycle() -> None:
    graph = build_graph("123", edges("1>3", "2>1"))
    assert (topological_order(graph), graph.problems) == (["3", "1", "2"], ())


def test_two_cycles_through_one_edge_are_cut_once() -> None:
    graph = build_graph("123", edges("1>3", "3>2", "2>1", "3>1"))
    assert len(graph.problems) == 1


def test_the_longest_chain_from_each() -> None:
    graph = build_graph("1234", edges("2>1", "3>1", "4>2"))
    work = {"1": 1.0, "2": 2.0, "3": 9.0, "4": 3.0}
    assert chain_lengths(graph, work) == {"1": 10.0, "2": 5.0, "3": 9.0, "4": 3.0}
    assert critical_path(graph, work) == ("1", "3")
    assert critical_path(build_graph("", ()), {}) == ()


numbers = st.integers(0, 7).map(str)


@given(st.lists(st.tuples(numbers, numbers), max_size=30))
def test_whatever_is_declared_a_graph_has_no_cycle_and_each_edge_is_kept_or_told_of(
    pairs: list[tuple[str, str]],
) -> None:
    given_edges = [Edge(epic, on, DependencySource.EPICS) for epic, on in pairs]
    graph = build_graph("0123456", given_edges)
    ordered = topological_order(graph)
    assert all(ordered.index(edge.depends_on) < ordered.index(edge.epic) for edge in graph.edges)
    told = {problem.edge for problem in graph.problems}
    assert {edge for edge in given_edges if edge.epic != "7"} == told | set(graph.edges)
    for problem in graph.problems:
        if problem.fault is EdgeFault.CYCLE:
            ring = (*problem.cycle, problem.cycle[0])
            assert ring[:2] == problem.edge[:2]
            assert all((one, on) in pairs for one, on in pairwise(ring))


@pytest.mark.parametrize("count", [0, 1, 300])
def test_a_chain_of_any_length(count: int) -> None:
    nodes = [str(number) for number in range(count)]
    graph = build_graph(nodes, chain_in_order(nodes))
    assert topological_order(graph) == nodes
    assert max(chain_lengths(graph, dict.fromkeys(nodes, 1.0)).values(), default=0) == count


def test_sources_and_faults_are_called_as_the_schema_has_them() -> None:
    assert [one.value for one in DependencySource] == ["order", "settings", "epics", "stories"]
    assert [one.value for one in EdgeFault] == ["missing", "itself", "cycle"]
