"""What is to be typed after `bmad autopilot`."""

from bmad_autopilot.cli.autopilot import _came, _next
from bmad_autopilot.core.delivery import DeliveryRecord
from bmad_autopilot.core.records import RunRecord
from bmad_autopilot.core.schedule import Stage
from bmad_autopilot.engine.autopilot.lanes import Held
from bmad_autopilot.engine.autopilot.roster import GivenUp
from bmad_autopilot.engine.autopilot.supervising import Ending
from bmad_autopilot.engine.delivery.plan import Plan
from bmad_autopilot.engine.lane import Lane
from bmad_autopilot.workflows.pipelines import PIPELINES


def held(epic: str, stage: Stage, pull: int) -> Held:
    lane = Lane("epic", f"epic-{epic}", epic, PIPELINES["lean"], delivery=Plan())
    return Held(f"run-{epic}", lane, RunRecord(delivery=DeliveryRecord(began=1.0, pull=pull)), stage)


def test_going_on_takes_up_the_same_epics_and_no_others() -> None:
    waits = (held("1", Stage.WAITS, 7),)
    assert [command for command, _ in _next(waits, ("7A", "auth|login"))] == [
        "bmad autopilot 7A 'auth|login'",
        "bmad pr status",
    ]
    assert [command for command, _ in _next((held("1", Stage.BLOCKED, 0),), ())] == ["bmad autopilot --continue"]


def test_going_on_is_as_many_at_once_as_before() -> None:
    waits = (held("1", Stage.HELD, 0),)
    assert _next(waits, ("7A", "--parallel", "3"))[0][0] == "bmad autopilot 7A --parallel 3"


def test_a_bound_that_was_met_with_no_lane_left_is_gone_on_from() -> None:
    assert _next((), (), cut="main") == [("bmad autopilot", "go on with all of them")]
    assert _next((), (), cut="night")[0][0] == "bmad autopilot --session night"
    assert _next((), ()) == [("bmad status", "where the project stands")]


def test_going_on_stays_in_its_session() -> None:
    lane = held("1", Stage.WAITS, 0)
    elsewhere = lane._replace(lane=lane.lane._replace(session="night"))
    assert _next((elsewhere,), ("7A",))[0][0] == "bmad autopilot 7A --session night"


def test_epics_that_could_not_be_begun_are_told_with_the_command_that_tries_again() -> None:
    given_up = (("epic-2", GivenUp("its branch is checked out elsewhere", "git switch --detach")),)
    came = _came(Ending(1, (), (), "", "", given_up), ("--parallel", "2"), "main", ())
    assert [(one.key, one.stage, one.why, one.help) for one in came.lanes] == [
        ("epic-2", "blocked", "its branch is checked out elsewhere", "git switch --detach")
    ]
    assert came.next == (("bmad autopilot --parallel 2", "once that is mended: go on"),)
    elsewhere = _came(Ending(1, (), (), "", "", given_up), (), "night", ())
    assert elsewhere.next[0][0] == "bmad autopilot --session night"
