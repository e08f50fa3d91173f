"""What a delivery takes for its own of a branch that is on the remote already."""

from typing import Any

import pytest

from bmad_autopilot.core.decide import decide
from bmad_autopilot.core.delivery import allow_more
from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.core.facts import Line
from bmad_autopilot.core.rules import Action
from bmad_autopilot.engine.delivery.effects import AGAIN
from bmad_autopilot.engine.delivery.observing import PATIENCE
from tests.engine.delivery.pulls import BASE, BRANCH
from tests.engine.delivery.test_performing import READY, Stage


class Dirty(Stage):
    """Somebody works in the tree: its branch cannot be moved."""

    what = "src/it.py"

    def move(self, branch: str, new: str, old: str) -> None:
        raise ConflictError("files have changes that are not committed", found=self.what)


class Shared(Stage):
    """In a checkout that lanes share."""

    owner = ""  # whose work lies there

    @property
    def doors(self) -> Any:
        return Doors(self)

    def stand(self, branch: str) -> None:
        return


class Doors:
    def __init__(self, stage: Shared) -> None:
        self._stage = stage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)

    def taken(self) -> str:
        return self._stage.owner


@pytest.mark.parametrize("action", [Action.TAKE_BASE, Action.PUSH, Action.STAND])
def test_where_somebody_works_in_the_tree_the_lane_waits(action: Action) -> None:
    made = Dirty([READY], remote={BRANCH: "h1", BASE: "b2"})
    made.pushed()
    made.run.delivery.pull = READY.number
    if action is not Action.TAKE_BASE:
        made.run.delivery.head = "h2"  # what we have recorded, and died before the branch here was moved
        made.before["h2"] = {"h1", "b1", "b2"}
    assert made.perform(action, "base-moved") == "pending"
    waits = made.run.delivery.waits
    assert waits is not None
    assert "the work tree: " in waits["why"]
    assert "src/it.py" in waits["why"]
    assert (waits["until"], made.has_turn()) == (made.now() + AGAIN, True)
    assert made.asked == []


def test_a_work_tree_that_stays_in_the_way_is_asked_about() -> None:
    """What is in the way may change from look to look: it is one wait, and it has a bound."""
    made = Dirty([READY], remote={BRANCH: "h1", BASE: "b2"})
    made.pushed()
    made.run.delivery.pull = READY.number
    made.run.delivery.head = "h2"
    made.before["h2"] = {"h1", "b1", "b2"}
    began = made.now_at
    while made.perform(Action.PUSH) == "pending":
        made.what += " more.py"
        made.now_at += AGAIN
        assert made.now_at <= began + PATIENCE + AGAIN, "it waits for ever"
    assert made.now_at >= began + PATIENCE
    look = made.look()
    rule = decide(look.facts)
    assert (rule.action, rule.question) == (Action.ASK, "work-tree")
    assert "src/it.py" in look.why

    allow_more(made.run.delivery, "look", {})  # the answer
    assert made.facts().usable
    assert made.perform(Action.PUSH) == "pending", "it is waited for anew"


def test_another_lanes_work_is_waited_for_as_long_as_it_takes() -> None:
    """That lane asks its own questions."""
    made = Shared([READY], stands_not="another branch is checked out")
    made.pushed()
    made.run.delivery.pull = READY.number
    made.owner = "what epic-2 has not finished lies there: a.py"
    for _ in range(3):
        assert made.perform(Action.STAND) == "pending"
        made.now_at += PATIENCE
    made.owner = ""
    assert made.perform(Action.STAND) == "pending", "the patience begins only now"


@pytest.mark.parametrize(
    ("remote", "known", "line"), [("h0", {"h0"}, Line.AHEAD), ("theirs", set(), Line.FOREIGN)]
)
def test_what_ours_holds_was_begun_from_and_nothing_else(remote: str, known: set[str], line: Line) -> None:
    made = Stage()
    made.remote = {BRANCH: remote, BASE: "b1"}
    made.before["h1"] = {"b1", "h0"}
    made.perform(Action.DELIVER)
    assert made.run.delivery.known == known
    assert made.facts().line is line
