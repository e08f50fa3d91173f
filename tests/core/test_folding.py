"""A run's record, folded from its journal: never an error, one entry after another, and what each entry means."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.folding import _KINDS, apply, fold
from bmad_autopilot.core.records import RunRecord, StoryRecord
from bmad_autopilot.sim.simulate import play

STORY = "1-1-a"

Entry = tuple[str, dict[str, Any], float]

anything = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 9) | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
names = st.sampled_from(
    "story key number attempt step round cause before after status finding row means question code label sha "
    "dollars tokens seconds passed otherwise finished why summary until baseline tree".split()
)
sensible = st.sampled_from([STORY, "1-2-b", 1, 2, "again", "skip", "good", "lacking", "done", "review", "q1"])
entries = st.lists(
    st.tuples(
        st.sampled_from([*_KINDS, "left", "from-the-future"]),
        st.dictionaries(names, sensible | anything, max_size=8),
        st.floats(0, 1e9),
    ),
    max_size=25,
)


@given(entries)
def test_no_journal_is_an_error(journal: list[Entry]) -> None:
    fold(journal)


@given(entries)
def test_a_journal_is_folded_entry_by_entry(journal: list[Entry]) -> None:
    one_by_one = RunRecord()
    for kind, data, at in deepcopy(journal):
        apply(one_by_one, kind, data, at)
    assert one_by_one == fold(journal)


@pytest.mark.parametrize("seed", [3, 8, 21])
def test_what_is_folded_after_a_crash_is_what_was_known_before_it(seed: int) -> None:
    for journal in play(seed).world.journals.values():
        half = len(journal) // 2
        run = fold(journal[:half])
        for kind, data, at in journal[half:]:
            apply(run, kind, data, at)
        assert run == fold(journal)


def story(*more: Entry) -> StoryRecord:
    begun: list[Entry] = [
        ("run", {"run_id": "r"}, 1.0),
        ("story", {"story": STORY, "baseline": "b", "tree": "t", "code": "c", "status": "backlog"}, 2.0),
        ("step", {"story": STORY, "number": 1, "step": "dev", "round": 1, "cause": ""}, 3.0),
        ("call", {"story": STORY, "number": 1, "attempt": 1}, 4.0),
    ]
    return fold([*begun, *more]).stories[STORY]


def ended(**data: Any) -> Entry:
    return ("ended", {"story": STORY, "number": 1, "attempt": 1, "finding": "good", **data}, 5.0)


def asked(**data: Any) -> Entry:
    return ("asked", {"question": "q1", "code": "failed", "story": STORY, "number": 1, **data}, 6.0)


def answered(means: str) -> Entry:
    return ("answered", {"question": "q1", "answer": "x", "means": means}, 7.0)


def test_a_call_is_taken_in_once() -> None:
    twice = story(ended(), ended(finding="lacking"))
    assert twice.steps[0].calls[0].finding == "good"


def test_a_call_meant_twice_is_one_call() -> None:
    again = story(("call", {"story": STORY, "number": 1, "attempt": 1}, 5.0))
    assert len(again.steps[0].calls) == 1


def test_what_a_call_costs_is_counted() -> None:
    run = fold(
        [
            ("step", {"story": STORY, "number": 1, "step": "dev", "round": 1}, 3.0),
            ("call", {"story": STORY, "number": 1, "attempt": 1}, 4.0),
            ended(dollars=0.5, tokens=10, seconds=60.0),
            ("call", {"story": STORY, "number": 1, "attempt": 2}, 4.0),
            ("ended", {"story": STORY, "number": 1, "attempt": 2, "dollars": None}, 9.0),
        ]
    )
    assert (run.dollars, run.tokens, run.seconds, run.unpriced) == (0.5, 10, 60.0, 1)


def test_a_step_is_passed_when_it_is_accepted() -> None:
    accepted = ("accepted", {"story": STORY, "number": 1, "step": "dev", "row": "review"}, 6.0)
    passed = story(ended(row="review"), accepted)
    assert (passed.passed, passed.current, passed.expected, passed.claim) == (["dev"], None, "review", "")


def test_a_mend_passes_no_step_and_marks_the_checks_it_was_made_for() -> None:
    run = fold(
        [
            ("step", {"story": STORY, "number": 1, "step": "dev", "round": 1, "cause": "checks"}, 3.0),
            ("check", {"code": "c", "passed": False}, 4.0),
            ("accepted", {"story": STORY, "number": 1, "step": "dev"}, 5.0),
        ]
    )
    assert run.stories[STORY].passed == []
    assert run.stories[STORY].fixes == 1
    assert run.checks["c"].fixed_since


def test_what_an_agent_made_of_its_row_stands_as_a_claim_until_we_set_it() -> None:
    assert story(ended(row="done")).claim == "done"
    setting = ("row", {"key": STORY, "before": "done", "after": "in-progress"}, 6.0)
    meant = story(ended(row="done"), setting)
    assert (meant.claim, meant.came_from, meant.expected) == ("", "done", "in-progress")
    done = story(ended(row="done"), setting, ("row-set", {"key": STORY}, 7.0))
    assert (done.came_from, done.expected) == ("in-progress", "in-progress")


def test_a_round_after_failed_checks_leaves_the_claim_to_be_corrected() -> None:
    """A reviewer that sets its row to done and breaks the build must not be taken for a person."""
    sent_back = story(ended(row="done"), ("round", {"story": STORY, "round": 2, "why": "checks", "row": ""}, 6.0))
    assert sent_back.claim == "done"
    assert sent_back.round == 2


def test_a_persons_edit_overtakes_the_step_in_hand() -> None:
    edited = story(ended(row="review"), ("edited", {"story": STORY, "status": "backlog"}, 6.0))
    assert (edited.current, edited.expected, edited.claim, edited.passed) == (None, "backlog", "", [])


def test_a_story_that_comes_back_to_the_board_begins_where_the_board_says() -> None:
    back = story(ended(), ("gone", {"story": STORY}, 6.0), ("story", {"story": STORY, "status": "review"}, 7.0))
    assert (back.gone, back.current, back.expected, back.baseline) == (False, None, "review", "b")


def test_try_again_forgives_what_went_before() -> None:
    again = story(ended(finding="failed"), asked(), answered("again"))
    assert again.steps[0].again
    assert again.steps[0].forgiven == 1


def test_a_skipped_story_has_no_step_in_hand() -> None:
    skipped = story(ended(finding="failed"), asked(), answered("skip"))
    assert skipped.skipped
    assert skipped.current is None


def test_a_story_handed_over_is_looked_at_anew() -> None:
    handed = story(ended(finding="failed"), asked(), answered("hand-over"))
    assert (handed.current, handed.passed, handed.skipped) == (None, [], False)
    assert handed.steps[0].calls[0].handed_over


def test_otherwise_takes_what_the_evidence_said() -> None:
    finding = {"finding": "asked", "asks": "rows", "otherwise": {"finding": "lacking", "asks": ""}}
    taken = story(ended(**finding), asked(code="rows"), answered("otherwise"))
    assert taken.steps[0].calls[0].finding == "lacking"


def test_more_rounds_are_counted_from_the_next_one() -> None:
    more = story(asked(code="rounds"), answered("more-rounds"))
    assert more.counted_from == 2


def test_more_fixes_give_the_same_tree_another_try() -> None:
    run = fold(
        [
            ("step", {"story": STORY, "number": 1, "step": "dev", "round": 1, "cause": "checks"}, 1.0),
            ("check", {"code": "c", "passed": False, "fixed_since": True}, 2.0),
            asked(code="checks"),
            answered("more-fixes"),
        ]
    )
    assert run.stories[STORY].fixes == 0
    assert run.checks == {}  # run again: a person may have mended what no mend of the code would


def test_a_recheck_forgets_what_failed_and_keeps_what_passed() -> None:
    passed, failed = {"code": "a", "passed": True}, {"code": "b", "passed": False}
    run = fold([("check", passed, 1.0), ("check", failed, 2.0), asked(code="environment"), answered("recheck")])
    assert list(run.checks) == ["a"]


def test_more_money_adds_as_much_again() -> None:
    assert fold([asked(code="budget"), answered("more")]).allowance == 1.0


def test_a_question_is_open_until_it_is_answered() -> None:
    assert fold([asked()]).question == asked()[1]
    after = fold([asked(), answered("again")])
    assert after.question is None
    assert after.answers[0]["means"] == "again"


def test_a_run_that_ended_goes_on_when_it_is_resumed() -> None:
    over: list[Entry] = [("run", {"a": 1}, 1.0), ("finished", {"status": "failed"}, 2.0)]
    assert fold(over).ended == "failed"
    assert fold([*over, ("resumed", {}, 3.0)]).ended == ""
    assert fold([*over, ("run", {"a": 2}, 3.0)]).head == {"a": 1}


def test_only_a_call_that_nobody_took_in_counts_as_under_way() -> None:
    assert story().is_called
    assert not story(ended()).is_called
