"""What a call is told of the calls before it."""

from collections.abc import Mapping
from typing import Any

import pytest

from bmad_autopilot.board.sprint_status import Row
from bmad_autopilot.core.facts import Facts
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.core.run_record import CallRecord, CheckRecord, RunRecord, StepRecord, StoryRecord
from bmad_autopilot.core.transitions import Rule, RuleAction
from bmad_autopilot.engine.lane import Lane
from bmad_autopilot.engine.observation import BoardStory, StoryObservation, StoryPosition
from bmad_autopilot.engine.perform import perform
from bmad_autopilot.engine.ports import AgentCall, AgentChoice, WorktreeSnapshot
from bmad_autopilot.sim.memory.git import board_rows, with_row_status
from bmad_autopilot.workflows.workflow import DEV, PIPELINES, Step
from tests.support.ports import ports_of

CALL = Rule("call", {}, RuleAction.CALL_AGENT)


class Started:
    """A loop that starts nothing, and keeps what it was to start."""

    def __init__(self) -> None:
        self.run = RunRecord()
        self.lane = Lane(LaneScope.STORY, "1-1-x", "1", PIPELINES["lean"])
        self.ports = ports_of(self)
        self.orders: list[AgentCall] = []
        self.awaited_question = ""

    def note(self, kind: str, /, **data: Any) -> None:
        """Nobody reads it."""

    def choose(self, step: Step) -> AgentChoice:
        return AgentChoice("stub")

    def start(self, order: AgentCall) -> None:
        self.orders.append(order)


def order_after(*ended: dict[str, str]) -> AgentCall:
    loop, story = Started(), StoryRecord("1-1-x")
    record = StepRecord(1, DEV.name, 1, calls=[CallRecord(n, outcome=one) for n, one in enumerate(ended, 1)])
    perform(loop, StoryObservation(Facts(), story=story, position=StoryPosition(DEV, record)), CALL)
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


class Checked(Started):
    """A loop whose check moves rows of the board."""

    def __init__(self, *, is_apart: bool) -> None:
        super().__init__()
        self.board = BOARD
        self.noted: dict[str, Any] = {}
        self._is_apart = is_apart

    def note(self, kind: str, /, **data: Any) -> None:
        self.noted[kind] = data

    def check(self, code: str) -> CheckRecord:
        self.board = self.board.replace(b"2-1-y: backlog", b"2-1-y: done").replace(
            b"1-2-z: backlog", b"1-2-z: done"
        )
        return CheckRecord(code, True)

    def is_own(self) -> bool:
        return self._is_apart

    def rows(self) -> Mapping[str, Row]:
        return board_rows(self.board)

    def set_row(self, key: str, status: str, expect: str) -> bool:
        self.board = with_row_status(self.board, key, status)
        return True


BOARD = b"development_status:\n  epic-1: in-progress\n  1-1-x: review\n  1-2-z: backlog\n  2-1-y: backlog\n"


@pytest.mark.parametrize("is_apart", [True, False])
def test_rows_of_other_epics_that_a_check_moves_in_the_lanes_own_work_tree_are_put_back(is_apart: bool) -> None:
    loop = Checked(is_apart=is_apart)
    rows = board_rows(BOARD)
    look = BoardStory(
        Facts(),
        rows=rows,
        row=rows["1-1-x"],
        story=StoryRecord("1-1-x"),
        position=StoryPosition(DEV, None),
        tree=WorktreeSnapshot(None, None, "tree", "code"),
    )
    perform(loop, look, Rule("unchecked", {}, RuleAction.CHECK))
    assert loop.rows()["2-1-y"].meaning == ("backlog" if is_apart else "done")
    assert loop.rows()["1-2-z"].meaning == "done", "a row of its own epic is asked about later"
    assert loop.noted["check"].get("put_back_rows") == ([["2-1-y", "backlog", "done"]] if is_apart else None)
