"""Which lanes may start an agent, which may be merged, and whether another can be begun."""

from collections.abc import Callable
from typing import cast

from bmad_autopilot.core.dependency_graph import DependencyGraph, DependencySource, Edge, build_graph
from bmad_autopilot.core.run_record import RunRecord
from bmad_autopilot.core.scheduling import EpicCandidate
from bmad_autopilot.engine.autopilot.lanes import LaneState
from bmad_autopilot.engine.autopilot.scheduler import MAX_CRASHES, PAUSE, LanePriority, LaneScheduler
from bmad_autopilot.engine.slots import SlotHandle, SlotPool
from bmad_autopilot.workflows.workflow import PIPELINES

GRAPH = build_graph(("1", "2", "3"), ())
LEFT = {"1": 2.0, "2": 2.0, "3": 2.0}


def candidate(key: str) -> EpicCandidate:
    return EpicCandidate(key, key.removeprefix("epic-"), "")


class StandingLane:
    stories, workflow = 2, PIPELINES["lean"]

    def __init__(self, key: str) -> None:
        self.key = key
        self.epic = key.removeprefix("epic-")


class StandingHeld:
    def __init__(self, key: str, *, is_delivered: bool = True) -> None:
        self.lane = StandingLane(key)
        self.record = RunRecord()
        self.is_delivered = is_delivered


def held(key: str, *, is_delivered: bool = True) -> LaneState:
    return cast(LaneState, StandingHeld(key, is_delivered=is_delivered))


def fleet_of(agents: int, woken: Callable[[], None] = lambda: None, *begun: str) -> LaneScheduler:
    fleet = LaneScheduler(agents, woken, fixes_first=True, seconds=lambda step: 1.0)
    fleet.choose_epic((), GRAPH, LEFT)
    for key in begun:
        fleet.start_epic(candidate(key))
    return fleet


def test_there_is_room_until_as_many_are_developed_as_agents_may_be_at_work() -> None:
    fleet = fleet_of(2, lambda: None, "epic-1")
    assert fleet.has_room()
    fleet.start_epic(candidate("epic-2"))
    assert not fleet.has_room()
    fleet.mark_completed("epic-1", succeeded=True)
    assert fleet.has_room()


def test_the_epic_that_most_hangs_on_is_begun_first() -> None:
    """3 waits for 2: 2 comes before 1. What has a pull request already comes before both."""
    graph = build_graph(("1", "2", "3"), (Edge("3", "2", DependencySource.SETTINGS),))
    epics = [candidate("epic-1"), candidate("epic-2")]
    for agents in (0, 1, 2):
        fleet = fleet_of(agents)
        assert fleet.choose_epic(epics, graph, LEFT) == candidate("epic-2")
        adopted = EpicCandidate("epic-9", "9", "", "feature/epic-9")
        assert fleet.choose_epic([adopted, *epics], graph, LEFT) == adopted
    assert fleet_of(2, lambda: None, "epic-2").choose_epic(epics[:1], graph, LEFT) == candidate("epic-1")


def test_a_chain_that_nothing_may_hold_up_is_begun_beside_as_many_as_there_are_agents() -> None:
    """3 waits for 2, and takes longest by far: as soon as it can be begun it is, and one in hand waits for it."""
    graph = build_graph(("1", "2", "3"), (Edge("3", "2", DependencySource.SETTINGS),))
    left = {"1": 9.0, "2": 1.0, "3": 30.0}
    woken: list[int] = []
    fleet = fleet_of(1 + 1, lambda: woken.append(1))
    assert fleet.choose_epic([candidate("epic-1"), candidate("epic-2")], graph, left) == candidate("epic-2")
    for key in ("epic-1", "epic-2", "epic-4"):
        fleet.start_epic(candidate(key))
    assert not fleet.has_room()
    fleet.on_event("epic-2", "delivering", {})
    assert woken
    assert fleet.has_room()
    assert fleet.choose_epic([candidate("epic-3")], graph, left) == candidate("epic-3")
    short = {**left, "3": 1.0}
    assert fleet.choose_epic([candidate("epic-3")], graph, short) is None


