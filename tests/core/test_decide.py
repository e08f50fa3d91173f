"""From facts to an action: total, and every fault of a table is found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.decide import decide, find_table_problems
from bmad_autopilot.core.facts import (
    FACT_VALUES,
    BackoffFact,
    BoardFact,
    CallFact,
    CommitFact,
    DeliveryFact,
    EpicFact,
    Facts,
    GateFact,
    QuestionFact,
    RowFact,
    StepFact,
    TargetFact,
)
from bmad_autopilot.core.transitions import (
    DELIVERY_RULES,
    FLOW_RULES,
    TABLE,
    PullWait,
    Rule,
    RuleAction,
    WaitSpec,
    WakeSource,
)

LAST = Rule("stuck", {}, RuleAction.ASK, "stuck")
WAIT = WaitSpec("an hour", (WakeSource.TIMER,))

any_facts = st.builds(Facts, **{name: st.sampled_from(values) for name, values in FACT_VALUES.items()})


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
    busy = facts.call is CallFact.RUNNING or facts.question is not QuestionFact.NONE or facts.stop
    calls = (RuleAction.CALL_AGENT, RuleAction.FIX, RuleAction.RUN_RETROSPECTIVE)
    assert not (busy and decide(facts).action in calls)


@given(any_facts)
def test_nothing_new_is_begun_once_somebody_wants_a_pause_or_must_be_asked(facts: Facts) -> None:
    new = (RuleAction.CALL_AGENT, RuleAction.FIX, RuleAction.RUN_RETROSPECTIVE, RuleAction.START_STORY)
    assert not (facts.pause and decide(facts).action in new)
    assert not (not facts.settings and decide(facts).action in new)
    writes = facts.checkpoint and facts.step is StepFact.WORK
    assert not (writes and facts.target is TargetFact.STORY and decide(facts).action is RuleAction.CALL_AGENT)


@given(any_facts)
def test_a_call_needs_safe_ground_money_and_a_board(facts: Facts) -> None:
    if decide(facts).action in (RuleAction.CALL_AGENT, RuleAction.FIX):
        assert facts.ground
        assert facts.budget
        assert facts.board is BoardFact.FINE
        assert facts.rest is BackoffFact.NONE
        assert facts.begun


@given(any_facts)
def test_a_persons_edit_is_noted_before_anything_of_ours(facts: Facts) -> None:
    if facts.row is RowFact.EDITED and facts.target is TargetFact.STORY and facts.delivery is not DeliveryFact.ON:
        ours = (RuleAction.SET_ROW, RuleAction.CALL_AGENT, RuleAction.FIX, RuleAction.ACCEPT, RuleAction.NEW_ROUND)
        assert decide(facts).action not in ours


@given(any_facts)
def test_nothing_unchecked_is_reviewed_or_accepted_where_a_check_is_due(facts: Facts) -> None:
    rule = decide(facts)
    if facts.gate is not GateFact.PASSED and facts.call is CallFact.SUCCEEDED:
        assert rule.action is not RuleAction.ACCEPT
    if (
        facts.gate is not GateFact.PASSED
        and facts.step is StepFact.REVIEW
        and facts.call in (CallFact.NONE, CallFact.FAILED)
    ):
        assert rule.action is not RuleAction.CALL_AGENT


EXAMPLES = [
    (Facts(stop=True, call=CallFact.RUNNING), "told-to-leave"),
    (Facts(call=CallFact.RUNNING, question=QuestionFact.OPEN), "agent-at-work"),
    (Facts(board=BoardFact.CORRUPTED, call=CallFact.ENDED), "board-spoilt"),
    (Facts(board=BoardFact.UNREADABLE), "board-unreadable"),
    (Facts(question=QuestionFact.ANSWERED, call=CallFact.ENDED), "answer-there"),
    (Facts(question=QuestionFact.OPEN), "answer-missing"),
    (Facts(question=QuestionFact.OPEN, advance=True, pause=True), "answered-in-advance"),
    (Facts(question=QuestionFact.OPEN, pause=True), "paused-while-asking"),
    (Facts(settings=False), "settings-changed"),
    (Facts(settings=False, call=CallFact.ENDED), "call-over"),
    (Facts(pause=True), "paused"),
    (Facts(pause=True, call=CallFact.RUNNING), "agent-at-work"),
    (Facts(pause=True, call=CallFact.SUCCEEDED), "good"),
    (Facts(pause=True, step=StepFact.NONE, commit=CommitFact.DUE), "finished"),
    (Facts(pause=True, begun=False), "paused-between-stories"),
    (Facts(pause=True, target=TargetFact.FINISHED, retrospective=True), "paused-before-retrospective"),
    (Facts(pause=True, target=TargetFact.FINISHED), "all-over"),
    (Facts(checkpoint=True), "before-dev"),
    (Facts(checkpoint=True, begun=False), "between-stories"),
    (Facts(checkpoint=True, target=TargetFact.FINISHED, epic=EpicFact.OPEN), "epic-complete"),
    (Facts(call=CallFact.ENDED), "call-over"),
    (Facts(target=TargetFact.FINISHED, epic=EpicFact.OPEN), "epic-over"),
    (Facts(target=TargetFact.FINISHED, epic=EpicFact.CLOSED, commit=CommitFact.DUE), "epic-to-commit"),
    (Facts(target=TargetFact.FINISHED, epic=EpicFact.CLOSED), "all-over"),
    (Facts(target=TargetFact.EXCLUDED, epic=EpicFact.OPEN), "stories-left-out"),
    (Facts(target=TargetFact.FINISHED, retrospective=True), "retrospective-due"),
    (Facts(target=TargetFact.FINISHED, retrospective=True, slot=False), "retrospective-slot"),
    (Facts(target=TargetFact.FINISHED, retrospective=True, rest=BackoffFact.LIMIT), "retrospective-limit"),
    (Facts(target=TargetFact.FINISHED, retrospective=True, rest=BackoffFact.PAUSE), "retrospective-pause"),
    (Facts(target=TargetFact.FINISHED, retrospective=True, call=CallFact.REFUSED), "retrospective-due"),
    (Facts(target=TargetFact.FINISHED, epic=EpicFact.CLOSED, call=CallFact.ASKED), "retrospective-asked"),
    (Facts(target=TargetFact.FINISHED, epic=EpicFact.CLOSED, call=CallFact.FAILED), "retrospective-not-held"),
    (Facts(target=TargetFact.FINISHED, epic=EpicFact.CLOSED, call=CallFact.FAILED, attended=False), "all-over"),
    (Facts(target=TargetFact.FINISHED, epic=EpicFact.CLOSED, call=CallFact.SUCCEEDED), "all-over"),
    (Facts(row=RowFact.REMOVED), "story-gone"),
    (Facts(row=RowFact.EDITED), "row-edited"),
    (Facts(row=RowFact.UNVERIFIED), "row-unproved"),
    (Facts(row=RowFact.UNVERIFIED, one_step=True), "row-unproved"),
    (Facts(ground=False), "ground-unsafe"),
    (Facts(begun=False), "new-story"),
    (Facts(begun=False, left=True), "asked-before"),
    (Facts(call=CallFact.INCOMPLETE, row=RowFact.DUE), "claim-undone"),
    (Facts(call=CallFact.ASKED), "asked"),
    (Facts(call=CallFact.UNRECOVERABLE), "hopeless"),
    (Facts(call=CallFact.INCOMPLETE, tries=False), "failed-for-good"),
    (Facts(call=CallFact.INCOMPLETE), "call"),
    (Facts(call=CallFact.SUCCEEDED, gate=GateFact.DUE), "good-unchecked"),
    (Facts(call=CallFact.SUCCEEDED, gate=GateFact.CODE), "good-but-broken"),
    (Facts(call=CallFact.SUCCEEDED, gate=GateFact.CODE, rounds=False), "good-but-broken-again"),
    (Facts(call=CallFact.SUCCEEDED, gate=GateFact.SAME), "good-but-broken-again"),
    (Facts(call=CallFact.SUCCEEDED, gate=GateFact.ENVIRONMENT), "good-but-not-here"),
    (Facts(call=CallFact.SUCCEEDED, gate=GateFact.UNSTABLE), "good-but-restless"),
    (Facts(call=CallFact.SUCCEEDED, row=RowFact.DUE), "good-row"),
    (Facts(call=CallFact.SUCCEEDED), "good"),
    (Facts(call=CallFact.INCOMPLETE, row=RowFact.DUE, tries=False), "claim-undone"),
    (Facts(call=CallFact.UNRECOVERABLE, row=RowFact.DUE), "claim-undone"),
    (Facts(call=CallFact.CHANGES, rounds=False, row=RowFact.DUE), "changes-row"),
    (Facts(call=CallFact.CHANGES, rounds=False), "changes-without-end"),
    (Facts(call=CallFact.CHANGES, row=RowFact.DUE), "changes-row"),
    (Facts(call=CallFact.CHANGES, commit=CommitFact.DUE), "changes-commit"),
    (Facts(call=CallFact.CHANGES), "changes"),
    (Facts(step=StepFact.NONE, row=RowFact.DUE), "finished-row"),
    (Facts(step=StepFact.NONE, commit=CommitFact.DUE), "finished"),
    (Facts(step=StepFact.NONE), "stuck"),
    (Facts(rest=BackoffFact.LIMIT), "limit"),
    (Facts(rest=BackoffFact.PAUSE), "pause"),
    (Facts(budget=False), "budget-spent"),
    (Facts(epic=EpicFact.BACKLOG), "epic-begins"),
    (Facts(step=StepFact.REVIEW, gate=GateFact.DUE), "unchecked"),
    (Facts(step=StepFact.REVIEW, gate=GateFact.CODE), "broken"),
    (Facts(step=StepFact.REVIEW, gate=GateFact.CODE, fixes=False), "broken-for-good"),
    (Facts(step=StepFact.REVIEW, gate=GateFact.SAME), "broken-for-good"),
    (Facts(step=StepFact.REVIEW, gate=GateFact.ENVIRONMENT), "not-here"),
    (Facts(step=StepFact.REVIEW, gate=GateFact.UNSTABLE), "restless"),
    (Facts(step=StepFact.ALL_DONE, gate=GateFact.DUE), "unchecked"),
    (Facts(step=StepFact.ALL_DONE, gate=GateFact.CODE), "broken"),
    (Facts(step=StepFact.ALL_DONE), "through"),
    (Facts(row=RowFact.DUE), "row-first"),
    (Facts(tidy=False), "tidy-first"),
    (Facts(), "call"),
    (Facts(slot=False), "slot"),
    (Facts(step=StepFact.REVIEW, gate=GateFact.CODE, slot=False), "broken-slot"),
    (Facts(one_step=True), "one-step-done"),
    (Facts(one_step=True, row=RowFact.DUE), "row-first"),
    (Facts(target=TargetFact.FINISHED, epic=EpicFact.OPEN, ground=False), "epic-elsewhere"),
    (Facts(target=TargetFact.FINISHED, commit=CommitFact.DUE, ground=False), "epic-commit-elsewhere"),
]


@pytest.mark.parametrize(("facts", "rule"), EXAMPLES)
def test_what_is_done_when(facts: Facts, rule: str) -> None:
    assert decide(facts).name == rule


def test_every_row_can_be_reached() -> None:
    """test_to_merged.py has those of a delivery, test_through_flow.py those of flows."""
    there = {rule.name for rule in (*DELIVERY_RULES, *FLOW_RULES)} | {"deliver", "state-behind"}
    assert {rule for _, rule in EXAMPLES} == {rule.name for rule in TABLE} - there


@pytest.mark.parametrize(
    ("table", "fault"),
    [
        ((), "the last row does not fit everything"),
        ((Rule("a", {"stop": (True,)}, RuleAction.DETACH),), "the last row does not fit everything"),
        ((LAST._replace(when={"stop": (True,)}), LAST), "two rows are called stuck"),
        (
            (Rule("a", {"stop": (True,)}, RuleAction.DETACH), Rule("b", {"stop": (True,)}, RuleAction.FAIL), LAST),
            "b can never be reached: a stands above it",
        ),
        (
            (Rule("a", {}, RuleAction.DETACH), LAST),
            "stuck can never be reached: a stands above it",
        ),
        (
            (Rule("a", {"call": tuple(CallFact)}, RuleAction.DETACH), LAST),
            "stuck can never be reached: a stands above it",
        ),
        ((Rule("a", {"stop": ("yes",)}, RuleAction.DETACH), LAST), "a: stop is never ['yes']"),
        ((Rule("a", {"nothing": (True,)}, RuleAction.DETACH), LAST), "a: nothing is never [True]"),
        ((Rule("a", {"stop": ()}, RuleAction.DETACH), LAST), "a: stop is never []"),
        (
            (Rule("a", {"stop": (True,)}, RuleAction.ASK), LAST),
            "a: a question is named where one is asked, and nowhere else",
        ),
        (
            (Rule("a", {"stop": (True,)}, RuleAction.DETACH, "why"), LAST),
            "a: a question is named where one is asked, and nowhere else",
        ),
        (
            (Rule("a", {"stop": (True,)}, RuleAction.WAIT_FOR_LIMIT), LAST),
            "a: a wait has a bound and a wake-up, and nothing else has",
        ),
        (
            (Rule("a", {"stop": (True,)}, RuleAction.DETACH, wait=WAIT), LAST),
            "a: a wait has a bound and a wake-up, and nothing else has",
        ),
        (
            (Rule("a", {"stop": (True,)}, RuleAction.WAIT_FOR_LIMIT, wait=WAIT._replace(bound="")), LAST),
            "a: nothing ends this wait",
        ),
        (
            (Rule("a", {"stop": (True,)}, RuleAction.WAIT_FOR_LIMIT, wait=WAIT._replace(wakes=())), LAST),
            "a: nothing ends this wait",
        ),
        (
            (Rule("a", {"stop": (True,)}, RuleAction.WAIT_FOR_PULL, wait=WAIT), LAST),
            "a: a wait for a pull request says what it waits for, and nothing else does",
        ),
        (
            (Rule("a", {"stop": (True,)}, RuleAction.DETACH, pull_wait=PullWait.CHECKS), LAST),
            "a: a wait for a pull request says what it waits for, and nothing else does",
        ),
    ],
)
def test_each_fault_of_a_table_is_found(table: tuple[Rule, ...], fault: str) -> None:
    assert fault in list(find_table_problems(table))


@pytest.mark.parametrize(
    "action", [RuleAction.CHECK_OUT, RuleAction.PUSH, RuleAction.MERGE_BASE, RuleAction.MERGE_FOREIGN]
)
def test_what_may_wait_for_the_work_tree_says_what_ends_that(action: RuleAction) -> None:
    unbounded = "a: a wait has a bound and a wake-up, and nothing else has"
    assert list(find_table_problems((Rule("a", {"stop": (True,)}, action), LAST))) == [unbounded]
    assert list(find_table_problems((Rule("a", {"stop": (True,)}, action, wait=WAIT), LAST))) == []


def test_a_sound_table_has_none() -> None:
    sound = (
        Rule("a", {"stop": (True,)}, RuleAction.DETACH),
        Rule("b", {"call": (CallFact.RUNNING,)}, RuleAction.WAIT_FOR_AGENT, wait=WAIT),
        LAST,
    )
    assert list(find_table_problems(sound)) == []
