"""The transition table: one file of data without holes."""

import ast
import inspect
from pathlib import Path
from types import ModuleType

import pytest

from bmad_autopilot.core import transitions
from bmad_autopilot.core.decide import WAIT_ACTIONS, decide, find_table_problems
from bmad_autopilot.core.facts import (
    FACT_VALUES,
    BackoffFact,
    BoardFact,
    CallFact,
    CommitFact,
    EpicFact,
    Facts,
    GateFact,
    QuestionFact,
    RowFact,
    StepFact,
    TargetFact,
)
from bmad_autopilot.core.stop_causes import CAUSE_MENUS
from bmad_autopilot.core.transitions import DELIVERY_RULES, FLOW_RULES, TABLE, RuleAction, WakeSource
from bmad_autopilot.engine import perform
from bmad_autopilot.engine.delivery import pull_actions
from bmad_autopilot.engine.delivery.questions import DELIVERY_QUESTIONS
from bmad_autopilot.engine.flows.questions import FLOW_ANSWERS
from bmad_autopilot.engine.observation import Observation
from bmad_autopilot.engine.questions import AGENT, LEFT_BEHIND, question_for


def test_there_is_nothing_wrong_with_it() -> None:
    assert list(find_table_problems()) == []


def test_every_action_occurs_and_is_performed() -> None:
    assert {rule.action for rule in TABLE} == set(RuleAction)
    assert matched_actions(perform) | matched_actions(pull_actions) == set(RuleAction)


def matched_actions(module: ModuleType) -> set[RuleAction]:
    """The actions that a module names where it tells them apart."""
    nodes = ast.walk(ast.parse(inspect.getsource(module)))
    told = [node for node in nodes if isinstance(node, ast.match_case | ast.If)]
    conditions = [ast.walk(node.pattern if isinstance(node, ast.match_case) else node.test) for node in told]
    names = [one for found in conditions for one in found if isinstance(one, ast.Attribute)]
    return {RuleAction[one.attr] for one in names if ast.unparse(one.value) == RuleAction.__name__}


def test_every_wait_has_a_bound_and_a_wake_up() -> None:
    waits = [rule for rule in TABLE if rule.action in WAIT_ACTIONS]
    assert {rule.action for rule in waits} == set(WAIT_ACTIONS)
    for rule in waits:
        assert rule.wait is not None
        assert rule.wait.bound
        assert rule.wait.wakes


def test_every_question_it_asks_has_words_and_a_way_on() -> None:
    for rule in TABLE:
        if rule.action is RuleAction.ASK and rule.question not in (AGENT, LEFT_BEHIND, *FLOW_ANSWERS):
            form = DELIVERY_QUESTIONS.get(rule.question)
            if form is not None:
                assert form.recommended in form.options
                assert set(form.options) <= set(CAUSE_MENUS[form.cause].options)
                continue
            question = question_for(rule.question, Observation(Facts()), 3)
            assert question.text
            assert question.recommended in question.options


def test_every_fact_matters_to_some_row() -> None:
    named = {name for rule in TABLE for name in rule.when}
    assert named == set(FACT_VALUES)


def test_the_table_is_one_tuple_in_one_file() -> None:
    assert Path(transitions.__file__).read_text().count("TABLE: tuple[Rule, ...] = (") == 1


# The table row by row: what leads to each one, and that nothing less does.

OVER, LEFT_OUT = TargetFact.FINISHED, TargetFact.EXCLUDED
WORK = (StepFact.WORK, StepFact.REVIEW)
CHECKED = (StepFact.REVIEW, StepFact.ALL_DONE)
NOT_TAKEN = (CallFact.ASKED, CallFact.UNRECOVERABLE, CallFact.FAILED, CallFact.INCOMPLETE, CallFact.REFUSED)

