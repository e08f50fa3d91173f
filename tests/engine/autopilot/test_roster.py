"""What became of each epic in one flight."""

import pytest

from bmad_autopilot.core.delivery import DeliveryRecord
from bmad_autopilot.core.records import RunRecord
from bmad_autopilot.core.schedule import Candidate, Stage
from bmad_autopilot.engine.autopilot.lanes import Held
from bmad_autopilot.engine.autopilot.roster import GivenUp, Roster
from bmad_autopilot.engine.delivery.plan import Plan
from bmad_autopilot.engine.driving import RunEnd
from bmad_autopilot.engine.lane import Lane
from bmad_autopilot.workflows.pipelines import PIPELINES

LANE = Lane("epic", "epic-1", "1", PIPELINES["lean"], delivery=Plan())
AT_WORK = Held("run-1", LANE, RunRecord(), Stage.WORK)
EPIC = Candidate("epic-1", "1", "Accounts")


def begun(*recorded: Held) -> Roster:
    roster = Roster(lambda: list(recorded))
    roster.begin(EPIC)
    return roster


def ended(status: str, merged: str = "") -> RunEnd:
    record = RunRecord(delivery=DeliveryRecord(began=1.0, merged=merged))
    return RunEnd(status, record, "run-1", LANE)


def test_what_broke_off_with_a_run_goes_on_from_its_records() -> None:
    roster = begun(AT_WORK)
    roster.broke_off("epic-1", "no disk", again=True)
    assert [(held.stage, held.why) for held in roster.lanes] == [(Stage.WORK, "no disk")]
    assert (roster.begun, roster.given_up, roster.is_blocked) == ({}, {}, False)


def test_and_is_blocked_where_it_is_not_tried_again() -> None:
    roster = begun(AT_WORK)
    roster.broke_off("epic-1", "no disk", again=False)
    assert [held.stage for held in roster.lanes] == [Stage.BLOCKED]
    assert (roster.begun, roster.given_up, roster.is_blocked) == ({}, {}, True)


def test_before_it_had_a_run_it_may_be_begun_again() -> None:
    roster = begun()
    roster.broke_off("epic-1", "no disk", again=True)
    assert (roster.lanes, roster.begun, roster.is_blocked) == ([], {}, False)


def test_what_could_not_be_begun_stays_begun_so_that_nothing_begins_without_it() -> None:
    roster = begun()
    roster.broke_off("epic-1", "no disk", "make room", again=False)
    assert (roster.begun, roster.given_up) == ({"epic-1": "1"}, {"epic-1": GivenUp("no disk", "make room")})
    assert roster.is_blocked


@pytest.mark.parametrize(("status", "merged"), [("completed", "abc"), ("not-done", "")])
def test_what_is_over_is_not_begun_again(status: str, merged: str) -> None:
    roster = begun()
    roster.lanes = [AT_WORK]
    roster.took(ended(status, merged))
    assert (roster.lanes, roster.begun, roster.over) == ([], {}, ["epic-1"])
    assert roster.merged == (["epic-1"] if merged else [])


def test_what_is_driven_is_not_idle_and_what_moved_can_go_on() -> None:
    roster = begun()
    roster.took(ended("pending"))
    assert roster.idle(["epic-1"]) == []
    assert [held.stage for held in roster.idle([])] == [Stage.WAITS]
    roster.move({"run-1"})
    assert [held.stage for held in roster.lanes] == [Stage.MOVED]


def test_who_is_held_up_by_another_is_looked_at_again_once_that_has_been_driven() -> None:
    """One that waits with all of its work committed waits for something else."""
    roster = begun()
    delivered = RunRecord(delivery=DeliveryRecord(began=1.0))
    waits = Held("run-2", LANE._replace(key="epic-2", epic="2"), delivered, Stage.WAITS, "its checks")
    wants = Held("run-3", LANE._replace(key="epic-3", epic="3"), RunRecord(), Stage.WORK)
    roster.lanes = [waits, wants]
    roster.hold_up(wants, "the work tree: taken", 60.0)
    assert [(one.stage, one.until) for one in roster.lanes] == [(Stage.WAITS, None), (Stage.WAITS, 60.0)]
    roster.took(ended("pending"))
    assert [one.stage for one in roster.lanes] == [Stage.WAITS, Stage.WORK, Stage.WAITS]
