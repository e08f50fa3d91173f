"""The rows from a finished epic to a merged pull request: what leads to each one, and that nothing less does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.decide import decide
from bmad_autopilot.core.facts import (
    VALUES,
    Base,
    Call,
    Ci,
    Delivery,
    Facts,
    Forge,
    Gate,
    Line,
    Merge,
    Proof,
    Pull,
    Question,
    Review,
    Target,
    Threads,
)
from bmad_autopilot.core.rules import Action, Phase, Wake
from bmad_autopilot.core.table import TABLE
from bmad_autopilot.core.to_merged import TO_MERGED

READY = Facts(
    delivery=Delivery.ON, target=Target.OVER, ci=Ci.GREEN, review=Review.ENOUGH, merge=Merge.FREE, cleared=True
)

ROWS: list[tuple[str, Action | str, dict[str, object]]] = [
    ("delivery-paused", Action.LEAVE, {"pause": True}),
    ("forge-refused", "forge", {"forge": Forge.REFUSED}),
    ("forge-away", Action.WAIT_FOR_FORGE, {"forge": Forge.AWAY}),
    ("merged-unproven", Action.PROVE, {"pull": Pull.MERGED, "proof": Proof.NONE}),
    ("merged-otherwise", "otherwise", {"pull": Pull.MERGED, "proof": Proof.DIFFERS}),
    ("merged-branch", Action.CLEAR_BRANCH, {"pull": Pull.MERGED, "proof": Proof.SAME, "cleared": False}),
    ("delivered", Action.FINISH, {"pull": Pull.MERGED, "proof": Proof.SAME}),
    ("pull-closed", "closed", {"pull": Pull.CLOSED}),
    ("pull-retargeted", "retargeted", {"pull": Pull.RETARGETED}),
    ("work-tree-blocked", "work-tree", {"usable": False}),
    ("foreign-allowed", Action.TAKE_FOREIGN, {"line": Line.ALLOWED}),
    ("foreign-commits", "foreign", {"line": Line.FOREIGN}),
    ("unproven-elsewhere", Action.STAND, {"gate": Gate.DUE, "here": False}),
    ("unproven", Action.CHECK, {"gate": Gate.DUE}),
    ("unfit-elsewhere", Action.STAND, {"gate": Gate.CODE, "here": False}),
    ("unfit", Action.OPEN_ROUND, {"gate": Gate.CODE, "rounds": True}),
    ("unfit-for-good", "unfit", {"gate": Gate.SAME}),
    ("unfit-here", "unfit-here", {"gate": Gate.ENVIRONMENT}),
    ("unpushed", Action.PUSH, {"line": Line.AHEAD}),
    ("pull-wanted", Action.REOPEN, {"pull": Pull.WANTED}),
    ("no-pull", Action.OPEN_PULL, {"pull": Pull.NONE}),
    ("unlabelled", Action.LABEL, {"labelled": False}),
    ("stacked", Action.RETARGET, {"aim": False}),
    ("in-the-queue", Action.WAIT_FOR_PULL, {"merge": Merge.QUEUED}),
    ("conflict-elsewhere", Action.STAND, {"base": Base.MENDABLE, "here": False}),
    ("conflict-mendable", Action.OPEN_ROUND, {"base": Base.MENDABLE, "rounds": True}),
    ("conflict", "base-conflict", {"base": Base.CONFLICT}),
    ("reply-due", Action.REPLY, {"threads": Threads.REPLY}),
    ("resolve-due", Action.RESOLVE, {"threads": Threads.RESOLVE}),
    ("check-flaky", Action.RERUN, {"ci": Ci.FLAKY}),
    ("points-elsewhere", Action.STAND, {"threads": Threads.OPEN, "here": False}),
    ("points", Action.OPEN_ROUND, {"threads": Threads.OPEN, "rounds": True}),
    ("points-without-end", "pull-rounds", {"threads": Threads.OPEN, "rounds": False}),
    ("red-behind", Action.TAKE_BASE, {"ci": Ci.RED, "base": Base.MOVED}),
    ("red-elsewhere", Action.STAND, {"ci": Ci.RED, "here": False}),
    ("red", Action.OPEN_ROUND, {"ci": Ci.RED, "rounds": True}),
    ("red-without-end", "pull-rounds", {"ci": Ci.RED, "rounds": False}),
    ("disputed", "disputed", {"threads": Threads.DISPUTED}),
    ("review-due", Action.REQUEST_REVIEW, {"review": Review.DUE}),
    ("checks-fresh", Action.NOTE_GREEN, {"ci": Ci.FRESH}),
    ("checks-stopped", "ci", {"ci": Ci.STOPPED}),
    ("checks-late", "ci-late", {"ci": Ci.LATE}),
    ("checks-missing", "no-checks", {"ci": Ci.NONE}),
    ("checks-run", Action.WAIT_FOR_PULL, {"ci": Ci.PENDING}),
    ("review-silent", "silence", {"review": Review.SILENT}),
    ("review-waited", Action.WAIT_FOR_PULL, {"review": Review.WAITED}),
    ("approval-late", "approval-late", {"merge": Merge.LATE}),
    ("threads-strange", Action.WAIT_FOR_PULL, {"threads": Threads.STRANGE}),
    ("by-hand", Action.WAIT_FOR_PULL, {"merge": Merge.MANUAL}),
    ("robot-due", Action.START_ROBOT, {"merge": Merge.UNAPPROVED, "robot": False}),
    ("unapproved", Action.WAIT_FOR_PULL, {"merge": Merge.UNAPPROVED}),
    ("not-its-turn", Action.WAIT_FOR_PULL, {"turn": False}),
    ("base-restless", "base-restless", {"base": Base.RESTLESS}),
    ("base-moved", Action.TAKE_BASE, {"base": Base.MOVED}),
    ("blocked", Action.WAIT_FOR_PULL, {"merge": Merge.BLOCKED}),
    ("merge-refused", "merge-refused", {"merge": Merge.REFUSED}),
    ("merge", Action.MERGE, {}),
]
SAME = {("unfit-for-good", Gate.CODE), ("conflict", Base.MENDABLE)}  # with rounds left it is another row

every_fact = st.builds(Facts, **{name: st.sampled_from(values) for name, values in VALUES.items()})


def facts_for(when: dict[str, object]) -> Facts:
    return READY._replace(**when)  # type: ignore[arg-type]


def test_there_is_an_example_for_every_row() -> None:
    assert [name for name, _, _ in ROWS] == [rule.name for rule in TO_MERGED]


@pytest.mark.parametrize(("name", "does", "when"), ROWS, ids=[name for name, _, _ in ROWS])
def test_what_leads_to_a_row_and_what_it_does(name: str, does: Action | str, when: dict[str, object]) -> None:
    rule = decide(facts_for(when))
    assert rule.name == name
    if isinstance(does, Action):
        assert (rule.action, rule.question) == (does, "")
    else:
        assert (rule.action, rule.question) == (Action.ASK, does)
    assert rule.phase is not None


@pytest.mark.parametrize(("name", "does", "when"), ROWS, ids=[name for name, _, _ in ROWS])
def test_each_of_its_values_counts_and_no_other(name: str, does: Action | str, when: dict[str, object]) -> None:
    facts = facts_for(when)
    for fact, named in when.items():
        for value in VALUES[fact]:
            found = decide(facts._replace(**{fact: value})).name  # type: ignore[arg-type]
            assert (found == name) == (value == named) or (name, value) in SAME, (fact, value)


@given(every_fact)
def test_nothing_is_merged_that_is_not_green_answered_approved_and_on_its_base(facts: Facts) -> None:
    if decide(facts).action is not Action.MERGE:
        return
    assert facts.delivery is Delivery.ON
    assert (facts.ci, facts.review, facts.threads) == (Ci.GREEN, Review.ENOUGH, Threads.NONE)
    assert (facts.merge, facts.base, facts.gate) == (Merge.FREE, Base.IN, Gate.PASSED)
    assert (facts.line, facts.pull, facts.forge) == (Line.EVEN, Pull.OPEN, Forge.FINE)
    assert facts.question is Question.NONE
    assert facts.aim
    assert not facts.stop
    assert not facts.pause


@given(every_fact)
def test_nothing_is_pushed_over_what_is_not_ours_or_was_not_checked_here(facts: Facts) -> None:
    if decide(facts).action is Action.PUSH:
        assert facts.line is Line.AHEAD
        assert facts.gate is Gate.PASSED


@given(every_fact)
def test_where_nobody_has_looked_nothing_is_merged(facts: Facts) -> None:
    unseen = Facts(delivery=Delivery.ON, question=facts.question, pause=facts.pause, call=Call.NONE)
    assert decide(unseen).action is not Action.MERGE


def test_a_delivery_begins_where_the_stories_end() -> None:
    over = Facts(target=Target.OVER, delivery=Delivery.DUE)
    assert decide(over).name == "deliver"
    assert decide(over._replace(delivery=Delivery.OFF)).name == "all-over"
    assert decide(over._replace(target=Target.LEFT_OUT)).name != "deliver"
    assert decide(over._replace(target=Target.STORY)).name != "deliver"
    assert decide(over).phase is Phase.CREATE_PR


def test_a_branch_that_nobody_has_seen_cleared_is_not() -> None:
    merged = Facts(delivery=Delivery.ON, target=Target.OVER, pull=Pull.MERGED, proof=Proof.SAME)
    assert decide(merged).action is Action.CLEAR_BRANCH


def test_what_waits_for_others_is_woken_by_a_look_at_the_forge() -> None:
    waits = [rule for rule in TABLE if rule.action is Action.WAIT_FOR_PULL]
    assert all(rule.wait is not None and Wake.FORGE in rule.wait.wakes for rule in waits)
