"""Which lanes may start an agent, which may be merged, and whether another can be begun."""

from collections.abc import Callable
from typing import cast

from bmad_autopilot.core.graph import Edge, Source, build
from bmad_autopilot.core.records import RunRecord
from bmad_autopilot.core.schedule import Candidate
from bmad_autopilot.engine.autopilot.fleet import MAX_CRASHES, PAUSE, Fleet
from bmad_autopilot.engine.autopilot.lanes import Held
from bmad_autopilot.engine.seats import Seat, Slots
from bmad_autopilot.workflows.pipelines import PIPELINES

GRAPH = build(("1", "2", "3"), ())
LEFT = {"1": 2.0, "2": 2.0, "3": 2.0}


def candidate(key: str) -> Candidate:
    return Candidate(key, key.removeprefix("epic-"), "")


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


def held(key: str, *, is_delivered: bool = True) -> Held:
    return cast(Held, StandingHeld(key, is_delivered=is_delivered))


def fleet_of(agents: int, woken: Callable[[], None] = lambda: None, *begun: str) -> Fleet:
    fleet = Fleet(agents, woken, mend_first=True, seconds=lambda step: 1.0)
    fleet.to_begin((), GRAPH, LEFT)
    for key in begun:
        fleet.begin(candidate(key))
    return fleet


def test_there_is_room_until_as_many_are_developed_as_agents_may_be_at_work() -> None:
    fleet = fleet_of(2, lambda: None, "epic-1")
    assert fleet.has_room()
    fleet.begin(candidate("epic-2"))
    assert not fleet.has_room()
    fleet.came_back("epic-1", well=True)
    assert fleet.has_room()


def test_the_epic_that_most_hangs_on_is_begun_first() -> None:
    """3 waits for 2: 2 comes before 1. What has a pull request already comes before both."""
    graph = build(("1", "2", "3"), (Edge("3", "2", Source.SETTINGS),))
    epics = [candidate("epic-1"), candidate("epic-2")]
    for agents in (0, 1, 2):
        fleet = fleet_of(agents)
        assert fleet.to_begin(epics, graph, LEFT) == candidate("epic-2")
        adopted = Candidate("epic-9", "9", "", "feature/epic-9")
        assert fleet.to_begin([adopted, *epics], graph, LEFT) == adopted
    assert fleet_of(2, lambda: None, "epic-2").to_begin(epics[:1], graph, LEFT) == candidate("epic-1")


def test_a_chain_that_nothing_may_hold_up_is_begun_beside_as_many_as_there_are_agents() -> None:
    """3 waits for 2, and takes longest by far: as soon as it can be begun it is, and one in hand waits for it."""
    graph = build(("1", "2", "3"), (Edge("3", "2", Source.SETTINGS),))
    left = {"1": 9.0, "2": 1.0, "3": 30.0}
    woken: list[int] = []
    fleet = fleet_of(1 + 1, lambda: woken.append(1))
    assert fleet.to_begin([candidate("epic-1"), candidate("epic-2")], graph, left) == candidate("epic-2")
    for key in ("epic-1", "epic-2", "epic-4"):
        fleet.begin(candidate(key))
    assert not fleet.has_room()
    fleet.heard("epic-2", "delivering", {})
    assert woken
    assert fleet.has_room()
    assert fleet.to_begin([candidate("epic-3")], graph, left) == candidate("epic-3")
    short = {**left, "3": 1.0}
    assert fleet.to_begin([candidate("epic-3")], graph, short) is None


def test_whoever_has_little_left_to_do_makes_room_for_it() -> None:
    """What is left grows less with each step that is accepted, until the chain is most of it."""
    woken: list[int] = []
    fleet = fleet_of(2, lambda: woken.append(1))
    fleet.to_begin((), GRAPH, {"1": 30.0, "2": 30.0, "3": 30.0})
    fleet.begin(candidate("epic-1"))
    fleet.begin(candidate("epic-2"))
    for lane in ("epic-1", "epic-2") * 13:
        assert not fleet.has_room()
        assert not woken
        fleet.heard(lane, "accepted", {"step": "dev"})
    fleet.heard("epic-1", "accepted", {"step": "dev"})
    assert fleet.has_room()
    assert woken


