"""The table row by row: what leads to each one, and that nothing less does."""

import pytest

from bmad_autopilot.core.decide import decide
from bmad_autopilot.core.facts import (
    VALUES,
    Board,
    Call,
    Commit,
    Epic,
    Facts,
    Gate,
    Question,
    Rest,
    Row,
    Step,
    Target,
)
from bmad_autopilot.core.rules import Action, Wake
from bmad_autopilot.core.table import TABLE
from bmad_autopilot.core.through_flow import THROUGH_FLOW
from bmad_autopilot.core.to_merged import TO_MERGED

OVER, LEFT_OUT = Target.OVER, Target.LEFT_OUT
WORK = (Step.WORK, Step.REVIEW)
CHECKED = (Step.REVIEW, Step.THROUGH)
NOT_TAKEN = (Call.ASKED, Call.HOPELESS, Call.FAILED, Call.LACKING, Call.REFUSED)

ROWS = [
    ("told-to-leave", Action.LEAVE, {"stop": True}),
    ("state-behind", Action.KEEP_STATE, {"kept": False}),
    ("agent-at-work", Action.WAIT_FOR_AGENT, {"call": Call.RUNNING}),
    ("board-spoilt", Action.RESTORE_BOARD, {"board": Board.SPOILT}),
    ("board-unreadable", Action.FAIL, {"board": Board.UNREADABLE}),
    ("answer-there", Action.TAKE_ANSWER, {"question": Question.ANSWERED}),
    ("answered-in-advance", Action.ANSWER, {"question": Question.OPEN, "advance": True}),
    ("paused-while-asking", Action.LEAVE, {"question": Question.OPEN, "pause": True}),
    ("answer-missing", Action.WAIT_FOR_ANSWER, {"question": Question.OPEN}),
    ("call-over", Action.TAKE_IN, {"call": Call.ENDED}),
    ("settings-changed", "settings", {"settings": False}),
    (
        "one-step-done",
        Action.FINISH,
        {"one_step": True, "commit": Commit.NONE, "row": (Row.RIGHT, Row.EDITED, Row.GONE)},
    ),
    (
        "paused-before-retrospective",
        Action.LEAVE,
        {"target": OVER, "retrospective": True, "pause": True},
    ),
    (
        "retrospective-limit",
        Action.WAIT_FOR_LIMIT,
        {"target": OVER, "retrospective": True, "rest": Rest.LIMIT},
    ),
    (
        "retrospective-pause",
        Action.WAIT_FOR_PAUSE,
        {"target": OVER, "retrospective": True, "rest": Rest.PAUSE},
    ),
    (
        "retrospective-slot",
        Action.WAIT_FOR_SLOT,
        {"target": OVER, "retrospective": True, "budget": True, "ground": True, "slot": False},
    ),
    (
        "retrospective-due",
        Action.RETROSPECT,
        {
            "target": OVER,
            "retrospective": True,
            "budget": True,
            "ground": True,
        },
    ),
    ("stories-left-out", "left-out", {"target": LEFT_OUT, "epic": (Epic.UNDER_WAY, Epic.OPEN)}),
    ("epic-elsewhere", "ground", {"target": OVER, "epic": Epic.OPEN, "ground": False}),
    ("epic-commit-elsewhere", "ground", {"target": OVER, "commit": Commit.DUE, "ground": False}),
    ("epic-complete", "human-checkpoint", {"target": OVER, "epic": Epic.OPEN, "checkpoint": True}),
    ("epic-over", Action.CLOSE_EPIC, {"target": OVER, "epic": Epic.OPEN}),
    ("epic-to-commit", Action.COMMIT, {"target": OVER, "commit": Commit.DUE}),
    ("retrospective-asked", "agent", {"target": OVER, "call": Call.ASKED, "attended": True}),
    ("retrospective-not-held", "retrospective", {"target": OVER, "call": NOT_TAKEN[1:], "attended": True}),
    ("all-over", Action.FINISH, {"target": OVER}),
    ("story-gone", Action.LET_GO, {"row": Row.GONE}),
    ("row-unproved", "row", {"row": Row.UNPROVED}),
    ("row-edited", Action.NOTE_EDIT, {"row": Row.EDITED}),
    ("ground-unsafe", "ground", {"ground": False}),
    ("paused-between-stories", Action.LEAVE, {"begun": False, "pause": True}),
    ("between-stories", "human-checkpoint", {"begun": False, "checkpoint": True}),
    ("asked-before", "left-behind", {"begun": False, "left": True}),
    ("new-story", Action.BEGIN, {"begun": False}),
    ("claim-undone", Action.SET_ROW, {"call": NOT_TAKEN, "row": Row.DUE}),
    ("asked", "agent", {"call": Call.ASKED}),
    ("hopeless", "hopeless", {"call": Call.HOPELESS}),
    ("failed-for-good", "failed", {"call": (Call.FAILED, Call.LACKING, Call.REFUSED), "tries": False}),
    ("good-unchecked", Action.CHECK, {"call": Call.GOOD, "gate": Gate.DUE}),
    ("good-but-broken", Action.NEW_ROUND, {"call": Call.GOOD, "gate": Gate.CODE, "rounds": True}),
    ("good-but-broken-again", "checks", {"call": Call.GOOD, "gate": Gate.SAME}),
    ("good-but-not-here", "environment", {"call": Call.GOOD, "gate": Gate.ENVIRONMENT}),
    ("good-but-restless", "restless", {"call": Call.GOOD, "gate": Gate.RESTLESS}),
    ("good-row", Action.SET_ROW, {"call": Call.GOOD, "row": Row.DUE}),
    ("good", Action.ACCEPT, {"call": Call.GOOD}),
    ("changes-row", Action.SET_ROW, {"call": Call.CHANGES, "row": Row.DUE}),
    ("changes-without-end", "rounds", {"call": Call.CHANGES, "rounds": False}),
    ("changes-commit", Action.COMMIT, {"call": Call.CHANGES, "commit": Commit.DUE}),
    ("changes", Action.NEW_ROUND, {"call": Call.CHANGES}),
    ("finished-row", Action.SET_ROW, {"step": Step.NONE, "row": Row.DUE}),
    ("finished", Action.COMMIT, {"step": Step.NONE, "commit": Commit.DUE}),
    ("paused", Action.LEAVE, {"pause": True}),
    ("before-dev", "human-checkpoint", {"step": Step.WORK, "checkpoint": True}),
    ("limit", Action.WAIT_FOR_LIMIT, {"rest": Rest.LIMIT}),
    ("pause", Action.WAIT_FOR_PAUSE, {"rest": Rest.PAUSE}),
    ("budget-spent", "budget", {"budget": False}),
    ("epic-begins", Action.LIFT_EPIC, {"epic": Epic.BACKLOG, "step": WORK}),
    ("unchecked", Action.CHECK, {"step": CHECKED, "gate": Gate.DUE}),
    ("broken-slot", Action.WAIT_FOR_SLOT, {"step": CHECKED, "gate": Gate.CODE, "fixes": True, "slot": False}),
    ("broken", Action.FIX, {"step": CHECKED, "gate": Gate.CODE, "fixes": True}),
    ("broken-for-good", "checks", {"step": CHECKED, "gate": Gate.SAME}),
    ("not-here", "environment", {"step": CHECKED, "gate": Gate.ENVIRONMENT}),
    ("restless", "restless", {"step": CHECKED, "gate": Gate.RESTLESS}),
    ("through", Action.ACCEPT, {"step": Step.THROUGH}),
    ("row-first", Action.SET_ROW, {"step": WORK, "row": Row.DUE}),
    ("tidy-first", Action.COMMIT, {"step": WORK, "tidy": False}),
    ("slot", Action.WAIT_FOR_SLOT, {"step": WORK, "slot": False}),
    ("call", Action.CALL, {"step": WORK}),
    ("stuck", "stuck", {"step": Step.NONE}),
]