def test_whoever_has_little_left_to_do_makes_room_for_it() -> None:
    """What is left grows less with each step that is accepted, until the chain is most of it."""
    woken: list[int] = []
    fleet = fleet_of(2, lambda: woken.append(1))
    fleet.choose_epic((), GRAPH, {"1": 30.0, "2": 30.0, "3": 30.0})
    fleet.start_epic(candidate("epic-1"))
    fleet.start_epic(candidate("epic-2"))
    for lane in ("epic-1", "epic-2") * 13:
        assert not fleet.has_room()
        assert not woken
        fleet.on_event(lane, "accepted", {"step": "dev"})
    fleet.on_event("epic-1", "accepted", {"step": "dev"})
    assert fleet.has_room()
    assert woken


def test_who_is_delivered_or_rests_makes_room_and_tells_so_once() -> None:
    woken: list[int] = []
    fleet = fleet_of(2, lambda: woken.append(1), "epic-1", "epic-2")
    fleet.on_event("epic-1", "resting", {})
    assert fleet.has_room()
    assert (fleet.has_changed(), fleet.has_changed(), len(woken)) == (True, False, 1)
    fleet.on_event("epic-1", "call", {})
    assert not fleet.has_room()
    fleet.on_event("epic-2", "delivering", {})
    assert fleet.has_room()
    assert len(woken) == 2
    fleet.resume_lane(held("epic-2"))
    assert fleet.has_room()
    fleet.resume_lane(held("epic-3", is_delivered=False))
    assert not fleet.has_room()


def test_who_rests_makes_no_room_for_one_that_would_wait_for_the_same_account() -> None:
    free = [False]
    fleet = LaneScheduler(1, lambda: None, fixes_first=True, seconds=lambda step: 1.0, can_call=lambda: free[0])
    fleet.start_epic(candidate("epic-1"))
    fleet.on_event("epic-1", "resting", {})
    assert not fleet.has_room()
    free[0] = True
    assert fleet.has_room()


def test_agents_are_limited_and_a_slot_passes_on() -> None:
    fleet = fleet_of(1, lambda: None, "epic-1", "epic-2")
    first, second = fleet.limits("epic-1").slot, fleet.limits("epic-2").slot
    woken: list[int] = []
    assert first.acquire()
    assert not second.is_free()
    assert not second.acquire()
    second.request(lambda: woken.append(1))
    assert not woken
    first.release()
    assert woken == [1]
    assert second.acquire()
    assert first.acquire(force=True), "its agent is at work, whoever began that"


def test_whose_turn_comes_is_known_until_it_is_gone_on_with() -> None:
    """The one whose turn comes may be at work just then, and stand behind others: it must not be lost."""
    woken: list[int] = []
    fleet = fleet_of(3, lambda: woken.append(1))
    turns = {key: fleet.limits(key).merge_turn for key in ("epic-1", "epic-2", "epic-3")}
    assert turns["epic-1"].acquire()
    turns["epic-3"].request(lambda: None)
    turns["epic-2"].request(lambda: None)
    assert fleet.merge_turns() == frozenset()
    turns["epic-1"].release()
    assert [fleet.merge_turns(), fleet.merge_turns()] == [frozenset({"epic-3"})] * 2
    assert woken
    fleet.resume_lane(held("epic-3"))
    assert fleet.merge_turns() == frozenset()
    assert not turns["epic-2"].acquire(), "the other one has waited longer"
    assert turns["epic-3"].acquire()


def test_a_lane_is_tried_again_a_few_times_in_a_row() -> None:
    fleet = fleet_of(1)
    tries = [fleet.record_crash("epic-1") for _ in range(MAX_CRASHES)]
    assert tries == [True] * (MAX_CRASHES - 1) + [False]
    assert fleet.record_crash("epic-2")
    fleet.on_event("epic-2", "commit", {"label": "done"})
    assert [fleet.record_crash("epic-2") for _ in range(MAX_CRASHES)] == tries


