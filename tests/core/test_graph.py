"""Which epic waits for which."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import Place
from bmad_autopilot.core.graph import (
    Edge,
    Fault,
    Graph,
    Source,
    build,
    critical_path,
    in_order,
    sorted_by_waiting,
    tails,
)


def edges(*pairs: str) -> list[Edge]:
    """`3>1`: 3 waits for 1."""
    cut = [pair.split(">") for pair in pairs]
    return [Edge(epic, on, Source.EPICS, Place("epics.md", line)) for line, (epic, on) in enumerate(cut, 1)]


def shown(graph: Graph) -> list[str]:
    return [f"{edge.epic}>{edge.on}" for edge in graph.edges]


def test_in_order_each_waits_for_the_one_before_it() -> None:
    graph = build("123", in_order("123"))
    assert shown(graph) == ["2>1", "3>2"]
    assert {edge.source for edge in graph.edges} == {Source.ORDER}
    assert in_order("1") == in_order("") == []


def test_of_several_edges_between_two_the_first_counts() -> None:
    graph = build("12", edges("2>1", "2>1"))
    assert [edge.place for edge in graph.edges] == [Place("epics.md", 1)]


def test_what_is_not_there_and_what_waits_for_itself_is_told_of_and_passed_over() -> None:
    graph = build("123", edges("2>9", "3>3", "3>2"))
    assert shown(graph) == ["3>2"]
    assert [(one.fault, one.edge.place) for one in graph.problems] == [
        (Fault.MISSING, Place("epics.md", 1)),
        (Fault.ITSELF, Place("epics.md", 2)),
    ]


def test_what_is_over_is_not_waited_for_and_no_problem() -> None:
    graph = build("23", edges("2>1", "1>7", "3>2"), over={"1"})
    assert (shown(graph), graph.problems) == (["3>2"], ())


def test_a_cycle_is_named_by_the_shortest_way_and_gives_way_to_the_order() -> None:
    graph = build("1234", edges("1>3", "3>2", "2>1", "3>1", "4>3"))
    (problem,) = graph.problems
    assert (problem.fault, problem.cycle) == (Fault.CYCLE, ("1", "3"))
    assert problem.edge.place == Place("epics.md", 1)
    assert shown(graph) == ["3>2", "2>1", "3>1", "4>3"]


def test_to_wait_for_a_later_one_is_fine_without_a_cycle() -> None:
    graph = build("123", edges("1>3", "2>1"))
    assert (sorted_by_waiting(graph), graph.problems) == (["3", "1", "2"], ())


def test_two_cycles_through_one_edge_are_cut_once() -> None:
    graph = build("123", edges("1>3", "3>2", "2>1", "3>1"))
    assert len(graph.problems) == 1


def test_the_longest_chain_from_each() -> None:
    graph = build("1234", edges("2>1", "3>1", "4>2"))
    work = {"1": 1.0, "2": 2.0, "3": 9.0, "4": 3.0}
    assert tails(graph, work) == {"1": 10.0, "2": 5.0, "3": 9.0, "4": 3.0}
    assert critical_path(graph, work) == ("1", "3")
    assert critical_path(build("", ()), {}) == ()


numbers = st.integers(0, 7).map(str)


@given(st.lists(st.tuples(numbers, numbers), max_size=30))
def test_whatever_is_declared_a_graph_has_no_cycle_and_each_edge_is_kept_or_told_of(
    pairs: list[tuple[str, str]],
) -> None:
    given_edges = [Edge(epic, on, Source.EPICS) for epic, on in pairs]
    graph = build("0123456", given_edges)
    ordered = sorted_by_waiting(graph)
    assert all(ordered.index(edge.on) < ordered.index(edge.epic) for edge in graph.edges)
    told = {problem.edge for problem in graph.problems}
    assert {edge for edge in given_edges if edge.epic != "7"} == told | set(graph.edges)
    for problem in graph.problems:
        if problem.fault is Fault.CYCLE:
            ring = (*problem.cycle, problem.cycle[0])
            assert ring[:2] == problem.edge[:2]
            assert all((one, on) in pairs for one, on in pairwise(ring))


@pytest.mark.parametrize("count", [0, 1, 300])
def test_a_chain_of_any_length(count: int) -> None:
    nodes = [str(number) for number in range(count)]
    graph = build(nodes, in_order(nodes))
    assert sorted_by_waiting(graph) == nodes
    assert max(tails(graph, dict.fromkeys(nodes, 1.0)).values(), default=0) == count


def test_sources_and_faults_are_called_as_the_schema_has_them() -> None:
    assert [one.value for one in Source] == ["order", "settings", "epics", "stories"]
    assert [one.value for one in Fault] == ["missing", "itself", "cycle"]
