"""The lanes that are not over: in the order in which they were begun, whichever was driven last."""

from pathlib import Path
from typing import cast

import pytest

from bmad_autopilot.core.forge_errors import ForgeError, ForgeErrorKind
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.core.run_ending import RunEnding
from bmad_autopilot.core.run_record import (
    CallRecord,
    DeliveryRecord,
    PullRound,
    RunRecord,
    StepRecord,
    StoryRecord,
)
from bmad_autopilot.core.scheduling import EpicCandidate, LaneStage, choose_lane
from bmad_autopilot.core.transitions import EpicPhase
from bmad_autopilot.engine.autopilot.lanes import (
    ControlRequests,
    FailedStart,
    LaneState,
    LaneTable,
    RunFolders,
    apply_requests,
    lane_after_run,
    last_pending,
    park_lane,
    replace_lane,
    strongest_request,
)
from bmad_autopilot.engine.autopilot.monitor import ready_lanes
from bmad_autopilot.engine.autopilot.options import Bounds, Budgets
from bmad_autopilot.engine.lane import DeliveryPlan, Lane
from bmad_autopilot.engine.runner import RunEnd
from bmad_autopilot.github.forge import Forge, PullState, PullSummary
from bmad_autopilot.runs.supervisor_lock import ControlRequest, clear_request, read_request, write_request
from bmad_autopilot.workflows.workflow import PIPELINES


def held(epic: int, *, began: float = 1.0, merged: str = "") -> LaneState:
    lane = Lane(LaneScope.EPIC, f"epic-{epic}", str(epic), PIPELINES["lean"], delivery=DeliveryPlan())
    record = RunRecord(delivery=DeliveryRecord(started_at=began, merged=merged, pull=epic))
    return LaneState(f"run-{epic}", lane, record, LaneStage.WAITS)


def test_the_next_epic_stands_on_the_one_begun_last_and_not_on_the_one_driven_last() -> None:
    lanes = [held(1), held(2)]
    driven = replace_lane(lanes, held(1)._replace(why="its checks"))
    assert [one.lane.key for one in driven] == ["epic-1", "epic-2"]
    assert driven[0].why == "its checks"
    standing = last_pending(driven)
    assert standing is not None
    assert standing.lane.key == "epic-2"


def test_a_new_one_comes_last() -> None:
    assert [one.lane.key for one in replace_lane([held(1)], held(2))] == ["epic-1", "epic-2"]


def test_nothing_stands_on_what_is_merged_or_not_delivered_yet() -> None:
    assert last_pending([held(1, merged="abc"), held(2, began=0.0)]) is None
    assert last_pending([]) is None


def test_a_round_of_mending_lies_in_the_checkout() -> None:
    one = held(1)
    assert (one.is_at_work, one.view().is_delivered) == (False, True)
    one.record.delivery.rounds.append(PullRound("epic-1.pr-1", "points", [], [], ""))
    one.record.stories["epic-1.pr-1"] = StoryRecord("epic-1.pr-1", steps=[StepRecord(1, "fix-issues", 1)])
    assert (one.is_at_work, one.is_busy, one.view().is_delivered) == (True, False, False)
    one.record.stories["epic-1.pr-1"].steps[0].calls.append(CallRecord(1))
    assert one.view().is_busy


def test_what_waits_for_the_forge_itself_is_not_looked_at_before_its_time() -> None:
    """Else whoever is told to come back later asks again at once."""

    class Hub:
        def watch(self, numbers: list[int]) -> list[PullSummary]:
            return [PullSummary(one, PullState.OPEN, "feature/epic-1", "main", "h1", "mark") for one in numbers]

    away = held(1)._replace(until=60.0)
    away.record.delivery.pull = 1
    forge = cast(Forge, Hub())
    assert ready_lanes([away], 10.0, forge, lambda _: None) == set()
    assert ready_lanes([away], 60.0, forge, lambda _: None) == {"run-1"}
    assert ready_lanes([away._replace(fingerprint="old")], 10.0, forge, lambda _: None) == {"run-1"}
    assert ready_lanes([away._replace(fingerprint="mark")], 10.0, forge, lambda _: None) == set()


class Troubled:
    """A forge whose answer to a watch is no answer."""

    def __init__(self, trouble: ForgeErrorKind) -> None:
        self.trouble = trouble

    def watch(self, numbers: list[int]) -> list[PullSummary]:
        raise ForgeError(self.trouble, "no luck", hint="gh auth login")


@pytest.mark.parametrize(
    "trouble", [ForgeErrorKind.UNAVAILABLE, ForgeErrorKind.LIMIT, ForgeErrorKind.UNRECOGNIZED]
)
def test_an_answer_that_says_nothing_is_asked_for_again_later(trouble: ForgeErrorKind) -> None:
    waited: list[float] = []
    one = held(1)._replace(fingerprint="mark")
    assert ready_lanes([one], 10.0, cast(Forge, Troubled(trouble)), waited.append) == set()
    assert waited == [70.0]


