"""The lanes that are not over: in the order in which they were begun, whichever was driven last."""

from pathlib import Path
from typing import cast

import pytest

from bmad_autopilot.core.delivery import DeliveryRecord, PullRound
from bmad_autopilot.core.records import CallRecord, RunRecord, StepRecord, StoryRecord
from bmad_autopilot.core.schedule import Stage
from bmad_autopilot.engine.autopilot.lanes import Held, after, last_pending, placed
from bmad_autopilot.engine.autopilot.watching import moved_lanes
from bmad_autopilot.engine.delivery.plan import Plan
from bmad_autopilot.engine.driving import RunEnd
from bmad_autopilot.engine.lane import Lane
from bmad_autopilot.github.forge import Forge, ForgeError, Trouble
from bmad_autopilot.github.pulls import PullMark, PullState
from bmad_autopilot.workflows.pipelines import PIPELINES


def held(epic: int, *, began: float = 1.0, merged: str = "") -> Held:
    lane = Lane("epic", f"epic-{epic}", str(epic), PIPELINES["lean"], delivery=Plan())
    record = RunRecord(delivery=DeliveryRecord(began=began, merged=merged, pull=epic))
    return Held(f"run-{epic}", lane, record, Stage.WAITS)


def test_the_next_epic_stands_on_the_one_begun_last_and_not_on_the_one_driven_last() -> None:
    lanes = [held(1), held(2)]
    driven = placed(lanes, held(1)._replace(why="its checks"))
    assert [one.lane.key for one in driven] == ["epic-1", "epic-2"]
    assert driven[0].why == "its checks"
    standing = last_pending(driven)
    assert standing is not None
    assert standing.lane.key == "epic-2"


def test_a_new_one_comes_last() -> None:
    assert [one.lane.key for one in placed([held(1)], held(2))] == ["epic-1", "epic-2"]


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
        def watch(self, numbers: list[int]) -> list[PullMark]:
            return [PullMark(one, PullState.OPEN, "feature/epic-1", "main", "h1", "mark") for one in numbers]

    away = held(1)._replace(until=60.0)
    away.record.delivery.pull = 1
    forge = cast(Forge, Hub())
    assert moved_lanes([away], 10.0, forge, lambda _: None) == set()
    assert moved_lanes([away], 60.0, forge, lambda _: None) == {"run-1"}
    assert moved_lanes([away._replace(fingerprint="old")], 10.0, forge, lambda _: None) == {"run-1"}
    assert moved_lanes([away._replace(fingerprint="mark")], 10.0, forge, lambda _: None) == set()


class Troubled:
    """A forge whose answer to a watch is no answer."""

    def __init__(self, trouble: Trouble) -> None:
        self.trouble = trouble

    def watch(self, numbers: list[int]) -> list[PullMark]:
        raise ForgeError(self.trouble, "no luck", hint="gh auth login")


@pytest.mark.parametrize("trouble", [Trouble.AWAY, Trouble.LIMIT, Trouble.ODD])
def test_an_answer_that_says_nothing_is_asked_for_again_later(trouble: Trouble) -> None:
    waited: list[float] = []
    one = held(1)._replace(fingerprint="mark")
    assert moved_lanes([one], 10.0, cast(Forge, Troubled(trouble)), waited.append) == set()
    assert waited == [70.0]


@pytest.mark.parametrize("trouble", [Trouble.LOGIN, Trouble.DENIED, Trouble.MISSING])
def test_what_keeps_everything_from_being_watched_is_said(trouble: Trouble) -> None:
    one = held(1)._replace(fingerprint="mark")
    with pytest.raises(ForgeError) as found:
        moved_lanes([one], 10.0, cast(Forge, Troubled(trouble)), lambda _: None)
    assert found.value.hint == "gh auth login"


def test_one_of_which_nothing_is_heard_is_looked_at_by_itself() -> None:
    class Hub:
        def watch(self, numbers: list[int]) -> list[PullMark]:
            return [PullMark(2, PullState.OPEN, "feature/epic-2", "main", "h1", "mark")]

    waits = [held(1)._replace(fingerprint="mark"), held(2)._replace(fingerprint="mark")]
    assert moved_lanes(waits, 10.0, cast(Forge, Hub()), lambda _: None) == {"run-1"}


@pytest.mark.parametrize("status", ["left", "paused"])
def test_what_somebody_has_stopped_asks_nothing(tmp_path: Path, status: str) -> None:
    for began, stage in ((0.0, Stage.WORK), (1.0, Stage.MOVED)):
        one = held(1, began=began)
        assert after(RunEnd(status, one.record, str(tmp_path), one.lane)).stage is stage