ROWS = [
    ("told-to-leave", RuleAction.DETACH, {"stop": True}),
    ("state-behind", RuleAction.WRITE_STATE, {"kept": False}),
    ("agent-at-work", RuleAction.WAIT_FOR_AGENT, {"call": CallFact.RUNNING}),
    ("board-spoilt", RuleAction.RESTORE_BOARD, {"board": BoardFact.CORRUPTED}),
    ("board-unreadable", RuleAction.FAIL, {"board": BoardFact.UNREADABLE}),
    ("answer-there", RuleAction.APPLY_ANSWER, {"question": QuestionFact.ANSWERED}),
    ("answered-in-advance", RuleAction.ANSWER, {"question": QuestionFact.OPEN, "advance": True}),
    ("paused-while-asking", RuleAction.DETACH, {"question": QuestionFact.OPEN, "pause": True}),
    ("answer-missing", RuleAction.WAIT_FOR_ANSWER, {"question": QuestionFact.OPEN}),
    ("call-over", RuleAction.COLLECT_CALL, {"call": CallFact.ENDED}),
    ("settings-changed", "settings", {"settings": False}),
    (
        "one-step-done",
        RuleAction.FINISH,
        {"one_step": True, "commit": CommitFact.NONE, "row": (RowFact.CORRECT, RowFact.EDITED, RowFact.REMOVED)},
    ),
    (
        "paused-before-retrospective",
        RuleAction.DETACH,
        {"target": OVER, "retrospective": True, "pause": True},
    ),
    (
        "retrospective-limit",
        RuleAction.WAIT_FOR_LIMIT,
        {"target": OVER, "retrospective": True, "rest": BackoffFact.LIMIT},
    ),
    (
        "retrospective-pause",
        RuleAction.WAIT_FOR_PAUSE,
        {"target": OVER, "retrospective": True, "rest": BackoffFact.PAUSE},
    ),
    (
        "retrospective-slot",
        RuleAction.WAIT_FOR_SLOT,
        {"target": OVER, "retrospective": True, "budget": True, "ground": True, "slot": False},
    ),
    (
        "retrospective-due",
        RuleAction.RUN_RETROSPECTIVE,
        {
            "target": OVER,
            "retrospective": True,
            "budget": True,
            "ground": True,
        },
    ),
    ("stories-left-out", "left-out", {"target": LEFT_OUT, "epic": (EpicFact.IN_PROGRESS, EpicFact.OPEN)}),
    ("epic-elsewhere", "ground", {"target": OVER, "epic": EpicFact.OPEN, "ground": False}),
    ("epic-commit-elsewhere", "ground", {"target": OVER, "commit": CommitFact.DUE, "ground": False}),
    ("epic-complete", "human-checkpoint", {"target": OVER, "epic": EpicFact.OPEN, "checkpoint": True}),
    ("epic-over", RuleAction.CLOSE_EPIC, {"target": OVER, "epic": EpicFact.OPEN}),
    ("epic-to-commit", RuleAction.COMMIT, {"target": OVER, "commit": CommitFact.DUE}),
    ("retrospective-asked", "agent", {"target": OVER, "call": CallFact.ASKED, "attended": True}),
    ("retrospective-not-held", "retrospective", {"target": OVER, "call": NOT_TAKEN[1:], "attended": True}),
    ("all-over", RuleAction.FINISH, {"target": OVER}),
    ("story-gone", RuleAction.DROP_STORY, {"row": RowFact.REMOVED}),
    ("row-unproved", "row", {"row": RowFact.UNVERIFIED}),
    ("row-edited", RuleAction.RECORD_EDIT, {"row": RowFact.EDITED}),
    ("ground-unsafe", "ground", {"ground": False}),
    ("paused-between-stories", RuleAction.DETACH, {"begun": False, "pause": True}),
    ("between-stories", "human-checkpoint", {"begun": False, "checkpoint": True}),
    ("asked-before", "left-behind", {"begun": False, "left": True}),
    ("new-story", RuleAction.START_STORY, {"begun": False}),
    ("claim-undone", RuleAction.SET_ROW, {"call": NOT_TAKEN, "row": RowFact.DUE}),
    ("asked", "agent", {"call": CallFact.ASKED}),
    ("hopeless", "hopeless", {"call": CallFact.UNRECOVERABLE}),
    (
        "failed-for-good",
        "failed",
        {"call": (CallFact.FAILED, CallFact.INCOMPLETE, CallFact.REFUSED), "tries": False},
    ),
    ("good-unchecked", RuleAction.CHECK, {"call": CallFact.SUCCEEDED, "gate": GateFact.DUE}),
    ("good-but-broken", RuleAction.NEW_ROUND, {"call": CallFact.SUCCEEDED, "gate": GateFact.CODE, "rounds": True}),
    ("good-but-broken-again", "checks", {"call": CallFact.SUCCEEDED, "gate": GateFact.SAME}),
    ("good-but-not-here", "environment", {"call": CallFact.SUCCEEDED, "gate": GateFact.ENVIRONMENT}),
    ("good-but-restless", "restless", {"call": CallFact.SUCCEEDED, "gate": GateFact.UNSTABLE}),
    ("good-row", RuleAction.SET_ROW, {"call": CallFact.SUCCEEDED, "row": RowFact.DUE}),
    ("good", RuleAction.ACCEPT, {"call": CallFact.SUCCEEDED}),
    ("changes-row", RuleAction.SET_ROW, {"call": CallFact.CHANGES, "row": RowFact.DUE}),
    ("changes-without-end", "rounds", {"call": CallFact.CHANGES, "rounds": False}),
    ("changes-commit", RuleAction.COMMIT, {"call": CallFact.CHANGES, "commit": CommitFact.DUE}),
    ("changes", RuleAction.NEW_ROUND, {"call": CallFact.CHANGES}),
    ("finished-row", RuleAction.SET_ROW, {"step": StepFact.NONE, "row": RowFact.DUE}),
    ("finished", RuleAction.COMMIT, {"step": StepFact.NONE, "commit": CommitFact.DUE}),
    ("paused", RuleAction.DETACH, {"pause": True}),
    ("before-dev", "human-checkpoint", {"step": StepFact.WORK, "checkpoint": True}),
    ("limit", RuleAction.WAIT_FOR_LIMIT, {"rest": BackoffFact.LIMIT}),
    ("pause", RuleAction.WAIT_FOR_PAUSE, {"rest": BackoffFact.PAUSE}),
    ("budget-spent", "budget", {"budget": False}),
    ("epic-begins", RuleAction.START_EPIC, {"epic": EpicFact.BACKLOG, "step": WORK}),
    ("unchecked", RuleAction.CHECK, {"step": CHECKED, "gate": GateFact.DUE}),
    (
        "broken-slot",
        RuleAction.WAIT_FOR_SLOT,
        {"step": CHECKED, "gate": GateFact.CODE, "fixes": True, "slot": False},
    ),
    ("broken", RuleAction.FIX, {"step": CHECKED, "gate": GateFact.CODE, "fixes": True}),
    ("broken-for-good", "checks", {"step": CHECKED, "gate": GateFact.SAME}),
    ("not-here", "environment", {"step": CHECKED, "gate": GateFact.ENVIRONMENT}),
    ("restless", "restless", {"step": CHECKED, "gate": GateFact.UNSTABLE}),
    ("through", RuleAction.ACCEPT, {"step": StepFact.ALL_DONE}),
    ("row-first", RuleAction.SET_ROW, {"step": WORK, "row": RowFact.DUE}),
    ("tidy-first", RuleAction.COMMIT, {"step": WORK, "tidy": False}),
    ("slot", RuleAction.WAIT_FOR_SLOT, {"step": WORK, "slot": False}),
    ("call", RuleAction.CALL_AGENT, {"step": WORK}),
    ("stuck", "stuck", {"step": StepFact.NONE}),
]


