"""What a call is told of the calls before it."""

from typing import Any, cast

import pytest

from bmad_autopilot.core.facts import Facts
from bmad_autopilot.core.records import CallRecord, RunRecord, StepRecord, StoryRecord
from bmad_autopilot.core.rules import Action, Rule
from bmad_autopilot.engine.doors import Caller, CallOrder, Doors
from bmad_autopilot.engine.lane import Lane
from bmad_autopilot.engine.looking import Look
from bmad_autopilot.engine.performing import perform
from bmad_autopilot.engine.position import Position
from bmad_autopilot.workflows.pipelines import DEV, PIPELINES, Step

CALL = Rule("call", {}, Action.CALL)


class Started:
    """A loop that starts nothing, and keeps what it was to start."""

    def __init__(self) -> None:
        self.run = RunRecord()
        self.lane = Lane("story", "1-1-x", "1", PIPELINES["lean"])
        self.doors = cast(Doors, self)
        self.orders: list[CallOrder] = []
        self.waited_for = ""

    def note(self, kind: str, /, **data: Any) -> None:
        """Nobody reads it."""

    def caller(self, step: Step) -> Caller:
        return Caller("stub")

    def start(self, order: CallOrder) -> None:
        self.orders.append(order)


def order_after(*ended: dict[str, str]) -> CallOrder:
    loop, story = Started(), StoryRecord("1-1-x")
    record = StepRecord(1, DEV.name, 1, calls=[CallRecord(n, ended=one) for n, one in enumerate(ended, 1)])
    perform(loop, Look(Facts(), story=story, at=Position(DEV, record)), CALL)
    (order,) = loop.orders
    return order


LACKING = {"finding": "lacking", "message": "no test"}
REFUSED = {"finding": "refused", "message": "You've hit your limit"}


def test_a_call_after_a_failed_one_is_told_what_went_wrong() -> None:
    order = order_after(LACKING)
    assert (order.id.attempt, order.failure, order.cut_short) == (2, "no test", False)


def test_a_call_after_a_refused_one_goes_on_from_what_it_left() -> None:
    order = order_after(REFUSED)
    assert (order.id.attempt, order.failure, order.cut_short) == (2, "", True)


@pytest.mark.parametrize("refusals", [1, 2])
def test_what_was_found_wrong_before_a_limit_is_told_after_it(refusals: int) -> None:
    order = order_after(LACKING, *[REFUSED] * refusals)
    assert (order.failure, order.cut_short) == ("no test", True)
    assert order_after(REFUSED, LACKING).cut_short is False
