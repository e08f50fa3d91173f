"""From facts to an action: total, and every fault of a table is found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.decide import decide, faults
from bmad_autopilot.core.facts import (
    VALUES,
    Board,
    Call,
    Commit,
    Delivery,
    Epic,
    Facts,
    Gate,
    Question,
    Rest,
    Row,
    Step,
    Target,
)
from bmad_autopilot.core.rules import Action, Rule, Wait, Wake
from bmad_autopilot.core.table import TABLE
from bmad_autopilot.core.through_flow import THROUGH_FLOW
from bmad_autopilot.core.to_merged import TO_MERGED

LAST = Rule("stuck", {}, Action.ASK, "stuck")
WAIT = Wait("an hour", (Wake.TIMER,))

any_facts = st.builds(Facts, **{name: st.sampled_from(values) for name, values in VALUES.items()})


@given(any_facts)
def test_whatever_is_observed_there_is_an_answer(facts: Facts) -> None:
    rule = decide(facts)
    assert rule in TABLE
    assert all(getattr(facts, name) in values for name, values in rule.when.items())


@given(any_facts)
def test_the_first_row_that_fits_counts(facts: Facts) -> None:
    rule = decide(facts)
    for above in TABLE[: TABLE.index(rule)]:
        assert any(getattr(facts, name) not in values for name, values in above.when.items())


@given(any_facts)
def test_nothing_is_called_while_an_agent_works_or_a_question_is_open(facts: Facts) -> None:
    busy = facts.call is Call.RUNNING or facts.question is not Question.NONE or facts.stop
    calls = (Action.CALL, Action.FIX, Action.RETROSPECT)
    assert not (busy and decide(facts).action in calls)


@given(any_facts)
def test_nothing_new_is_begun_once_somebody_wants_a_pause_or_must_be_asked(facts: Facts) -> None:
    new = (Action.CALL, Action.FIX, Action.RETROSPECT, Action.BEGIN)
    assert not (facts.pause and decide(facts).action in new)
    assert not (not facts.settings and decide(facts).action in new)
    writes = facts.checkpoint and facts.step is Step.WORK
    assert not (writes and facts.target is Target.STORY and decide(facts).action is Action.CALL)


@given(any_facts)
def test_a_call_needs_safe_ground_money_and_a_board(facts: Facts) -> None:
    if decide(facts).action in (Action.CALL, Action.FIX):
        assert facts.ground
        assert facts.budget
        assert facts.board is Board.FINE
        assert facts.rest is Rest.NONE
        assert facts.begun


@given(any_facts)
def test_a_persons_edit_is_noted_before_anything_of_ours(facts: Facts) -> None:
    if facts.row is Row.EDITED and facts.target is Target.STORY and facts.delivery is not Delivery.ON:
        ours = (Action.SET_ROW, Action.CALL, Action.FIX, Action.ACCEPT, Action.NEW_ROUND)
        assert decide(facts).action not in ours


@given(any_facts)
def test_nothing_unchecked_is_reviewed_or_accepted_where_a_check_is_due(facts: Facts) -> None:
    rule = decide(facts)
    if facts.gate is not Gate.PASSED and facts.call is Call.GOOD:
        assert rule.action is not Action.ACCEPT
    if facts.gate is not Gate.PASSED and facts.step is Step.REVIEW and facts.call in (Call.NONE, Call.FAILED):
        assert rule.action is not Action.CALL


EXAMPLES = [
    (Facts(stop=True, call=Call.RUNNING), "told-to-leave"),
    (Facts(call=Call.RUNNING, question=Question.OPEN), "agent-at-work"),
    (Facts(board=Board.SPOILT, call=Call.ENDED), "board-spoilt"),
    (Facts(board=Board.UNREADABLE), "board-unreadable"),
    (Facts(question=Question.ANSWERED, call=Call.ENDED), "answer-there"),
    (Facts(question=Question.OPEN), "answer-missing"),
    (Facts(question=Question.OPEN, advance=True, pause=True), "answered-in-advance"),
    (Facts(question=Question.OPEN, pause=True), "paused-while-asking"),
    (Facts(settings=False), "settings-changed"),
    (Facts(settings=False, call=Call.ENDED), "call-over"),
    (Facts(pause=True), "paused"),
    (Facts(pause=True, call=Call.RUNNING), "agent-at-work"),
    (Facts(pause=True, call=Call.GOOD), "good"),
    (Facts(pause=True, step=Step.NONE, commit=Commit.DUE), "finished"),
    (Facts(pause=True, begun=False), "paused-between-stories"),
    (Facts(pause=True, target=Target.OVER, retrospective=True), "paused-before-retrospective"),
    (Facts(pause=True, target=Target.OVER), "all-over"),
    (Facts(checkpoint=True), "before-dev"),
    (Facts(checkpoint=True, begun=False), "between-stories"),
    (Facts(checkpoint=True, target=Target.OVER, epic=Epic.OPEN), "epic-complete"),
    (Facts(call=Call.ENDED), "call-over"),
    (Facts(target=Target.OVER, epic=Epic.OPEN), "epic-over"),
    (Facts(target=Target.OVER, epic=Epic.CLOSED, commit=Commit.DUE), "epic-to-commit"),
    (Facts(target=Target.OVER, epic=Epic.CLOSED), "all-over"),
    (Facts(target=Target.LEFT_OUT, epic=Epic.OPEN), "stories-left-out"),
    (Facts(target=Target.OVER, retrospective=True), "retrospective-due"),
    (Facts(target=Target.OVER, retrospective=True, slot=False), "retrospective-slot"),
    (Facts(target=Target.OVER, retrospective=True, rest=Rest.LIMIT), "retrospective-limit"),
    (Facts(target=Target.OVER, retrospective=True, rest=Rest.PAUSE), "retrospective-pause"),
    (Facts(target=Target.OVER, retrospective=True, call=Call.REFUSED), "retrospective-due"),
    (Facts(target=Target.OVER, epic=Epic.CLOSED, call=Call.ASKED), "retrospective-asked"),
    (Facts(target=Target.OVER, epic=Epic.CLOSED, call=Call.FAILED), "retrospective-not-held"),
    (Facts(target=Target.OVER, epic=Epic.CLOSED, call=Call.FAILED, attended=False), "all-over"),
    (Facts(target=Target.OVER, epic=Epic.CLOSED, call=Call.GOOD), "all-over"),
    (Facts(row=Row.GONE), "story-gone"),
    (Facts(row=Row.EDITED), "row-edited"),
    (Facts(row=Row.UNPROVED), "row-unproved"),
    (Facts(row=Row.UNPROVED, one_step=True), "row-unproved"),
    (Facts(ground=False), "ground-unsafe"),
    (Facts(begun=False), "new-story"),
    (Facts(begun=False, left=True), "asked-before"),
    (Facts(call=Call.LACKING, row=Row.DUE), "claim-undone"),
    (Facts(call=Call.ASKED), "asked"),
    (Facts(call=Call.HOPELESS), "hopeless"),
    (Facts(call=Call.LACKING, tries=False), "failed-for-good"),
    (Facts(call=Call.LACKING), "call"),
    (Facts(call=Call.GOOD, gate=Gate.DUE), "good-unchecked"),
    (Facts(call=Call.GOOD, gate=Gate.CODE), "good-but-broken"),
    (Facts(call=Call.GOOD, gate=Gate.CODE, rounds=False), "good-but-broken-again"),
    (Facts(call=Call.GOOD, gate=Gate.SAME), "good-but-broken-again"),
    (Facts(call=Call.GOOD, gate=Gate.ENVIRONMENT), "good-but-not-here"),
    (Facts(call=Call.GOOD, gate=Gate.RESTLESS), "good-but-restless"),
    (Facts(call=Call.GOOD, row=Row.DUE), "good-row"),
    (Facts(call=Call.GOOD), "good"),
    (Facts(call=Call.LACKING, row=Row.DUE, tries=False), "claim-undone"),
    (Facts(call=Call.HOPELESS, row=Row.DUE), "claim-undone"),
    (Facts(call=Call.CHANGES, rounds=False, row=Row.DUE), "changes-row"),
    (Facts(call=Call.CHANGES, rounds=False), "changes-without-end"),
    (Facts(call=Call.CHANGES, row=Row.DUE), "changes-row"),
    (Facts(call=Call.CHANGES, commit=Commit.DUE), "changes-commit"),
    (Facts(call=Call.CHANGES), "changes"),
    (Facts(step=Step.NONE, row=Row.DUE), "finished-row"),
    (Facts(step=Step.NONE, commit=Commit.DUE), "finished"),
    (Facts(step=Step.NONE), "stuck"),
    (Facts(rest=Rest.LIMIT), "limit"),
    (Facts(rest=Rest.PAUSE), "pause"),
    (Facts(budget=False), "budget-spent"),
    (Facts(epic=Epic.BACKLOG), "epic-begins"),
    (Facts(step=Step.REVIEW, gate=Gate.DUE), "unchecked"),
    (Facts(step=Step.REVIEW, gate=Gate.CODE), "broken"),
    (Facts(step=Step.REVIEW, gate=Gate.CODE, fixes=False), "broken-for-good"),
    (Facts(step=Step.REVIEW, gate=Gate.SAME), "broken-for-good"),
    (Facts(step=Step.REVIEW, gate=Gate.ENVIRONMENT), "not-here"),
    (Facts(step=Step.REVIEW, gate=Gate.RESTLESS), "restless"),
    (Facts(step=Step.THROUGH, gate=Gate.DUE), "unchecked"),
    (Facts(step=Step.THROUGH, gate=Gate.CODE), "broken"),
    (Facts(step=Step.THROUGH), "through"),
    (Facts(row=Row.DUE), "row-first"),
    (Facts(tidy=False), "tidy-first"),
    (Facts(), "call"),
    (Facts(slot=False), "slot"),
    (Facts(step=Step.REVIEW, gate=Gate.CODE, slot=False), "broken-slot"),
    (Facts(one_step=True), "one-step-done"),
    (Facts(one_step=True, row=Row.DUE), "row-first"),
    (Facts(target=Target.OVER, epic=Epic.OPEN, ground=False), "epic-elsewhere"),
    (Facts(target=Target.OVER, commit=Commit.DUE, ground=False), "epic-commit-elsewhere"),
]


@pytest.mark.parametrize(("facts", "rule"), EXAMPLES)
def test_what_is_done_when(facts: Facts, rule: str) -> None:
    assert decide(facts).name == rule


def test_every_row_can_be_reached() -> None:
    """test_to_merged.py has those of a delivery, test_through_flow.py those of flows."""
    there = {rule.name for rule in (*TO_MERGED, *THROUGH_FLOW)} | {"deliver", "state-behind"}
    assert {rule for _, rule in EXAMPLES} == {rule.name for rule in TABLE} - there


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ((), "the last row does not fit everything"),
        ((Rule("a", {"stop": (True,)}, Action.LEAVE),), "the last row does not fit everything"),
        ((LAST._replace(when={"stop": (True,)}), LAST), "two rows are called stuck"),
        (
            (Rule("a", {"stop": (True,)}, Action.LEAVE), Rule("b", {"stop": (True,)}, Action.FAIL), LAST),
            "b can never be reached: a stands above it",
        ),
        (
            (Rule("a", {}, Action.LEAVE), LAST),
            "stuck can never be reached: a stands above it",
        ),
        (
            (Rule("a", {"call": tuple(Call)}, Action.LEAVE), LAST),
            "stuck can never be reached: a stands above it",
        ),
        ((Rule("a", {"stop": ("yes",)}, Action.LEAVE), LAST), "a: stop is never ['yes']"),
        ((Rule("a", {"nothing": (True,)}, Action.LEAVE), LAST), "a: nothing is never [True]"),
        ((Rule("a", {"stop": ()}, Action.LEAVE), LAST), "a: stop is never []"),
        (
            (Rule("a", {"stop": (True,)}, Action.ASK), LAST),
            "a: a question is named where one is asked, and nowhere else",
        ),
        (
            (Rule("a", {"stop": (True,)}, Action.LEAVE, "why"), LAST),
            "a: a question is named where one is asked, and nowhere else",
        ),
        (
            (Rule("a", {"stop": (True,)}, Action.WAIT_FOR_LIMIT), LAST),
            "a: a wait has a bound and a wake-up, and nothing else has",
        ),
        (
            (Rule("a", {"stop": (True,)}, Action.LEAVE, wait=WAIT), LAST),
            "a: a wait has a bound and a wake-up, and nothing else has",
        ),
        (
            (Rule("a", {"stop": (True,)}, Action.WAIT_FOR_LIMIT, wait=WAIT._replace(bound="")), LAST),
            "a: nothing ends this wait",
        ),
        (
            (Rule("a", {"stop": (True,)}, Action.WAIT_FOR_LIMIT, wait=WAIT._replace(wakes=())), LAST),
            "a: nothing ends this wait",
        ),
    ],
)
def test_each_fault_of_a_table_is_found(table: tuple[Rule, ...], fault: str) -> None:
    assert fault in list(faults(table))


@pytest.mark.parametrize("action", [Action.STAND, Action.PUSH, Action.TAKE_BASE, Action.TAKE_FOREIGN])
def test_what_may_wait_for_the_work_tree_says_what_ends_that(action: Action) -> None:
    unbounded = "a: a wait has a bound and a wake-up, and nothing else has"
    assert list(faults((Rule("a", {"stop": (True,)}, action), LAST))) == [unbounded]
    assert list(faults((Rule("a", {"stop": (True,)}, action, wait=WAIT), LAST))) == []


def test_a_sound_table_has_none() -> None:
    sound = (
        Rule("a", {"stop": (True,)}, Action.LEAVE),
        Rule("b", {"call": (Call.RUNNING,)}, Action.WAIT_FOR_AGENT, wait=WAIT),
        LAST,
    )
    assert list(faults(sound)) == []