def values_of(when: object) -> tuple[object, ...]:
    return when if isinstance(when, tuple) else (when,)


def facts_for(when: dict[str, object]) -> Facts:
    return Facts(**{name: values_of(value)[0] for name, value in when.items()})  # type: ignore[arg-type]


def test_there_is_an_example_for_every_row():
    """test_to_merged.py has those of a delivery, test_through_flow.py those of flows."""
    there = {rule.name for rule in (*TO_MERGED, *THROUGH_FLOW)} | {"deliver"}
    assert [name for name, _, _ in ROWS] == [rule.name for rule in TABLE if rule.name not in there]


@pytest.mark.parametrize(("name", "does", "when"), ROWS, ids=[name for name, _, _ in ROWS])
def test_what_leads_to_a_row_and_what_it_does(name, does, when):
    rule = decide(facts_for(when))
    assert rule.name == name
    if isinstance(does, Action):
        assert (rule.action, rule.question) == (does, "")
    else:
        assert (rule.action, rule.question) == (Action.ASK, does)


@pytest.mark.parametrize(("name", "does", "when"), ROWS, ids=[name for name, _, _ in ROWS])
def test_each_of_its_values_counts_and_no_other(name, does, when):
    facts = facts_for(when)
    for fact, named in when.items():
        for value in VALUES[fact]:
            found = decide(facts._replace(**{fact: value})).name  # type: ignore[arg-type]
            assert (found == name) == (value in values_of(named)) or (name, value) in SAME, (fact, value)


