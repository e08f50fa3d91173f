"""Who gets an agent next, and how long all of it takes."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.graph import Edge, Graph, Source, build, in_order
from bmad_autopilot.core.slots import Asking, Timetable, begun_next, least_makespan, makespan, pick, timetable


def picked(*asking: Asking, left: float = 0.0, slots: int = 2, mending_first: bool = True) -> str:
    found = pick(asking, left=left, slots=slots, mending_first=mending_first)
    assert found is not None
    return found.key


def test_nobody_asks() -> None:
    assert pick([], left=5.0, slots=1) is None


def test_a_pull_request_is_mended_before_new_work_unless_the_settings_say_otherwise() -> None:
    new, mends = Asking("new", 9.0), Asking("mends", 1.0, mends=True)
    assert picked(new, mends) == "mends"
    assert picked(new, mends, mending_first=False) == "new"


def test_the_longest_chain_goes_ahead_of_what_was_begun_where_nothing_may_hold_it_up() -> None:
    begun, chain = Asking("begun", 50.0, begun=True), Asking("chain", 100.0)
    assert picked(begun, chain, left=150.0, slots=2) == "chain"


def test_what_was_begun_goes_on_where_no_chain_is_in_a_hurry() -> None:
    begun, chain = Asking("begun", 50.0, begun=True), Asking("chain", 100.0)
    assert picked(begun, chain, left=1000.0, slots=2) == "begun"
    assert picked(begun, chain, left=150.0, slots=1) == "begun"  # one at a time: nothing is gained


def test_of_two_alike_the_one_that_comes_first() -> None:
    assert picked(Asking("second", 5.0, 2), Asking("first", 5.0, 1)) == "first"


def begun(*fresh: Asking, developed: tuple[Asking, ...] = (), left: float = 0.0, slots: int = 2) -> str:
    found = begun_next(fresh, developed, left=left, slots=slots)
    return found.key if found is not None else ""


def test_of_epics_that_could_be_begun_the_one_that_most_hangs_on() -> None:
    assert begun() == ""
    assert begun(Asking("short", 5.0, 1), Asking("long", 9.0, 2)) == "long"
    assert begun(Asking("second", 5.0, 2), Asking("first", 5.0, 1)) == "first"


def test_as_many_are_begun_as_there_are_slots() -> None:
    one, two = Asking("one", 50.0, 1, begun=True), Asking("two", 50.0, 2, begun=True)
    assert begun(Asking("new", 40.0), developed=(one,), left=1000.0) == "new"
    assert begun(Asking("new", 40.0), developed=(one, two), left=1000.0) == ""
    assert begun(Asking("new", 40.0), developed=(one, two), left=1000.0, slots=3) == "new"


def test_but_a_chain_that_nothing_may_hold_up_is_begun_beside_them() -> None:
    one, two = Asking("one", 50.0, 1, begun=True), Asking("two", 50.0, 2, begun=True)
    assert begun(Asking("chain", 100.0), developed=(one, two), left=150.0) == "chain"
    assert begun(Asking("chain", 100.0), developed=(one,), left=150.0, slots=1) == "", "it gains nothing"


def test_a_slot_passes_on_between_two_calls() -> None:
    """The long chain begins late and must not wait for all of the epic in hand."""
    graph = build("123", [Edge("3", "2", Source.EPICS)])
    table = timetable(graph, {"1": [1.0] * 10, "2": [1.0], "3": [1.0] * 10}, 2)
    assert table.begins()["3"] == 1.0
    assert table.length == 11.0


def test_many_alike_are_done_one_after_another_and_not_all_at_once() -> None:
    nodes = [str(number) for number in range(40)]
    table = timetable(build(nodes, ()), {node: [1.0] * 5 for node in nodes}, 4)
    assert table.length == 50.0
    assert most_open(table) <= 8


def test_the_order_leaves_work_for_one() -> None:
    calls = {node: [2.0, 3.0] for node in "1234"}
    ordered, free = build("1234", in_order("1234")), build("1234", ())
    assert (makespan(ordered, calls, 8), makespan(free, calls, 8), makespan(free, calls, 2)) == (20.0, 5.0, 10.0)


def test_without_work() -> None:
    assert timetable(build("", ()), {}, 3) == Timetable((), 0.0)
    nothing = timetable(build("12", in_order("12")), {"1": [], "2": [1.0]}, 0)
    assert (nothing.begins(), nothing.length) == ({"2": 0.0}, 1.0)


def most_open(table: Timetable) -> int:
    begins, ends = table.begins(), table.ends()
    return max(sum(begins[one] <= begins[other] < ends[one] for one in begins) for other in begins)


@st.composite
def plans(draw: st.DrawFn) -> tuple[Graph, dict[str, list[float]], int]:
    nodes = [str(number) for number in range(draw(st.integers(1, 8)))]
    pairs = draw(st.lists(st.tuples(st.sampled_from(nodes), st.sampled_from(nodes)), max_size=12))
    times = st.lists(st.integers(1, 9).map(float), min_size=1, max_size=6)
    graph = build(nodes, [Edge(epic, on, Source.EPICS) for epic, on in pairs])
    return graph, {node: draw(times) for node in nodes}, draw(st.integers(1, 4))


@given(plans())
def test_every_plan_can_be_kept_to(plan: tuple[Graph, dict[str, list[float]], int]) -> None:
    graph, calls, slots = plan
    table = timetable(graph, calls, slots)
    begins, ends = table.begins(), table.ends()
    for epic in graph.nodes:
        own = [spell for spell in table.spells if spell.epic == epic]
        assert sum(spell.ends - spell.begins for spell in own) == sum(calls[epic])
        assert all(one.ends < other.begins for one, other in pairwise(own))
    assert all(ends[edge.on] <= begins[edge.epic] for edge in graph.edges)
    moments = {spell.begins for spell in table.spells}
    assert all(sum(spell.begins <= at < spell.ends for spell in table.spells) <= slots for at in moments)
    least = least_makespan(graph, calls, slots)
    assert least - 1e-9 <= table.length == max(ends.values())
    assert table.length <= least * (2 - 1 / slots) + 9  # no worse than any list of calls, worked off in turn