def test_who_is_delivered_or_rests_makes_room_and_tells_so_once() -> None:
    woken: list[int] = []
    fleet = fleet_of(2, lambda: woken.append(1), "epic-1", "epic-2")
    fleet.heard("epic-1", "resting", {})
    assert fleet.has_room()
    assert (fleet.has_news(), fleet.has_news(), len(woken)) == (True, False, 1)
    fleet.heard("epic-1", "call", {})
    assert not fleet.has_room()
    fleet.heard("epic-2", "delivering", {})
    assert fleet.has_room()
    assert len(woken) == 2
    fleet.go_on(held("epic-2"))
    assert fleet.has_room()
    fleet.go_on(held("epic-3", is_delivered=False))
    assert not fleet.has_room()


def test_who_rests_makes_no_room_for_one_that_would_wait_for_the_same_account() -> None:
    free = [False]
    fleet = Fleet(1, lambda: None, mend_first=True, seconds=lambda step: 1.0, can_call=lambda: free[0])
    fleet.begin(candidate("epic-1"))
    fleet.heard("epic-1", "resting", {})
    assert not fleet.has_room()
    free[0] = True
    assert fleet.has_room()


def test_agents_are_limited_and_a_slot_passes_on() -> None:
    fleet = fleet_of(1, lambda: None, "epic-1", "epic-2")
    first, second = fleet.seats("epic-1").slot, fleet.seats("epic-2").slot
    woken: list[int] = []
    assert first.take()
    assert not second.is_free()
    assert not second.take()
    second.want(lambda: woken.append(1))
    assert not woken
    first.give_back()
    assert woken == [1]
    assert second.take()
    assert first.take(anyway=True), "its agent is at work, whoever began that"


def test_whose_turn_comes_is_known_until_it_is_gone_on_with() -> None:
    """The one whose turn comes may be at work just then, and stand behind others: it must not be lost."""
    woken: list[int] = []
    fleet = fleet_of(3, lambda: woken.append(1))
    turns = {key: fleet.seats(key).turn for key in ("epic-1", "epic-2", "epic-3")}
    assert turns["epic-1"].take()
    turns["epic-3"].want(lambda: None)
    turns["epic-2"].want(lambda: None)
    assert fleet.turned() == frozenset()
    turns["epic-1"].give_back()
    assert [fleet.turned(), fleet.turned()] == [frozenset({"epic-3"})] * 2
    assert woken
    fleet.go_on(held("epic-3"))
    assert fleet.turned() == frozenset()
    assert not turns["epic-2"].take(), "the other one has waited longer"
    assert turns["epic-3"].take()


def test_a_lane_is_tried_again_a_few_times_in_a_row() -> None:
    fleet = fleet_of(1)
    tries = [fleet.tries_again("epic-1") for _ in range(MAX_CRASHES)]
    assert tries == [True] * (MAX_CRASHES - 1) + [False]
    assert fleet.tries_again("epic-2")
    fleet.heard("epic-2", "commit", {"label": "done"})
    assert [fleet.tries_again("epic-2") for _ in range(MAX_CRASHES)] == tries


def test_each_time_it_is_waited_longer_for_until_something_was_done() -> None:
    fleet = fleet_of(1)
    pauses = [fleet.pause("epic-1")]
    for _ in range(2):
        fleet.tries_again("epic-1")
        pauses.append(fleet.pause("epic-1"))
    assert pauses == [0.0, PAUSE, 3 * PAUSE]
    assert fleet.pause("epic-2") == 0.0
    fleet.heard("epic-1", "commit", {"label": "done"})
    assert fleet.pause("epic-1") == 0.0


def test_who_came_back_well_in_between_is_not_counted_as_breaking_off_in_a_row() -> None:
    """A delivered lane is looked at for days: it makes no calls, and commits nothing."""
    fleet = fleet_of(2)
    for _ in range(2 * MAX_CRASHES):
        assert fleet.tries_again("epic-1")
        fleet.came_back("epic-1", well=False)
        assert fleet.pause("epic-1") == PAUSE
        fleet.came_back("epic-1", well=True)
        assert fleet.pause("epic-1") == 0.0


def test_who_is_parked_has_no_turn_any_more() -> None:
    fleet = fleet_of(2)
    assert fleet.seats("epic-1").turn.take()
    for _ in range(MAX_CRASHES):
        fleet.tries_again("epic-1")
    assert fleet.seats("epic-2").turn.take()


def test_one_at_a_time_nothing_holds_anybody_up() -> None:
    seats = fleet_of(0).seats("epic-1")
    assert seats.slot.take()
    assert fleet_of(0).seats("epic-2").slot.take()
    assert seats.turn.is_free()


def test_who_wants_a_free_slot_is_woken_at_once() -> None:
    woken: list[int] = []
    Seat(Slots(1, lambda lanes: lanes[0]), "a").want(lambda: woken.append(1))
    assert woken == [1]
