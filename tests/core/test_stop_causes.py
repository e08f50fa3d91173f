"""Why a person is asked: the words, what each offers, and the one table that maps everybody's words to them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.stop_causes import (
    AGENT,
    ALL,
    ASK,
    BUILD,
    CAUSE_MENUS,
    FIX,
    TRIGGERS,
    BlockReason,
    Cause,
    StopKind,
    allowed_choices,
    choose_by_policy,
    classify_build_block,
)


def test_every_cause_says_what_it_means_and_offers() -> None:
    assert CAUSE_MENUS.keys() == set(Cause)
    assert [cause for cause in Cause if not CAUSE_MENUS[cause].options] == [Cause.QUESTION]


def test_words_that_stand_in_files_stay_what_they_are() -> None:
    assert " ".join(Cause) == (
        "blocked failed hopeless checks environment rounds timeout conflict limit liar question epic-complete "
        "human-checkpoint settings budget ground left-out retrospective rows stuck restless forge foreign closed "
        "threads pull-rounds remote-checks silence merge optional gate boundary"
    )


# What is offered stands in question files: a run of before must still understand its answer.
OFFERED = {
    "blocked": ("BLOCKED", "retry skip fix abort"),
    "failed": ("FAILED", "retry skip fix abort"),
    "hopeless": ("STOPPED", "retry skip fix abort"),
    "checks": ("CHECKS FAIL", "retry skip fix abort"),
    "environment": ("CHECKS CANNOT RUN", "retry skip fix abort"),
    "rounds": ("CHANGES REQUESTED", "more approve skip fix abort"),
    "timeout": ("TIMED OUT", "retry skip fix extend abort"),
    "conflict": ("MERGE CONFLICT", "retry abort"),
    "limit": ("LIMIT", "retry skip fix abort"),
    "liar": ("NOT DONE", "retry skip fix abort"),
    "question": ("ASKS", ""),
    "epic-complete": ("COMPLETE", "continue fix abort"),
    "human-checkpoint": ("CHECKPOINT", "continue fix abort"),
    "settings": ("SETTINGS CHANGED", "new old abort"),
    "budget": ("CAP REACHED", "more stop"),
    "ground": ("NO PLACE TO WORK", "retry abort"),
    "left-out": ("NOT WHOLE", "close leave"),
    "retrospective": ("NO RETROSPECTIVE", "retry leave"),
    "rows": ("BOARD MOVED", "mine undo"),
    "stuck": ("STUCK", "retry abort"),
    "restless": ("NEVER THE SAME", "retry skip fix abort"),
    "forge": ("NO WAY TO THE FORGE", "retry abort"),
    "foreign": ("NOT OUR COMMITS", "take retry abort"),
    "closed": ("CLOSED", "reopen retry abort"),
    "threads": ("DISAGREEMENT", "insist resolve leave abort"),
    "pull-rounds": ("NOT ENOUGH ROUNDS", "more retry abort"),
    "remote-checks": ("CHECKS ON THE FORGE", "retry without abort"),
    "silence": ("NO REVIEW", "wait without abort"),
    "merge": ("NOT MERGED", "retry accept abort"),
    "optional": ("OPTIONAL", "run skip"),
    "gate": ("ENOUGH?", "again proceed"),
    "boundary": ("SESSION OVER", "new-session continue"),
}


def test_what_each_cause_offers_and_is_called() -> None:
    assert {str(cause): (offer.head, " ".join(offer.options)) for cause, offer in CAUSE_MENUS.items()} == OFFERED
    assert (StopKind.QUESTION, StopKind.INTERVENTION) == ("question", "intervention")
    assert sorted({one.source for one in TRIGGERS}) == ["agent state", "build", "trigger"]


def test_of_all_causes_one_can_say_what_several_offer() -> None:
    assert allowed_choices(ALL) == ("ask", "retry", "skip", "abort", "more", "extend", "continue", "leave")
    assert "without" in allowed_choices(Cause.NO_REVIEW), "a proof is waived for one cause, never for all"
    assert allowed_choices(Cause.ROUNDS) == ("ask", "more", "approve", "skip", "abort")


@pytest.mark.parametrize(
    ("condition", "says"),
    [
        ("It did not converge in 5 rounds", "review repair loop exceeded 5 iterations"),
        ("the supplied file says blocked", "blocked spec supplied"),
    ],
)
def test_a_build_in_other_words(condition: str, says: str) -> None:
    assert classify_build_block(condition).condition == says


@pytest.mark.parametrize("cause", [*Cause, ALL])
def test_a_policy_never_chooses_to_fix_by_hand(cause: str) -> None:
    assert allowed_choices(cause)[0] == ASK
    assert FIX not in allowed_choices(cause)


@pytest.mark.parametrize(
    ("policy", "cause", "choice"),
    [
        ({}, Cause.BLOCKED, "ask"),
        ({"blocked": "skip"}, Cause.BLOCKED, "skip"),
        ({"blocked": "skip"}, Cause.FAILED, "ask"),
        ({"all": "skip"}, Cause.FAILED, "skip"),
        ({"all": "skip", "failed": "retry"}, Cause.FAILED, "retry"),
        ({"all": "skip", "failed": "ask"}, Cause.FAILED, "ask"),
        ({"all": "skip"}, Cause.BUDGET, "ask"),  # which offers no such thing
        ({"all": "skip"}, Cause.QUESTION, "ask"),
        ({"all": "extend"}, Cause.TIMEOUT, "extend"),
        ({"all": "skip"}, "of a newer version", "ask"),
        ({"blocked": "fix"}, Cause.BLOCKED, "ask"),
    ],
)
def test_what_a_policy_chooses(policy: dict[str, str], cause: str, choice: str) -> None:
    assert choose_by_policy(policy, cause) == choice


@given(st.dictionaries(st.sampled_from([*Cause, ALL]), st.sampled_from([ASK, "skip", "retry", "x"])), st.text())
def test_a_policy_chooses_only_what_is_offered(policy: dict[str, str], any: str) -> None:
    for cause in (*Cause, any):
        choice = choose_by_policy(policy, cause)
        assert choice == ASK or choice in CAUSE_MENUS[Cause(cause)].options


@pytest.mark.parametrize(
    ("condition", "kind", "cause", "reason"),
    [
        ("intent unclear", StopKind.QUESTION, Cause.QUESTION, BlockReason.CRITICAL_DECISION),
        ("Ambiguous scope", StopKind.QUESTION, Cause.QUESTION, BlockReason.CRITICAL_DECISION),
        ("merge conflict", StopKind.QUESTION, Cause.QUESTION, BlockReason.CRITICAL_DECISION),
        ("no continuity", StopKind.QUESTION, Cause.QUESTION, BlockReason.CRITICAL_DECISION),
        ("unrecognized input", StopKind.QUESTION, Cause.QUESTION, BlockReason.CRITICAL_DECISION),
        ("subagent cannot be started", StopKind.INTERVENTION, Cause.UNRECOVERABLE, BlockReason.NO_RESOURCE),
        ("a file is missing", StopKind.INTERVENTION, Cause.FAILED, BlockReason.NO_RESOURCE),
        ("the spec disappeared", StopKind.INTERVENTION, Cause.FAILED, BlockReason.NO_RESOURCE),
        ("work tree dirty", StopKind.INTERVENTION, Cause.UNRECOVERABLE, BlockReason.NO_RESOURCE),
        ("tests still fail", StopKind.INTERVENTION, Cause.BLOCKED, BlockReason.HUMAN_REVIEW_REQUIRED),
        (
            "Patch verification failed: 2 tests",
            StopKind.INTERVENTION,
            Cause.CHECKS,
            BlockReason.HUMAN_REVIEW_REQUIRED,
        ),
        ("", StopKind.INTERVENTION, Cause.BLOCKED, BlockReason.HUMAN_REVIEW_REQUIRED),
    ],
)
def test_a_builds_condition_in_our_words(
    condition: str, kind: StopKind, cause: Cause, reason: BlockReason
) -> None:
    found = classify_build_block(condition)
    assert (found.kind, found.cause, found.reason) == (kind, cause, reason)


def test_every_reason_of_a_build_finds_its_own_row() -> None:
    for one in TRIGGERS:
        if one.source == BUILD:
            assert classify_build_block(one.condition) == one


def test_all_five_reasons_of_an_agent_are_mapped_to_themselves() -> None:
    assert {one.condition: one.reason for one in TRIGGERS if one.source == AGENT} == {r: r for r in BlockReason}


@given(st.text())
def test_any_condition_is_something(condition: str) -> None:
    assert classify_build_block(condition).source == BUILD
