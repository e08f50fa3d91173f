"""The rows of flows, one by one: what leads to each, and what stands above it."""

import pytest

from bmad_autopilot.core.decide import decide
from bmad_autopilot.core.facts import CallFact, CommitFact, DecisionFact, Facts, QuestionFact, StepFact, TargetFact
from bmad_autopilot.core.transitions import FLOW_RULES, RuleAction

ROWS = [
    ("flow-commit", RuleAction.COMMIT, "", Facts(commit=CommitFact.STEP)),
    ("flow-failed", RuleAction.ASK, "flow-failed", Facts(decision=DecisionFact.FAILED)),
    ("flow-boundary", RuleAction.ASK, "boundary", Facts(decision=DecisionFact.BOUNDARY, step=StepFact.TASKS)),
    ("flow-gate", RuleAction.ASK, "gate", Facts(decision=DecisionFact.GATE, call=CallFact.SUCCEEDED)),
    ("flow-optional", RuleAction.ASK, "optional", Facts(decision=DecisionFact.OPTIONAL)),
    ("flow-tasks-paused", RuleAction.DETACH, "", Facts(step=StepFact.TASKS, pause=True)),
    ("flow-tasks", RuleAction.IMPLEMENT, "", Facts(step=StepFact.TASKS)),
]


def test_every_row_has_an_example() -> None:
    assert [name for name, _, _, _ in ROWS] == [rule.name for rule in FLOW_RULES]


@pytest.mark.parametrize(("name", "action", "question", "facts"), ROWS, ids=[row[0] for row in ROWS])
def test_what_leads_to_a_row(name: str, action: RuleAction, question: str, facts: Facts) -> None:
    rule = decide(facts)
    assert (rule.name, rule.action, rule.question) == (name, action, question)


def test_the_state_file_is_right_before_anything_else_but_leaving() -> None:
    behind = Facts(kept=False, call=CallFact.RUNNING, question=QuestionFact.OPEN, decision=DecisionFact.GATE)
    assert decide(behind).name == "state-behind"
    assert decide(behind._replace(stop=True)).name == "told-to-leave"


def test_a_gate_is_not_asked_about_while_its_step_has_failed() -> None:
    failed = Facts(decision=DecisionFact.GATE, call=CallFact.FAILED, tries=False)
    assert decide(failed).name == "failed-for-good"


def test_what_a_step_has_left_is_committed_before_the_end() -> None:
    assert decide(Facts(commit=CommitFact.STEP, target=TargetFact.FINISHED)).name == "flow-commit"
    assert decide(Facts(target=TargetFact.FINISHED)).name == "all-over"
