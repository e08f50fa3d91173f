"""What is to be typed after `bmad autopilot`."""

from bmad_autopilot.cli.autopilot import _next_commands, _report
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.core.run_record import DeliveryRecord, RunRecord
from bmad_autopilot.core.scheduling import LaneStage
from bmad_autopilot.engine.autopilot.lanes import FailedStart, LaneState
from bmad_autopilot.engine.autopilot.supervisor import AutopilotResult
from bmad_autopilot.engine.lane import DeliveryPlan, Lane
from bmad_autopilot.workflows.workflow import PIPELINES


def held(epic: str, stage: LaneStage, pull: int) -> LaneState:
    lane = Lane(LaneScope.EPIC, f"epic-{epic}", epic, PIPELINES["lean"], delivery=DeliveryPlan())
    return LaneState(f"run-{epic}", lane, RunRecord(delivery=DeliveryRecord(started_at=1.0, pull=pull)), stage)


def test_going_on_takes_up_the_same_epics_and_no_others() -> None:
    waits = (held("1", LaneStage.WAITS, 7),)
    assert [command for command, _ in _next_commands(waits, ("7A", "auth|login"))] == [
        "bmad autopilot 7A 'auth|login'",
        "bmad pr status",
    ]
    assert [command for command, _ in _next_commands((held("1", LaneStage.BLOCKED, 0),), ())] == [
        "bmad autopilot --continue"
    ]


def test_going_on_is_as_many_at_once_as_before() -> None:
    waits = (held("1", LaneStage.PARKED, 0),)
    assert _next_commands(waits, ("7A", "--parallel", "3"))[0][0] == "bmad autopilot 7A --parallel 3"


def test_a_bound_that_was_met_with_no_lane_left_is_gone_on_from() -> None:
    assert _next_commands((), (), open_session="main") == [("bmad autopilot", "go on with all of them")]
    assert _next_commands((), (), open_session="night")[0][0] == "bmad autopilot --session night"
    assert _next_commands((), ()) == [("bmad status", "where the project stands")]


def test_going_on_stays_in_its_session() -> None:
    lane = held("1", LaneStage.WAITS, 0)
    elsewhere = lane._replace(lane=lane.lane._replace(session="night"))
    assert _next_commands((elsewhere,), ("7A",))[0][0] == "bmad autopilot 7A --session night"


def test_epics_that_could_not_be_begun_are_told_with_the_command_that_tries_again() -> None:
    given_up = (("epic-2", FailedStart("its branch is checked out elsewhere", "git switch --detach")),)
    came = _report(AutopilotResult(1, (), (), "", "", given_up), ("--parallel", "2"), "main", ())
    assert [(one.key, one.stage, one.why, one.help) for one in came.lanes] == [
        ("epic-2", "blocked", "its branch is checked out elsewhere", "git switch --detach")
    ]
    assert came.next == (("bmad autopilot --parallel 2", "once that is mended: go on"),)
    elsewhere = _report(AutopilotResult(1, (), (), "", "", given_up), (), "night", ())
    assert elsewhere.next[0][0] == "bmad autopilot --session night"
