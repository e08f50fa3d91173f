"""What a delivery takes for its own of a branch that is on the remote already."""

import pytest

from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.core.facts import Line
from bmad_autopilot.core.rules import Action
from bmad_autopilot.engine.delivery.effects import AGAIN
from tests.engine.delivery.pulls import BASE, BRANCH
from tests.engine.delivery.test_performing import READY, Stage


class Dirty(Stage):
    """Somebody works in the tree: its branch cannot be moved."""

    def move(self, branch: str, new: str, old: str) -> None:
        raise ConflictError("files have changes that are not committed", found="src/it.py")


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
