"""The lanes that are not over: in the order in which they were begun, whichever was driven last."""

from bmad_autopilot.core.delivery import DeliveryRecord
from bmad_autopilot.core.records import RunRecord
from bmad_autopilot.core.schedule import Stage
from bmad_autopilot.engine.autopilot.lanes import Held, last_pending, placed
from bmad_autopilot.engine.delivery.plan import Plan
from bmad_autopilot.engine.lane import Lane
from bmad_autopilot.workflows.pipelines import PIPELINES


def held(epic: int, *, began: float = 1.0, merged: str = "") -> Held:
    lane = Lane("epic", f"epic-{epic}", str(epic), PIPELINES["lean"], delivery=Plan())
    record = RunRecord(delivery=DeliveryRecord(began=began, merged=merged))
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
