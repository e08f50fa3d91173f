"""The rows of flows, one by one: what leads to each, and what stands above it."""

import pytest

from bmad_autopilot.core.decide import decide
from bmad_autopilot.core.facts import Call, Commit, Decision, Facts, Question, Step, Target
from bmad_autopilot.core.rules import Action
from bmad_autopilot.core.through_flow import THROUGH_FLOW

ROWS = [
    ("flow-commit", Action.COMMIT, "", Facts(commit=Commit.STEP)),
    ("flow-failed", Action.ASK, "flow-failed", Facts(decision=Decision.FAILED)),
    ("flow-boundary", Action.ASK, "boundary", Facts(decision=Decision.BOUNDARY, step=Step.TASKS)),
    ("flow-gate", Action.ASK, "gate", Facts(decision=Decision.GATE, call=Call.GOOD)),
    ("flow-optional", Action.ASK, "optional", Facts(decision=Decision.OPTIONAL)),
    ("flow-tasks-paused", Action.LEAVE, "", Facts(step=Step.TASKS, pause=True)),
    ("flow-tasks", Action.IMPLEMENT, "", Facts(step=Step.TASKS)),
]


def test_every_row_has_an_example() -> None:
    assert [name for name, _, _, _ in ROWS] == [rule.name for rule in THROUGH_FLOW]


@pytest.mark.parametrize(("name", "action", "question", "facts"), ROWS, ids=[row[0] for row in ROWS])
def test_what_leads_to_a_row(name: str, action: Action, question: str, facts: Facts) -> None:
    rule = decide(facts)
    assert (rule.name, rule.action, rule.question) == (name, action, question)


def test_the_state_file_is_right_before_anything_else_but_leaving() -> None:
    behind = Facts(kept=False, call=Call.RUNNING, question=Question.OPEN, decision=Decision.GATE)
    assert decide(behind).name == "state-behind"
    assert decide(behind._replace(stop=True)).name == "told-to-leave"


def test_a_gate_is_not_asked_about_while_its_step_has_failed() -> None:
    failed = Facts(decision=Decision.GATE, call=Call.FAILED, tries=False)
    assert decide(failed).name == "failed-for-good"


def test_what_a_step_has_left_is_committed_before_the_end() -> None:
    assert decide(Facts(commit=Commit.STEP, target=Target.OVER)).name == "flow-commit"
    assert decide(Facts(target=Target.OVER)).name == "all-over"