# A row that other values of the same fact lead to as well.
SAME = {
    ("good-but-broken-again", Gate.CODE),
    ("broken-for-good", Gate.CODE),
    ("all-over", LEFT_OUT),
}


# Two things at once: which of them counts.
@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("told-to-leave", Facts(stop=True, call=Call.RUNNING)),
        ("agent-at-work", Facts(call=Call.RUNNING, board=Board.UNREADABLE)),
        ("board-unreadable", Facts(board=Board.UNREADABLE, question=Question.ANSWERED)),
        ("answer-missing", Facts(question=Question.OPEN, call=Call.ENDED)),
        ("call-over", Facts(call=Call.ENDED, row=Row.EDITED)),
        ("row-edited", Facts(row=Row.EDITED, ground=False)),
        ("epic-over", Facts(target=OVER, epic=Epic.OPEN, commit=Commit.DUE)),
        ("claim-undone", Facts(call=Call.ASKED, row=Row.DUE)),
        ("good-unchecked", Facts(call=Call.GOOD, gate=Gate.DUE, row=Row.DUE)),
        ("changes-without-end", Facts(call=Call.CHANGES, rounds=False, commit=Commit.DUE)),
        ("limit", Facts(rest=Rest.LIMIT, budget=False)),
        ("row-first", Facts(row=Row.DUE, tidy=False)),
        ("call-over", Facts(call=Call.ENDED, one_step=True)),
        ("good", Facts(call=Call.GOOD, commit=Commit.DUE, one_step=True)),
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
        ("agent-at-work", {Wake.CHILD, Wake.FILE, Wake.TIMER, Wake.HUMAN}),
        ("answer-missing", {Wake.HUMAN, Wake.FILE}),
        ("limit", {Wake.TIMER, Wake.HUMAN}),
        ("retrospective-limit", {Wake.TIMER, Wake.HUMAN}),
        ("pause", {Wake.TIMER, Wake.HUMAN}),
        ("slot", {Wake.SLOT, Wake.TIMER, Wake.HUMAN}),
    ],
)
def test_what_ends_a_wait(name, wakes):
    rule = next(rule for rule in TABLE if rule.name == name)
    assert rule.wait is not None
    assert set(rule.wait.wakes) == wakes
    assert rule.wait.bound