@pytest.mark.parametrize("trouble", [ForgeErrorKind.LOGIN, ForgeErrorKind.DENIED, ForgeErrorKind.MISSING])
def test_what_keeps_everything_from_being_watched_is_said(trouble: ForgeErrorKind) -> None:
    one = held(1)._replace(fingerprint="mark")
    with pytest.raises(ForgeError) as found:
        ready_lanes([one], 10.0, cast(Forge, Troubled(trouble)), lambda _: None)
    assert found.value.hint == "gh auth login"


def test_one_of_which_nothing_is_heard_is_looked_at_by_itself() -> None:
    class Hub:
        def watch(self, numbers: list[int]) -> list[PullSummary]:
            return [PullSummary(2, PullState.OPEN, "feature/epic-2", "main", "h1", "mark")]

    waits = [held(1)._replace(fingerprint="mark"), held(2)._replace(fingerprint="mark")]
    assert ready_lanes(waits, 10.0, cast(Forge, Hub()), lambda _: None) == {"run-1"}


@pytest.mark.parametrize("status", [RunEnding.DETACHED, RunEnding.PAUSED])
def test_what_somebody_has_stopped_asks_nothing(tmp_path: Path, status: RunEnding) -> None:
    for began, stage in ((0.0, LaneStage.WORK), (1.0, LaneStage.MOVED)):
        one = held(1, began=began)
        assert lane_after_run(RunEnd(status, one.record, str(tmp_path), one.lane), "").stage is stage


# What became of each epic in one flight.

LANE = Lane(LaneScope.EPIC, "epic-1", "1", PIPELINES["lean"], delivery=DeliveryPlan())
AT_WORK = LaneState("run-1", LANE, RunRecord(), LaneStage.WORK)
EPIC = EpicCandidate("epic-1", "1", "Accounts")


def begun(*recorded: LaneState) -> LaneTable:
    roster = LaneTable(Recorded(*recorded), [])
    roster.start(EPIC)
    return roster


class Recorded(RunFolders):
    """Run folders that hold these lanes."""

    def __init__(self, *lanes: LaneState) -> None:
        super().__init__("", "")
        self._lanes = lanes

    def unfinished(self, *, resume_all: bool) -> list[LaneState]:
        return list(self._lanes)


def ended(status: str, merged: str = "") -> RunEnd:
    record = RunRecord(delivery=DeliveryRecord(started_at=1.0, merged=merged))
    return RunEnd(RunEnding(status), record, "run-1", LANE)


def test_what_broke_off_with_a_run_goes_on_from_its_records() -> None:
    roster = begun(AT_WORK)
    roster.record_failure("epic-1", "no disk", retry=True)
    assert [(held.stage, held.why) for held in roster.lanes] == [(LaneStage.WORK, "no disk")]
    assert (roster.starting, roster.failed_starts, roster.is_blocked) == ({}, {}, False)


def test_and_is_blocked_where_it_is_not_tried_again() -> None:
    roster = begun(AT_WORK)
    roster.record_failure("epic-1", "no disk", retry=False)
    assert [held.stage for held in roster.lanes] == [LaneStage.BLOCKED]
    assert (roster.starting, roster.failed_starts, roster.is_blocked) == ({}, {}, True)


def test_before_it_had_a_run_it_may_be_begun_again() -> None:
    roster = begun()
    roster.record_failure("epic-1", "no disk", retry=True)
    assert (roster.lanes, roster.starting, roster.is_blocked) == ([], {}, False)


def test_what_could_not_be_begun_stays_begun_so_that_nothing_begins_without_it() -> None:
    roster = begun()
    roster.record_failure("epic-1", "no disk", "make room", retry=False)
    assert (roster.starting, roster.failed_starts) == (
        {"epic-1": "1"},
        {"epic-1": FailedStart("no disk", "make room")},
    )
    assert roster.is_blocked


@pytest.mark.parametrize(("status", "merged"), [("completed", "abc"), ("not-done", "")])
def test_what_is_over_is_not_begun_again(status: str, merged: str) -> None:
    roster = begun()
    roster.lanes = [AT_WORK]
    roster.record_end(ended(status, merged))
    assert (roster.lanes, roster.starting, roster.finished) == ([], {}, ["epic-1"])
    assert roster.merged == (["epic-1"] if merged else [])


def test_what_is_driven_is_not_idle_and_what_moved_can_go_on() -> None:
    roster = begun()
    roster.record_end(ended("pending"))
    assert roster.idle(["epic-1"]) == []
    assert [held.stage for held in roster.idle([])] == [LaneStage.WAITS]
    roster.make_ready({"run-1"})
    assert [held.stage for held in roster.lanes] == [LaneStage.MOVED]