def values_of(when: object) -> tuple[object, ...]:
    return when if isinstance(when, tuple) else (when,)


def facts_for(when: dict[str, object]) -> Facts:
    return Facts(**{name: values_of(value)[0] for name, value in when.items()})  # type: ignore[arg-type]


def test_there_is_an_example_for_every_row():
    """test_to_merged.py has those of a delivery, test_through_flow.py those of flows."""
    there = {rule.name for rule in (*DELIVERY_RULES, *FLOW_RULES)} | {"deliver"}
    assert [name for name, _, _ in ROWS] == [rule.name for rule in TABLE if rule.name not in there]


@pytest.mark.parametrize(("name", "does", "when"), ROWS, ids=[name for name, _, _ in ROWS])
def test_what_leads_to_a_row_and_what_it_does(name, does, when):
    rule = decide(facts_for(when))
    assert rule.name == name
    if isinstance(does, RuleAction):
        assert (rule.action, rule.question) == (does, "")
    else:
        assert (rule.action, rule.question) == (RuleAction.ASK, does)


@pytest.mark.parametrize(("name", "does", "when"), ROWS, ids=[name for name, _, _ in ROWS])
def test_each_of_its_values_counts_and_no_other(name, does, when):
    facts = facts_for(when)
    for fact, named in when.items():
        for value in FACT_VALUES[fact]:
            found = decide(facts._replace(**{fact: value})).name  # type: ignore[arg-type]
            assert (found == name) == (value in values_of(named)) or (name, value) in SAME, (fact, value)


