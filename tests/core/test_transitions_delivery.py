"""The rows from a finished epic to a merged pull request: what leads to each one, and that nothing less does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.decide import decide
from bmad_autopilot.core.facts import (
    FACT_VALUES,
    BaseFact,
    BranchFact,
    CallFact,
    CiFact,
    DeliveryFact,
    Facts,
    ForgeFact,
    GateFact,
    MergeFact,
    ProofFact,
    PullFact,
    QuestionFact,
    RequestedReviewFact,
    TargetFact,
    ThreadsFact,
)
from bmad_autopilot.core.transitions import (
    DELIVERY_RULES,
    TABLE,
    CommitKind,
    EpicPhase,
    FixInput,
    PullWait,
    RoundCause,
    Rule,
    RuleAction,
    WakeSource,
)

READY = Facts(
    delivery=DeliveryFact.ON,
    target=TargetFact.FINISHED,
    ci=CiFact.GREEN,
    review=RequestedReviewFact.SUFFICIENT,
    merge=MergeFact.READY,
    cleared=True,
)

ROWS: list[tuple[str, RuleAction | str, dict[str, object]]] = [
    ("delivery-paused", RuleAction.DETACH, {"pause": True}),
    ("forge-refused", "forge", {"forge": ForgeFact.REFUSED}),
    ("forge-away", RuleAction.WAIT_FOR_FORGE, {"forge": ForgeFact.UNAVAILABLE}),
    ("merged-unproven", RuleAction.VERIFY_MERGE, {"pull": PullFact.MERGED, "proof": ProofFact.NONE}),
    ("merged-otherwise", "otherwise", {"pull": PullFact.MERGED, "proof": ProofFact.DIFFERS}),
    (
        "merged-branch",
        RuleAction.DELETE_BRANCH,
        {"pull": PullFact.MERGED, "proof": ProofFact.SAME, "cleared": False},
    ),
    ("delivered", RuleAction.FINISH, {"pull": PullFact.MERGED, "proof": ProofFact.SAME}),
    ("pull-closed", "closed", {"pull": PullFact.CLOSED}),
    ("pull-retargeted", "retargeted", {"pull": PullFact.RETARGETED}),
    ("work-tree-blocked", "work-tree", {"usable": False}),
    ("foreign-allowed", RuleAction.MERGE_FOREIGN, {"line": BranchFact.ALLOWED}),
    ("foreign-commits", "foreign", {"line": BranchFact.FOREIGN}),
    ("unproven-elsewhere", RuleAction.CHECK_OUT, {"gate": GateFact.DUE, "here": False}),
    ("unproven", RuleAction.CHECK, {"gate": GateFact.DUE}),
    ("unfit-elsewhere", RuleAction.CHECK_OUT, {"gate": GateFact.CODE, "here": False}),
    ("unfit", RuleAction.START_FIX_ROUND, {"gate": GateFact.CODE, "rounds": True}),
    ("unfit-for-good", "unfit", {"gate": GateFact.SAME}),
    ("unfit-here", "unfit-here", {"gate": GateFact.ENVIRONMENT}),
    ("unpushed", RuleAction.PUSH, {"line": BranchFact.AHEAD}),
    ("pull-wanted", RuleAction.REOPEN, {"pull": PullFact.REOPEN_REQUESTED}),
    ("no-pull", RuleAction.OPEN_PULL, {"pull": PullFact.NONE}),
    ("unlabelled", RuleAction.LABEL, {"labelled": False}),
    ("stacked", RuleAction.RETARGET, {"aim": False}),
    ("in-the-queue", RuleAction.WAIT_FOR_PULL, {"merge": MergeFact.QUEUED}),
    ("conflict-elsewhere", RuleAction.CHECK_OUT, {"base": BaseFact.RESOLVABLE, "here": False}),
    ("conflict-mendable", RuleAction.START_FIX_ROUND, {"base": BaseFact.RESOLVABLE, "rounds": True}),
    ("conflict", "base-conflict", {"base": BaseFact.CONFLICT}),
    ("reply-due", RuleAction.REPLY, {"threads": ThreadsFact.REPLY}),
    ("resolve-due", RuleAction.RESOLVE, {"threads": ThreadsFact.RESOLVE}),
    ("check-flaky", RuleAction.RERUN, {"ci": CiFact.FLAKY}),
    ("points-elsewhere", RuleAction.CHECK_OUT, {"threads": ThreadsFact.OPEN, "here": False}),
    ("points", RuleAction.START_FIX_ROUND, {"threads": ThreadsFact.OPEN, "rounds": True}),
    ("points-without-end", "pull-rounds", {"threads": ThreadsFact.OPEN, "rounds": False}),
    ("red-behind", RuleAction.MERGE_BASE, {"ci": CiFact.RED, "base": BaseFact.MOVED}),
    ("red-elsewhere", RuleAction.CHECK_OUT, {"ci": CiFact.RED, "here": False}),
    ("red", RuleAction.START_FIX_ROUND, {"ci": CiFact.RED, "rounds": True}),
    ("red-without-end", "pull-rounds", {"ci": CiFact.RED, "rounds": False}),
    ("disputed", "disputed", {"threads": ThreadsFact.DISPUTED}),
    ("review-due", RuleAction.REQUEST_REVIEW, {"review": RequestedReviewFact.DUE}),
    ("checks-fresh", RuleAction.RECORD_GREEN, {"ci": CiFact.SETTLING}),
    ("checks-stopped", "ci", {"ci": CiFact.STOPPED}),
    ("checks-late", "ci-late", {"ci": CiFact.OVERDUE}),
    ("checks-missing", "no-checks", {"ci": CiFact.NONE}),
    ("checks-run", RuleAction.WAIT_FOR_PULL, {"ci": CiFact.PENDING}),
    ("review-silent", "silence", {"review": RequestedReviewFact.OVERDUE}),
    ("review-waited", RuleAction.WAIT_FOR_PULL, {"review": RequestedReviewFact.PENDING}),
    ("approval-late", "approval-late", {"merge": MergeFact.OVERDUE}),
    ("threads-strange", RuleAction.WAIT_FOR_PULL, {"threads": ThreadsFact.UNTRUSTED}),
    ("by-hand", RuleAction.WAIT_FOR_PULL, {"merge": MergeFact.MANUAL}),
    ("robot-due", RuleAction.START_AUTO_APPROVE, {"merge": MergeFact.UNAPPROVED, "robot": False}),
    ("unapproved", RuleAction.WAIT_FOR_PULL, {"merge": MergeFact.UNAPPROVED}),
    ("not-its-turn", RuleAction.WAIT_FOR_PULL, {"turn": False}),
    ("base-restless", "base-restless", {"base": BaseFact.UNSTABLE}),
    ("base-moved", RuleAction.MERGE_BASE, {"base": BaseFact.MOVED}),
    ("blocked", RuleAction.WAIT_FOR_PULL, {"merge": MergeFact.BLOCKED}),
    ("merge-refused", "merge-refused", {"merge": MergeFact.REFUSED}),
    ("merge", RuleAction.MERGE, {}),
]
SAME = {("unfit-for-good", GateFact.CODE), ("conflict", BaseFact.RESOLVABLE)}  # with rounds left it is another row

every_fact = st.builds(Facts, **{name: st.sampled_from(values) for name, values in FACT_VALUES.items()})


def facts_for(when: dict[str, object]) -> Facts:
    return READY._replace(**when)  # type: ignore[arg-type]


def test_there_is_an_example_for_every_row() -> None:
    assert [name for name, _, _ in ROWS] == [rule.name for rule in DELIVERY_RULES]


@pytest.mark.parametrize(("name", "does", "when"), ROWS, ids=[name for name, _, _ in ROWS])
def test_what_leads_to_a_row_and_what_it_does(name: str, does: RuleAction | str, when: dict[str, object]) -> None:
    rule = decide(facts_for(when))
    assert rule.name == name
    if isinstance(does, RuleAction):
        assert (rule.action, rule.question) == (does, "")
    else:
        assert (rule.action, rule.question) == (RuleAction.ASK, does)
    assert rule.phase is not None


@pytest.mark.parametrize(("name", "does", "when"), ROWS, ids=[name for name, _, _ in ROWS])
def test_each_of_its_values_counts_and_no_other(
    name: str, does: RuleAction | str, when: dict[str, object]
) -> None:
    facts = facts_for(when)
    for fact, named in when.items():
        for value in FACT_VALUES[fact]:
            found = decide(facts._replace(**{fact: value})).name  # type: ignore[arg-type]
            assert (found == name) == (value == named) or (name, value) in SAME, (fact, value)


@given(every_fact)
def test_nothing_is_merged_that_is_not_green_answered_approved_and_on_its_base(facts: Facts) -> None:
    if decide(facts).action is not RuleAction.MERGE:
        return
    assert facts.delivery is DeliveryFact.ON
    assert (facts.ci, facts.review, facts.threads) == (
        CiFact.GREEN,
        RequestedReviewFact.SUFFICIENT,
        ThreadsFact.NONE,
    )
    assert (facts.merge, facts.base, facts.gate) == (MergeFact.READY, BaseFact.UP_TO_DATE, GateFact.PASSED)
    assert (facts.line, facts.pull, facts.forge) == (BranchFact.IN_SYNC, PullFact.OPEN, ForgeFact.FINE)
    assert facts.question is QuestionFact.NONE
    assert facts.aim
    assert not facts.stop
    assert not facts.pause


@given(every_fact)
def test_nothing_is_pushed_over_what_is_not_ours_or_was_not_checked_here(facts: Facts) -> None:
    if decide(facts).action is RuleAction.PUSH:
        assert facts.line is BranchFact.AHEAD
        assert facts.gate is GateFact.PASSED


@given(every_fact)
def test_where_nobody_has_looked_nothing_is_merged(facts: Facts) -> None:
    unseen = Facts(delivery=DeliveryFact.ON, question=facts.question, pause=facts.pause, call=CallFact.NONE)
    assert decide(unseen).action is not RuleAction.MERGE


def test_a_delivery_begins_where_the_stories_end() -> None:
    over = Facts(target=TargetFact.FINISHED, delivery=DeliveryFact.DUE)
    assert decide(over).name == "deliver"
    assert decide(over._replace(delivery=DeliveryFact.OFF)).name == "all-over"
    assert decide(over._replace(target=TargetFact.EXCLUDED)).name != "deliver"
    assert decide(over._replace(target=TargetFact.STORY)).name != "deliver"
    assert decide(over).phase is EpicPhase.CREATE_PR


def test_a_branch_that_nobody_has_seen_cleared_is_not() -> None:
    merged = Facts(
        delivery=DeliveryFact.ON, target=TargetFact.FINISHED, pull=PullFact.MERGED, proof=ProofFact.SAME
    )
    assert decide(merged).action is RuleAction.DELETE_BRANCH


def test_what_waits_for_others_is_woken_by_a_look_at_the_forge() -> None:
    waits = [rule for rule in TABLE if rule.action is RuleAction.WAIT_FOR_PULL]
    assert all(rule.wait is not None and WakeSource.FORGE in rule.wait.wakes for rule in waits)


PARAMETERS = ("round_cause", "commit_kind", "fix_input", "pull_wait", "needs_turn")


def test_rules_carry_these_parameters_and_no_others() -> None:
    found = {
        rule.name: {name: getattr(rule, name) for name in PARAMETERS if getattr(rule, name) != usual[name]}
        for usual in (Rule._field_defaults,)
        for rule in TABLE
    }
    assert {name: parameters for name, parameters in found.items() if parameters} == {
        "unfit": {"fix_input": FixInput.CHECKS},
        "conflict-mendable": {"fix_input": FixInput.CONFLICT},
        "in-the-queue": {"pull_wait": PullWait.QUEUE},
        "checks-run": {"pull_wait": PullWait.CHECKS},
        "review-waited": {"pull_wait": PullWait.REVIEW},
        "threads-strange": {"pull_wait": PullWait.THREADS},
        "by-hand": {"pull_wait": PullWait.PERSON},
        "unapproved": {"pull_wait": PullWait.APPROVAL},
        "not-its-turn": {"pull_wait": PullWait.TURN},
        "blocked": {"pull_wait": PullWait.BRANCH_RULES},
        "base-moved": {"needs_turn": True},
        "flow-commit": {"commit_kind": CommitKind.FLOW_STEP},
        "epic-to-commit": {"commit_kind": CommitKind.EPIC},
        "changes-commit": {"commit_kind": CommitKind.REVIEW_ROUND},
        "tidy-first": {"commit_kind": CommitKind.CLEAN_TREE},
        "good-but-broken": {"round_cause": RoundCause.CHECKS},
    }