def test_who_is_held_up_by_another_is_looked_at_again_once_that_has_been_driven() -> None:
    """One that waits with all of its work committed waits for something else."""
    roster = begun()
    delivered = RunRecord(delivery=DeliveryRecord(started_at=1.0))
    waits = LaneState("run-2", LANE._replace(key="epic-2", epic="2"), delivered, LaneStage.WAITS, "its checks")
    wants = LaneState("run-3", LANE._replace(key="epic-3", epic="3"), RunRecord(), LaneStage.WORK)
    roster.lanes = [waits, wants]
    roster.make_wait(wants, "the work tree: taken", 60.0)
    assert [(one.stage, one.until) for one in roster.lanes] == [(LaneStage.WAITS, None), (LaneStage.WAITS, 60.0)]
    roster.record_end(ended("pending"))
    assert [one.stage for one in roster.lanes] == [LaneStage.WAITS, LaneStage.WORK, LaneStage.WAITS]


# Lanes that somebody at another terminal has parked.


@pytest.fixture
def lanes(tmp_path: Path) -> list[LaneState]:
    """One of each stage."""
    found = []
    for number, stage in enumerate((LaneStage.WORK, LaneStage.WAITS, LaneStage.ASKS, LaneStage.BLOCKED), 1):
        folder = tmp_path / f"run-{number}"
        folder.mkdir()
        lane = Lane(LaneScope.EPIC, f"epic-{number}", str(number), PIPELINES["lean"])
        found.append(LaneState(str(folder), lane, RunRecord(), stage, "its own reason"))
    return found


def stages(lanes: list[LaneState]) -> list[str]:
    return [held.stage.value for held in lanes]


def test_what_nobody_has_parked_stays_as_it_is(lanes: list[LaneState]) -> None:
    assert apply_requests(lanes, (), read_request) == lanes


def test_it_is_parked_until_the_request_is_taken_back(lanes: list[LaneState]) -> None:
    for held in lanes:
        write_request(held.folder, ControlRequest.PAUSE)
    found = apply_requests(lanes, ["epic-1"], read_request)
    assert stages(found) == ["work", "held", "held", "blocked"], (
        "who is driven sees to it; given up stays given up"
    )
    assert found[1].why == "paused: bmad resume --run run-2"
    assert apply_requests(found, ["epic-1"], read_request) == found
    clear_request(found[1].folder)
    again = apply_requests(found, ["epic-1"], read_request)
    assert stages(again) == ["work", "work", "held", "blocked"]
    assert again[1].why == ""


def test_nothing_is_done_about_one_that_is_parked_and_the_others_go_on(lanes: list[LaneState]) -> None:
    write_request(lanes[0].folder, ControlRequest.STOP)
    views = [held.view() for held in apply_requests(lanes[:2], (), read_request)]
    assert choose_lane(views, (), max_open=5, has_room=True).phase is EpicPhase.WAIT_COPILOT
    assert choose_lane(views[:1], (), max_open=5, has_room=True).phase is EpicPhase.BLOCKED


def test_of_several_that_are_parked_the_one_that_leaves_soonest_says_how_it_ends(lanes: list[LaneState]) -> None:
    assert strongest_request(lanes, read_request) is None
    write_request(lanes[0].folder, ControlRequest.PAUSE)
    assert strongest_request(apply_requests(lanes, (), read_request), read_request) is ControlRequest.PAUSE
    write_request(lanes[1].folder, ControlRequest.STOP)
    assert strongest_request(apply_requests(lanes, (), read_request), read_request) is ControlRequest.STOP


def test_parked_with_all_others_what_asks_and_what_waits_keeps_its_own_reason(lanes: list[LaneState]) -> None:
    found = [park_lane(held, "--until 07:00 is reached") for held in lanes]
    assert stages(found) == ["held", "waits", "asks", "blocked"]
    assert [held.why for held in found] == ["--until 07:00 is reached", *["its own reason"] * 3]


def test_what_holds_for_all_of_them(tmp_path: Path) -> None:
    spent = Budgets(Bounds(until=0.0, clock="--max-hours 1"))
    orders = ControlRequests(read_request, str(tmp_path), Budgets(Bounds()))
    assert (orders.stops(), orders.is_paused()) == (0, False)
    assert ControlRequests(read_request, str(tmp_path), spent).is_paused()
    for ask, stops in ((ControlRequest.PAUSE, 0), (ControlRequest.STOP, 1), (ControlRequest.STOP_NOW, 2)):
        write_request(str(tmp_path), ask)
        assert (orders.stops(), orders.is_paused()) == (stops, True)