# A row that other values of the same fact lead to as well.
SAME = {
    ("good-but-broken-again", GateFact.CODE),
    ("broken-for-good", GateFact.CODE),
    ("all-over", LEFT_OUT),
}


# Two things at once: which of them counts.
@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("told-to-leave", Facts(stop=True, call=CallFact.RUNNING)),
        ("agent-at-work", Facts(call=CallFact.RUNNING, board=BoardFact.UNREADABLE)),
        ("board-unreadable", Facts(board=BoardFact.UNREADABLE, question=QuestionFact.ANSWERED)),
        ("answer-missing", Facts(question=QuestionFact.OPEN, call=CallFact.ENDED)),
        ("call-over", Facts(call=CallFact.ENDED, row=RowFact.EDITED)),
        ("row-edited", Facts(row=RowFact.EDITED, ground=False)),
        ("epic-over", Facts(target=OVER, epic=EpicFact.OPEN, commit=CommitFact.DUE)),
        ("claim-undone", Facts(call=CallFact.ASKED, row=RowFact.DUE)),
        ("good-unchecked", Facts(call=CallFact.SUCCEEDED, gate=GateFact.DUE, row=RowFact.DUE)),
        ("changes-without-end", Facts(call=CallFact.CHANGES, rounds=False, commit=CommitFact.DUE)),
        ("limit", Facts(rest=BackoffFact.LIMIT, budget=False)),
        ("row-first", Facts(row=RowFact.DUE, tidy=False)),
        ("call-over", Facts(call=CallFact.ENDED, one_step=True)),
        ("good", Facts(call=CallFact.SUCCEEDED, commit=CommitFact.DUE, one_step=True)),
    ],
)
def test_the_more_urgent_comes_first(name, facts):
    assert decide(facts).name == name


def test_nothing_special_is_the_usual_case():
    usual = Facts()
    assert decide(usual).name == "call"
    assert usual.tries
    assert usual.rounds
    assert usual.fixes
    assert not usual.retrospective


@pytest.mark.parametrize(
    ("name", "wakes"),
    [
        ("agent-at-work", {WakeSource.CHILD, WakeSource.FILE, WakeSource.TIMER, WakeSource.HUMAN}),
        ("answer-missing", {WakeSource.HUMAN, WakeSource.FILE}),
        ("limit", {WakeSource.TIMER, WakeSource.HUMAN}),
        ("retrospective-limit", {WakeSource.TIMER, WakeSource.HUMAN}),
        ("pause", {WakeSource.TIMER, WakeSource.HUMAN}),
        ("slot", {WakeSource.SLOT, WakeSource.TIMER, WakeSource.HUMAN}),
    ],
)
def test_what_ends_a_wait(name, wakes):
    rule = next(rule for rule in TABLE if rule.name == name)
    assert rule.wait is not None
    assert set(rule.wait.wakes) == wakes
    assert rule.wait.bound
