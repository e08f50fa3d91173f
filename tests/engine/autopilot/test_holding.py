"""Lanes that somebody at another terminal has parked."""

from pathlib import Path

import pytest

from bmad_autopilot.core.records import RunRecord
from bmad_autopilot.core.rules import Phase
from bmad_autopilot.core.schedule import Stage, choose_lane
from bmad_autopilot.engine.autopilot.budgets import Bounds, Budgets
from bmad_autopilot.engine.autopilot.holding import Orders, as_asked, first_asked, parked
from bmad_autopilot.engine.autopilot.lanes import Held
from bmad_autopilot.engine.lane import Lane
from bmad_autopilot.runs.requests import Ask, clear_request, put_request
from bmad_autopilot.workflows.pipelines import PIPELINES


@pytest.fixture
def lanes(tmp_path: Path) -> list[Held]:
    """One of each stage."""
    found = []
    for number, stage in enumerate((Stage.WORK, Stage.WAITS, Stage.ASKS, Stage.BLOCKED), 1):
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        lane = Lane("epic", f"epic-{number}", str(number), PIPELINES["lean"])
        found.append(Held(str(folder), lane, RunRecord(), stage, "its own reason"))
    return found


def stages(lanes: list[Held]) -> list[str]:
    return [held.stage.value for held in lanes]


def test_what_nobody_has_parked_stays_as_it_is(lanes: list[Held]) -> None:
    assert as_asked(lanes, ()) == lanes


def test_it_is_parked_until_the_request_is_taken_back(lanes: list[Held]) -> None:
    for held in lanes:
        put_request(held.folder, Ask.PAUSE)
    found = as_asked(lanes, ["epic-1"])
    assert stages(found) == ["work", "held", "held", "blocked"], (
        "who is driven sees to it; given up stays given up"
    )
    assert found[1].why == "paused: bmad resume --run run-2"
    assert as_asked(found, ["epic-1"]) == found
    clear_request(found[1].folder)
    again = as_asked(found, ["epic-1"])
    assert stages(again) == ["work", "work", "held", "blocked"]
    assert again[1].why == ""


def test_nothing_is_done_about_one_that_is_parked_and_the_others_go_on(lanes: list[Held]) -> None:
    put_request(lanes[0].folder, Ask.STOP)
    views = [held.view() for held in as_asked(lanes[:2], ())]
    assert choose_lane(views, (), most=5, room=True).phase is Phase.WAIT_COPILOT
    assert choose_lane(views[:1], (), most=5, room=True).phase is Phase.BLOCKED


def test_of_several_that_are_parked_the_one_that_leaves_soonest_says_how_it_ends(lanes: list[Held]) -> None:
    assert first_asked(lanes) is None
    put_request(lanes[0].folder, Ask.PAUSE)
    assert first_asked(as_asked(lanes, ())) is Ask.PAUSE
    put_request(lanes[1].folder, Ask.STOP)
    assert first_asked(as_asked(lanes, ())) is Ask.STOP


def test_parked_with_all_others_what_asks_and_what_waits_keeps_its_own_reason(lanes: list[Held]) -> None:
    found = [parked(held, "--until 07:00 is reached") for held in lanes]
    assert stages(found) == ["held", "waits", "asks", "blocked"]
    assert [held.why for held in found] == ["--until 07:00 is reached", *["its own reason"] * 3]


def test_what_holds_for_all_of_them(tmp_path: Path) -> None:
    spent = Budgets(Bounds(until=0.0, clock="--max-hours 1"))
    orders = Orders(str(tmp_path), Budgets(Bounds()))
    assert (orders.stops(), orders.is_held_back()) == (0, False)
    assert Orders(str(tmp_path), spent).is_held_back()
    for ask, stops in ((Ask.PAUSE, 0), (Ask.STOP, 1), (Ask.STOP_NOW, 2)):
        put_request(str(tmp_path), ask)
        assert (orders.stops(), orders.is_held_back()) == (stops, True)
