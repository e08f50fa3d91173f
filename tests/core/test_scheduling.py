"""Which epic comes next."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.dependency_graph import (
    DependencyGraph,
    DependencySource,
    Edge,
    build_graph,
    chain_in_order,
)
from bmad_autopilot.core.scheduling import (
    EpicCandidate,
    LaneChoice,
    LaneStage,
    LaneView,
    Schedule,
    SlotRequest,
    choose_lane,
    is_checkout_free,
    least_makespan,
    makespan,
    matches_epic,
    next_epic_to_start,
    pick_request,
    schedule_calls,
)
from bmad_autopilot.core.transitions import EpicPhase

ONE, TWO = EpicCandidate("epic-1", "1", "Sign in"), EpicCandidate("epic-2", "2", "Sign out")


def lane(key: str, stage: LaneStage, *, delivered: bool = True, until: float | None = None) -> LaneView:
    return LaneView(key, stage, delivered, until)


@pytest.mark.parametrize(
    ("patterns", "found"),
    [
        ([], True),
        (["1"], True),
        (["^1$"], True),
        (["sign"], True),
        (["SIGN IN"], True),
        (["^epic-1$"], True),
        (["s.gn (in|on)$"], True),
        (["2"], False),
        (["2", "in"], True),
        (["^sign$"], False),
        (["(?-i:SIGN)"], False),
    ],
)
def test_a_pattern_is_looked_for_in_number_key_and_title_in_any_case(patterns: list[str], found: bool) -> None:
    assert matches_epic(patterns, ONE) is found


def test_an_epic_without_a_title_matches_no_pattern_of_nothing() -> None:
    assert not matches_epic(["^$"], EpicCandidate("epic-1", "1", ""))


@pytest.mark.parametrize(
    ("lanes", "epics", "choice"),
    [
        ([], [], LaneChoice(EpicPhase.DONE)),
        ([], [ONE, TWO], LaneChoice(EpicPhase.FIND_EPIC, "epic-1")),
        ([], [TWO, ONE], LaneChoice(EpicPhase.FIND_EPIC, "epic-2")),  # in the order in which they are given
        ([lane("a", LaneStage.WAITS)], [ONE], LaneChoice(EpicPhase.FIND_EPIC, "epic-1")),
        ([lane("a", LaneStage.WAITS)], [], LaneChoice(EpicPhase.WAIT_COPILOT, "a")),
        (
            [lane("a", LaneStage.WAITS), lane("b", LaneStage.MOVED)],
            [ONE],
            LaneChoice(EpicPhase.CHECK_PENDING_PR, "b"),
        ),
        (
            [lane("a", LaneStage.WORK, delivered=False), lane("b", LaneStage.MOVED)],
            [],
            LaneChoice(EpicPhase.CHECK_PENDING_PR, "b"),
        ),
        ([lane("a", LaneStage.WORK, delivered=False)], [ONE], LaneChoice(EpicPhase.DEVELOP_STORIES, "a")),
        (
            [lane("a", LaneStage.ASKS, delivered=False)],
            [ONE],
            LaneChoice(EpicPhase.BLOCKED, "a"),
        ),  # its work lies here
        ([lane("a", LaneStage.BLOCKED, delivered=False)], [ONE], LaneChoice(EpicPhase.BLOCKED, "a")),
        ([lane("a", LaneStage.ASKS)], [ONE], LaneChoice(EpicPhase.FIND_EPIC, "epic-1")),
        ([lane("a", LaneStage.BLOCKED), lane("b", LaneStage.WAITS)], [], LaneChoice(EpicPhase.WAIT_COPILOT, "b")),
        ([lane("a", LaneStage.BLOCKED)], [], LaneChoice(EpicPhase.BLOCKED, "a")),
    ],
)
def test_what_comes_next(lanes: list[LaneView], epics: list[EpicCandidate], choice: LaneChoice) -> None:
    assert choose_lane(lanes, epics, max_open=5, has_room=is_checkout_free(lanes)) == choice


def test_no_other_epic_is_begun_while_as_many_as_allowed_are_pending() -> None:
    pending = [lane("a", LaneStage.WAITS), lane("b", LaneStage.ASKS)]
    assert choose_lane(pending, [ONE], max_open=2, has_room=True).phase is EpicPhase.WAIT_COPILOT
    assert choose_lane(pending, [ONE], max_open=3, has_room=True).phase is EpicPhase.FIND_EPIC


@pytest.mark.parametrize("stage", [LaneStage.WORK, LaneStage.MOVED])
def test_whose_agent_is_at_work_comes_first(stage: LaneStage) -> None:
    """Another may switch the checkout to its own branch under it."""
    busy = lane("epic-2", stage, delivered=False)._replace(is_busy=True)
    assert choose_lane([lane("epic-1", LaneStage.MOVED), busy], [], max_open=5, has_room=True).key == "epic-2"
    asks = busy._replace(stage=LaneStage.ASKS)
    assert choose_lane([lane("epic-1", LaneStage.MOVED), asks], [], max_open=5, has_room=True).key == "epic-1"


def test_a_wait_ends_with_the_first_of_its_times() -> None:
    waits = [
        lane("a", LaneStage.WAITS, until=90.0),
        lane("b", LaneStage.WAITS, until=50.0),
        lane("c", LaneStage.WAITS),
    ]
    assert choose_lane(waits, [], max_open=5, has_room=True).until == 50.0
    assert choose_lane(waits[2:], [], max_open=5, has_room=True).until is None


lanes = st.lists(
    st.builds(LaneView, st.sampled_from("abcde"), st.sampled_from(LaneStage), st.booleans()), max_size=6
)


@given(lanes, st.lists(st.sampled_from([ONE, TWO]), max_size=2), st.integers(1, 5))
def test_it_is_done_only_when_nothing_is_left(
    found: list[LaneView], epics: list[EpicCandidate], most: int
) -> None:
    choice = choose_lane(found, epics, max_open=most, has_room=is_checkout_free(found))
    assert (choice.phase is EpicPhase.DONE) == (not found and not epics)
    begins = choice.phase is EpicPhase.FIND_EPIC
    assert not begins or (all(one.is_delivered for one in found) and len(found) < most)


def test_a_choice_of_none_names_none() -> None:
    assert choose_lane([], [], max_open=1, has_room=True) == (EpicPhase.DONE, "", None)


def test_phases_are_called_as_in_the_bash_autopilots_state_file() -> None:
    assert [phase.value for phase in EpicPhase] == [
        "CHECK_PENDING_PR",
        "FIND_EPIC",
        "CREATE_BRANCH",
        "DEVELOP_STORIES",
        "CODE_REVIEW",
        "CREATE_PR",
        "WAIT_COPILOT",
        "FIX_ISSUES",
        "MERGE_PR",
        "BLOCKED",
        "DONE",
    ]


def test_those_that_somebody_drives_count_as_well() -> None:
    assert choose_lane([], [ONE], max_open=3, has_room=True, driven_count=2).phase is EpicPhase.FIND_EPIC
    assert choose_lane([], [ONE], max_open=3, has_room=True, driven_count=3).phase is EpicPhase.DONE


def test_without_room_nothing_is_begun() -> None:
    assert (
        choose_lane([lane("a", LaneStage.WAITS)], [ONE], max_open=5, has_room=False).phase
        is EpicPhase.WAIT_COPILOT
    )


# Who gets an agent next, and how long all of it takes.


def picked(*asking: SlotRequest, left: float = 0.0, slots: int = 2, mending_first: bool = True) -> str:
    found = pick_request(asking, work_left=left, slots=slots, fixes_first=mending_first)
    assert found is not None
    return found.key


def test_nobody_asks() -> None:
    assert pick_request([], work_left=5.0, slots=1) is None


def test_a_pull_request_is_mended_before_new_work_unless_the_settings_say_otherwise() -> None:
    new, fixes_pull = SlotRequest("new", 9.0), SlotRequest("mends", 1.0, fixes_pull=True)
    assert picked(new, fixes_pull) == "mends"
    assert picked(new, fixes_pull, mending_first=False) == "new"


def test_the_longest_chain_goes_ahead_of_what_was_begun_where_nothing_may_hold_it_up() -> None:
    begun, chain = SlotRequest("begun", 50.0, is_started=True), SlotRequest("chain", 100.0)
    assert picked(begun, chain, left=150.0, slots=2) == "chain"


def test_what_was_begun_goes_on_where_no_chain_is_in_a_hurry() -> None:
    begun, chain = SlotRequest("begun", 50.0, is_started=True), SlotRequest("chain", 100.0)
    assert picked(begun, chain, left=1000.0, slots=2) == "begun"
    assert picked(begun, chain, left=150.0, slots=1) == "begun"  # one at a time: nothing is gained


def test_of_two_alike_the_one_that_comes_first() -> None:
    assert picked(SlotRequest("second", 5.0, 2), SlotRequest("first", 5.0, 1)) == "first"


def test_of_two_urgent_chains_the_longer() -> None:
    assert picked(SlotRequest("shorter", 98.0, 1), SlotRequest("longer", 100.0, 2), left=150.0) == "longer"
    assert picked(SlotRequest("just", 95.0, 1, is_started=True), SlotRequest("longer", 100.0, 2)) == "longer"


def begun(*fresh: SlotRequest, developed: tuple[SlotRequest, ...] = (), left: float = 0.0, slots: int = 2) -> str:
    found = next_epic_to_start(fresh, developed, work_left=left, slots=slots)
    return found.key if found is not None else ""


def test_of_epics_that_could_be_begun_the_one_that_most_hangs_on() -> None:
    assert begun() == ""
    assert begun(SlotRequest("short", 5.0, 1), SlotRequest("long", 9.0, 2)) == "long"
    assert begun(SlotRequest("second", 5.0, 2), SlotRequest("first", 5.0, 1)) == "first"


def test_as_many_are_begun_as_there_are_slots() -> None:
    one, two = SlotRequest("one", 50.0, 1, is_started=True), SlotRequest("two", 50.0, 2, is_started=True)
    assert begun(SlotRequest("new", 40.0), developed=(one,), left=1000.0) == "new"
    assert begun(SlotRequest("new", 40.0), developed=(one, two), left=1000.0) == ""
    assert begun(SlotRequest("new", 40.0), developed=(one, two), left=1000.0, slots=3) == "new"


def test_but_a_chain_that_nothing_may_hold_up_is_begun_beside_them() -> None:
    one, two = SlotRequest("one", 50.0, 1, is_started=True), SlotRequest("two", 50.0, 2, is_started=True)
    assert begun(SlotRequest("chain", 100.0), developed=(one, two), left=150.0) == "chain"
    assert begun(SlotRequest("chain", 100.0), developed=(one,), left=150.0, slots=1) == "", "it gains nothing"


def test_a_slot_passes_on_between_two_calls() -> None:
    """The long chain begins late and must not wait for all of the epic in hand."""
    graph = build_graph("123", [Edge("3", "2", DependencySource.EPICS)])
    table = schedule_calls(graph, {"1": [1.0] * 10, "2": [1.0], "3": [1.0] * 10}, 2)
    assert table.start_times()["3"] == 1.0
    assert table.length == 11.0


def test_many_alike_are_done_one_after_another_and_not_all_at_once() -> None:
    nodes = [str(number) for number in range(40)]
    table = schedule_calls(build_graph(nodes, ()), {node: [1.0] * 5 for node in nodes}, 4)
    assert table.length == 50.0
    assert most_open(table) <= 8


def test_the_order_leaves_work_for_one() -> None:
    calls = {node: [2.0, 3.0] for node in "1234"}
    ordered, free = build_graph("1234", chain_in_order("1234")), build_graph("1234", ())
    assert (makespan(ordered, calls, 8), makespan(free, calls, 8), makespan(free, calls, 2)) == (20.0, 5.0, 10.0)


def test_the_longest_of_the_epics_not_begun_comes_first() -> None:
    table = schedule_calls(build_graph("123", ()), {"1": [1.0], "2": [5.0], "3": [3.0]}, 1)
    assert [span.epic for span in table.spans] == ["2", "3", "1"]


def test_without_work() -> None:
    assert least_makespan(build_graph("", ()), {}, 3) == 0.0
    assert schedule_calls(build_graph("", ()), {}, 3) == Schedule((), 0.0)
    nothing = schedule_calls(build_graph("12", chain_in_order("12")), {"1": [], "2": [1.0]}, 0)
    assert (nothing.start_times(), nothing.length) == ({"2": 0.0}, 1.0)


def most_open(table: Schedule) -> int:
    begins, ends = table.start_times(), table.end_times()
    return max(sum(begins[one] <= begins[other] < ends[one] for one in begins) for other in begins)


@st.composite
def plans(draw: st.DrawFn) -> tuple[DependencyGraph, dict[str, list[float]], int]:
    nodes = [str(number) for number in range(draw(st.integers(1, 8)))]
    pairs = draw(st.lists(st.tuples(st.sampled_from(nodes), st.sampled_from(nodes)), max_size=12))
    times = st.lists(st.integers(1, 9).map(float), min_size=1, max_size=6)
    graph = build_graph(nodes, [Edge(epic, on, DependencySource.EPICS) for epic, on in pairs])
    return graph, {node: draw(times) for node in nodes}, draw(st.integers(1, 4))


@given(plans())
def test_every_plan_can_be_kept_to(plan: tuple[DependencyGraph, dict[str, list[float]], int]) -> None:
    graph, calls, slots = plan
    table = schedule_calls(graph, calls, slots)
    begins, ends = table.start_times(), table.end_times()
    for epic in graph.nodes:
        own = [spell for spell in table.spans if spell.epic == epic]
        assert sum(spell.end - spell.start for spell in own) == sum(calls[epic])
        assert all(one.end < other.start for one, other in pairwise(own))
    assert all(ends[edge.depends_on] <= begins[edge.epic] for edge in graph.edges)
    moments = {spell.start for spell in table.spans}
    assert all(sum(spell.start <= at < spell.end for spell in table.spans) <= slots for at in moments)
    least = least_makespan(graph, calls, slots)
    assert least - 1e-9 <= table.length == max(ends.values())
    assert table.length <= least * (2 - 1 / slots) + 9  # no worse than any list of calls, worked off in turn
