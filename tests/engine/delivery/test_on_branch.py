"""What a delivery takes for its own of a branch that is on the remote already."""

import pytest

from bmad_autopilot.core.facts import Line
from bmad_autopilot.core.rules import Action
from tests.engine.delivery.pulls import BASE, BRANCH
from tests.engine.delivery.test_performing import Stage


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