def test_each_time_it_is_waited_longer_for_until_something_was_done() -> None:
    fleet = fleet_of(1)
    pauses = [fleet.retry_delay("epic-1")]
    for _ in range(2):
        fleet.record_crash("epic-1")
        pauses.append(fleet.retry_delay("epic-1"))
    assert pauses == [0.0, PAUSE, 3 * PAUSE]
    assert fleet.retry_delay("epic-2") == 0.0
    fleet.on_event("epic-1", "commit", {"label": "done"})
    assert fleet.retry_delay("epic-1") == 0.0


def test_who_came_back_well_in_between_is_not_counted_as_breaking_off_in_a_row() -> None:
    """A delivered lane is looked at for days: it makes no calls, and commits nothing."""
    fleet = fleet_of(2)
    for _ in range(2 * MAX_CRASHES):
        assert fleet.record_crash("epic-1")
        fleet.mark_completed("epic-1", succeeded=False)
        assert fleet.retry_delay("epic-1") == PAUSE
        fleet.mark_completed("epic-1", succeeded=True)
        assert fleet.retry_delay("epic-1") == 0.0


def test_who_is_parked_has_no_turn_any_more() -> None:
    fleet = fleet_of(2)
    assert fleet.limits("epic-1").merge_turn.acquire()
    for _ in range(MAX_CRASHES):
        fleet.record_crash("epic-1")
    assert fleet.limits("epic-2").merge_turn.acquire()


def test_one_at_a_time_nothing_holds_anybody_up() -> None:
    limits = fleet_of(0).limits("epic-1")
    assert limits.slot.acquire()
    assert fleet_of(0).limits("epic-2").slot.acquire()
    assert limits.merge_turn.is_free()


def test_who_wants_a_free_slot_is_woken_at_once() -> None:
    woken: list[int] = []
    SlotHandle(SlotPool(1, lambda lanes: lanes[0]), "a").request(lambda: woken.append(1))
    assert woken == [1]


# Which lane's agent is started first when a slot is free.


def chain() -> DependencyGraph:
    """1 waits for nobody; 3 waits for 2."""
    return build_graph(("1", "2", "3"), (Edge("3", "2", DependencySource.SETTINGS),))


def ranking(slots: int = 2, *, mending_first: bool = True) -> LanePriority:
    found = LanePriority(slots, fixes_first=mending_first, seconds=lambda step: 1.0)
    found.update(chain(), {"1": 2, "2": 2, "3": 2})
    for number in ("1", "2"):
        found.add_lane(f"epic-{number}", number, 2)
    return found


def test_what_most_hangs_on_comes_first() -> None:
    assert ranking().choose(["epic-1", "epic-2"]) == "epic-2"


def test_what_mends_a_pull_request_comes_before_it() -> None:
    found = ranking()
    found.on_event("epic-1", "pull-round", "")
    assert found.choose(["epic-1", "epic-2"]) == "epic-1"
    found.on_event("epic-1", "pending", "")
    assert found.choose(["epic-1", "epic-2"]) == "epic-2"


def test_unless_the_settings_say_otherwise() -> None:
    found = ranking(mending_first=False)
    found.on_event("epic-1", "pull-round", "")
    assert found.choose(["epic-1", "epic-2"]) == "epic-2"


def test_steps_that_are_done_hang_on_nobody() -> None:
    """Of lanes under way we have heard more than the board of the base knows."""
    found = LanePriority(2, fixes_first=True, seconds=lambda step: 1.0)
    found.update(build_graph(("1", "2"), ()), {"1": 3, "2": 2})
    found.add_lane("epic-1", "1", 3)
    found.add_lane("epic-2", "2", 2)
    assert found.choose(["epic-1", "epic-2"]) == "epic-1"
    for _ in range(2):
        found.on_event("epic-1", "accepted", "dev")
    assert found.choose(["epic-1", "epic-2"]) == "epic-2"
    found.update(build_graph(("1", "2"), ()), {"1": 3, "2": 2})
    assert found.choose(["epic-1", "epic-2"]) == "epic-2"


def test_a_lane_that_nobody_has_told_of_has_a_place_too() -> None:
    assert ranking().choose(["epic-9"]) == "epic-9"
