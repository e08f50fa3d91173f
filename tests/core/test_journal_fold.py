"""A run's record, folded from its journal: never an error, one entry after another, and what each entry means."""

from copy import deepcopy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.journal_fold import _HANDLERS, apply_entry, fold
from bmad_autopilot.core.run_record import CallRecord, CheckRecord, RunRecord, StepRecord, StoryRecord
from bmad_autopilot.sim.simulate import run_simulation

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
        st.sampled_from([*_HANDLERS, "left", "from-the-future"]),
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
        apply_entry(one_by_one, kind, data, at)
    assert one_by_one == fold(journal)


@pytest.mark.parametrize("seed", [3, 8, 21])
def test_what_is_folded_after_a_crash_is_what_was_known_before_it(seed: int) -> None:
    for journal in run_simulation(seed).world.journals.values():
        half = len(journal) // 2
        run = fold(journal[:half])
        for kind, data, at in journal[half:]:
            apply_entry(run, kind, data, at)
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
    assert (run.dollars, run.tokens, run.seconds, run.unpriced_calls) == (0.5, 10, 60.0, 1)


def test_a_step_is_passed_when_it_is_accepted() -> None:
    accepted = ("accepted", {"story": STORY, "number": 1, "step": "dev", "row": "review"}, 6.0)
    passed = story(ended(row="review"), accepted)
    assert (passed.passed_steps, passed.current, passed.expected_status, passed.claimed_status) == (
        ["dev"],
        None,
        "review",
        "",
    )


def test_a_mend_passes_no_step_and_marks_the_checks_it_was_made_for() -> None:
    run = fold(
        [
            ("step", {"story": STORY, "number": 1, "step": "dev", "round": 1, "cause": "checks"}, 3.0),
            ("check", {"code": "c", "passed": False}, 4.0),
            ("accepted", {"story": STORY, "number": 1, "step": "dev"}, 5.0),
        ]
    )
    assert run.stories[STORY].passed_steps == []
    assert run.stories[STORY].fixes == 1
    assert run.checks["c"].fixed_since


def test_what_an_agent_made_of_its_row_stands_as_a_claim_until_we_set_it() -> None:
    assert story(ended(row="done")).claimed_status == "done"
    setting = ("row", {"key": STORY, "before": "done", "after": "in-progress"}, 6.0)
    meant = story(ended(row="done"), setting)
    assert (meant.claimed_status, meant.previous_status, meant.expected_status) == ("", "done", "in-progress")
    done = story(ended(row="done"), setting, ("row-set", {"key": STORY}, 7.0))
    assert (done.previous_status, done.expected_status) == ("in-progress", "in-progress")


def test_a_round_after_failed_checks_leaves_the_claim_to_be_corrected() -> None:
    """A reviewer that sets its row to done and breaks the build must not be taken for a person."""
    sent_back = story(ended(row="done"), ("round", {"story": STORY, "round": 2, "why": "checks", "row": ""}, 6.0))
    assert sent_back.claimed_status == "done"
    assert sent_back.round == 2


def test_a_persons_edit_overtakes_the_step_in_hand() -> None:
    edited = story(ended(row="review"), ("edited", {"story": STORY, "status": "backlog"}, 6.0))
    assert (edited.current, edited.expected_status, edited.claimed_status, edited.passed_steps) == (
        None,
        "backlog",
        "",
        [],
    )


def test_a_story_that_comes_back_to_the_board_begins_where_the_board_says() -> None:
    back = story(ended(), ("gone", {"story": STORY}, 6.0), ("story", {"story": STORY, "status": "review"}, 7.0))
    assert (back.gone, back.current, back.expected_status, back.baseline) == (False, None, "review", "b")


def test_try_again_forgives_what_went_before() -> None:
    again = story(ended(finding="failed"), asked(), answered("again"))
    assert again.steps[0].retry_due
    assert again.steps[0].uncounted_calls == 1


def test_a_skipped_story_has_no_step_in_hand() -> None:
    skipped = story(ended(finding="failed"), asked(), answered("skip"))
    assert skipped.skipped
    assert skipped.current is None


def test_a_story_handed_over_is_looked_at_anew() -> None:
    handed = story(ended(finding="failed"), asked(), answered("hand-over"))
    assert (handed.current, handed.passed_steps, handed.skipped) == (None, [], False)
    assert handed.steps[0].calls[0].handed_over


def test_otherwise_takes_what_the_evidence_said() -> None:
    finding = {"finding": "asked", "asks": "rows", "otherwise": {"finding": "lacking", "asks": ""}}
    taken = story(ended(**finding), asked(code="rows"), answered("otherwise"))
    assert taken.steps[0].calls[0].finding == "lacking"


def test_more_rounds_are_counted_from_the_next_one() -> None:
    more = story(asked(code="rounds"), answered("more-rounds"))
    assert more.rounds_counted_from == 2


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
    assert fold(over).final_status == "failed"
    assert fold([*over, ("resumed", {}, 3.0)]).final_status == ""
    assert fold([*over, ("run", {"a": 2}, 3.0)]).start_entry == {"a": 1}


def test_only_a_call_that_nobody_took_in_counts_as_under_way() -> None:
    assert story().has_uncollected_call
    assert not story(ended()).has_uncollected_call


# A run's record, folded from its journal: what each kind of entry changes, and what it leaves alone.

KEY = "1-2-sign-in"
UndatedEntry = tuple[str, dict[str, Any]]

BEGUN: UndatedEntry = ("story", {"story": KEY, "status": "backlog", "baseline": "b1", "tree": "t1", "code": "c1"})
STEP: UndatedEntry = ("step", {"story": KEY, "number": 3, "step": "dev"})
CALL: UndatedEntry = ("call", {"story": KEY, "number": 3, "attempt": 1})
ENDED: UndatedEntry = (
    "ended",
    {"story": KEY, "number": 3, "row": "review", "dollars": 0.5, "tokens": 7, "seconds": 2.5},
)
ACCEPTED: UndatedEntry = ("accepted", {"story": KEY, "number": 3, "row": "review"})


def run_of(*entries: UndatedEntry) -> RunRecord:
    return fold((kind, data, float(index)) for index, (kind, data) in enumerate(entries, 100))


def story_of(*entries: UndatedEntry) -> StoryRecord:
    return run_of(*entries).stories[KEY]


def step_of(*entries: UndatedEntry) -> StepRecord:
    return story_of(*entries).steps[-1]


def answer(means: str, *before: UndatedEntry) -> RunRecord:
    asked: UndatedEntry = ("asked", {"story": KEY, "question": "which?"})
    return run_of(*before, asked, ("answered", {"means": means}))


def test_a_record_begins_empty():
    run = RunRecord()
    assert (run.start_entry, run.stories, run.checks, run.answers, run.commits) == ({}, {}, {}, [], {})
    assert (run.steps, run.steps_done, run.unpriced_calls, run.tokens) == (0, 0, 0, 0)
    assert (run.allowance, run.dollars, run.seconds, run.started_at) == (0, 0, 0, 0)
    assert (run.hours_counted_from, run.idle_since) == (0, 0)
    assert (run.final_status, run.excluded_stories_answer) == ("", "")
    assert (run.question, run.retrospective, run.resting_until) == (None, None, None)
    assert not run.epic_closed


def test_a_step_and_a_call_begin_with_nothing_said():
    step = StepRecord(1, "dev", 1)
    assert (step.cause, step.accepted, step.closed, step.retry_due) == ("", False, False, False)
    assert CallRecord(1).cause == ""


def test_a_story_begins_with_nothing_done():
    story = StoryRecord(KEY)
    assert (story.baseline, story.tree, story.code_tree) == (None, None, None)
    assert (story.round, story.rounds_counted_from, story.fixes) == (1, 1, 0)
    texts = (
        story.initial_status,
        story.expected_status,
        story.previous_status,
        story.claimed_status,
        story.entered_by,
        story.sent_back_by,
    )
    assert (*texts, story.summary) == ("",) * 7
    assert (story.steps, story.passed_steps, story.commits) == ([], [], {})
    assert not (story.finished)
    assert not (story.skipped)
    assert not (story.gone)
    assert story.current is None
    assert story.last_outcome is None


def test_the_first_entry_says_what_was_asked_for():
    run = run_of(("run", {"workflow": "lean"}), ("run", {"workflow": "full"}))
    assert (run.start_entry, run.started_at) == ({"workflow": "lean"}, 100.0)


def test_an_entry_nobody_understands_says_nothing():
    assert run_of(("from-a-newer-version", {"story": KEY})) == RunRecord()


@pytest.mark.parametrize(
    "entry",
    [
        ("story", {}),
        ("step", {"story": KEY}),
        ("step", {"story": KEY, "number": "three", "step": "dev"}),
        ("edited", {"story": KEY}),
        ("commit", {}),
        ("check", {"code": "c"}),
        ("row", {}),
        ("ended", {"number": []}),
        ("answered", {}),
    ],
)
def test_an_entry_that_lacks_something_breaks_nothing(entry):
    run = run_of(BEGUN, entry)
    assert run.stories[KEY].baseline == "b1"


def test_taking_up_a_story_records_how_it_began():
    story = story_of(BEGUN)
    assert (story.baseline, story.tree, story.code_tree) == ("b1", "t1", "c1")
    assert (story.initial_status, story.expected_status, story.previous_status) == (
        "backlog",
        "backlog",
        "backlog",
    )


def test_taken_up_again_its_baseline_stays():
    again: UndatedEntry = (
        "story",
        {"story": KEY, "status": "review", "baseline": "b2", "tree": "t2", "code": "c2"},
    )
    story = story_of(BEGUN, STEP, again)
    assert (story.baseline, story.tree, story.code_tree) == ("b1", "t1", "c1")
    assert (story.initial_status, story.expected_status) == ("backlog", "review")
    assert story.steps[0].closed


@pytest.mark.parametrize("known", ["baseline", "tree"])
def test_half_a_baseline_is_one(known):
    first: UndatedEntry = ("story", {"story": KEY, known: "old"})
    story = story_of(first, BEGUN)
    assert {"baseline": story.baseline, "tree": story.tree}[known] == "old"
    assert story.code_tree is None


def test_taken_up_again_it_starts_over_where_the_board_says():
    over: UndatedEntry = ("accepted", {"story": KEY, "number": 3, "finished": True})
    story = story_of(BEGUN, ("round", {"story": KEY, "round": 2}), STEP, over, ("gone", {"story": KEY}), BEGUN)
    assert (story.passed_steps, story.entered_by) == ([], "")
    assert not (story.finished)
    assert not (story.gone)
    assert not (story.skipped)


def test_a_skipped_story_that_is_taken_up_is_not_skipped():
    story = story_of(BEGUN, ("asked", {"story": KEY}), ("answered", {"means": "skip"}), BEGUN)
    assert not story.skipped


def test_a_step_is_counted_and_open():
    run = run_of(BEGUN, STEP)
    step = run.stories[KEY].current
    assert step is not None
    assert (step.number, step.step, step.round, step.cause) == (3, "dev", 1, "")
    assert (step.calls, step.last_call, step.uncounted_calls, step.retry_due, step.is_open) == (
        [],
        None,
        0,
        False,
        True,
    )
    assert run.steps == 3
    assert run_of(BEGUN, STEP, ("step", {"story": KEY, "number": 2, "step": "x"})).steps == 3


def test_the_next_step_closes_the_last():
    story = story_of(BEGUN, STEP, ("step", {"story": KEY, "number": 4, "step": "code-review"}))
    assert [step.closed for step in story.steps] == [True, False]
    assert story.current is story.steps[1]


def test_a_mend_is_counted():
    mend: UndatedEntry = ("step", {"story": KEY, "number": 4, "step": "dev", "cause": "checks"})
    other: UndatedEntry = ("step", {"story": KEY, "number": 5, "step": "dev", "cause": "review"})
    assert story_of(BEGUN, mend, mend, other).fixes == 2


def test_a_call_is_noted_once():
    step = step_of(BEGUN, STEP, CALL, CALL, ("call", {"story": KEY, "number": 3, "attempt": 2, "cause": "failed"}))
    assert [(call.attempt, call.cause, call.outcome, call.finding) for call in step.calls] == [
        (1, "", None, ""),
        (2, "failed", None, ""),
    ]


def test_a_call_of_an_unknown_step_is_none():
    other: UndatedEntry = ("call", {"story": KEY, "number": 9, "attempt": 1})
    nobody: UndatedEntry = ("call", {"story": "9-9", "number": 3, "attempt": 1})
    assert step_of(BEGUN, STEP, other, nobody).calls == []


def test_of_steps_with_one_number_the_last_is_meant():
    story = story_of(BEGUN, STEP, STEP, CALL)
    assert [len(step.calls) for step in story.steps] == [0, 1]


def test_what_a_call_came_to():
    run = run_of(BEGUN, STEP, CALL, ENDED)
    story = run.stories[KEY]
    last = story.steps[0].last_call
    assert last is not None
    assert last.outcome == ENDED[1]
    assert last.finding == ""
    assert story.claimed_status == "review"
    assert story.last_outcome == ENDED[1]
    assert (run.dollars, run.unpriced_calls, run.tokens, run.seconds) == (0.5, 0, 7, 2.5)
    assert run.retrospective is None


def test_what_a_call_came_to_is_taken_in_once():
    run = run_of(BEGUN, STEP, CALL, ENDED, ENDED)
    assert (run.dollars, run.tokens, run.seconds) == (0.5, 7, 2.5)


def test_calls_add_up():
    second: UndatedEntry = ("call", {"story": KEY, "number": 3, "attempt": 2})
    bare: UndatedEntry = ("ended", {"story": KEY, "number": 3, "finding": "good"})
    run = run_of(BEGUN, STEP, CALL, ENDED, second, ENDED, ("call", {**CALL[1], "attempt": 3}), bare)
    assert (run.dollars, run.unpriced_calls, run.tokens, run.seconds) == (1.0, 1, 14, 5.0)
    story = run.stories[KEY]
    assert story.claimed_status == ""
    last = story.steps[0].last_call
    assert last is not None
    assert last.finding == "good"
    assert story.last_outcome == bare[1]


def test_the_last_that_ended_is_looked_for_over_all_steps():
    next_step: UndatedEntry = ("step", {"story": KEY, "number": 4, "step": "code-review"})
    story = story_of(BEGUN, STEP, CALL, ENDED, next_step, ("call", {"story": KEY, "number": 4, "attempt": 1}))
    assert story.last_outcome == ENDED[1]


def test_an_end_without_a_call_is_none():
    run = run_of(BEGUN, STEP, ENDED)
    assert (run.dollars, run.unpriced_calls) == (0, 0)


def test_a_retrospectives_end_is_kept():
    step: UndatedEntry = ("step", {"story": KEY, "number": 3, "step": "retrospective"})
    assert run_of(BEGUN, step, CALL, ENDED).retrospective == ENDED[1]
    bare: UndatedEntry = ("ended", {"story": KEY, "number": 3})
    assert run_of(BEGUN, step, CALL, bare).retrospective == bare[1]


def test_an_accepted_step_has_been_passed():
    run = run_of(BEGUN, STEP, CALL, ENDED, ACCEPTED)
    story = run.stories[KEY]
    assert (story.passed_steps, story.expected_status, story.previous_status, story.claimed_status) == (
        ["dev"],
        "review",
        "review",
        "",
    )
    assert (story.current, story.finished, run.steps_done) == (None, False, 1)
    assert story.steps[0].accepted
    assert not story.steps[0].is_open


def test_accepting_an_unknown_step_is_nothing():
    run = run_of(BEGUN, STEP, ("accepted", {"story": KEY, "number": 9, "finished": True}))
    assert (run.steps_done, run.stories[KEY].finished) == (0, False)


def test_the_last_step_finishes_the_story_for_good():
    last: UndatedEntry = ("accepted", {"story": KEY, "number": 3, "finished": True})
    more: UndatedEntry = ("step", {"story": KEY, "number": 4, "step": "more"})
    assert story_of(BEGUN, STEP, last).finished
    assert story_of(BEGUN, STEP, last, more, ("accepted", {"story": KEY, "number": 4})).finished


def test_accepting_without_a_row_leaves_what_was_expected():
    assert story_of(BEGUN, STEP, ("accepted", {"story": KEY, "number": 3})).expected_status == "backlog"


def test_an_accepted_mend_passes_no_step_and_is_seen_by_the_checks():
    check: UndatedEntry = ("check", {"code": "c1", "passed": False})
    mend: UndatedEntry = ("step", {"story": KEY, "number": 3, "step": "dev", "cause": "checks"})
    run = run_of(BEGUN, check, mend, ACCEPTED)
    assert run.stories[KEY].passed_steps == []
    assert run.checks["c1"].fixed_since
    assert not run_of(BEGUN, check, STEP, ACCEPTED).checks["c1"].fixed_since


def test_a_row_is_set_in_two_steps():
    row: UndatedEntry = ("row", {"key": KEY, "before": "review", "after": "done"})
    story = story_of(BEGUN, STEP, CALL, ENDED, row)
    assert (story.previous_status, story.expected_status, story.claimed_status) == ("review", "done", "")
    story = story_of(BEGUN, row, ("row-set", {"key": KEY}))
    assert (story.previous_status, story.expected_status) == ("done", "done")


@pytest.mark.parametrize("kind", ["row", "row-set"])
def test_a_row_of_no_story_of_ours_is_no_matter(kind):
    run = run_of(BEGUN, (kind, {"key": "epic-1", "before": "backlog", "after": "done"}))
    assert list(run.stories) == [KEY]


def test_a_persons_edit_overtakes_what_we_were_about_to_do():
    before = (
        BEGUN,
        ("round", {"story": KEY, "round": 2}),
        ("commit", {"story": KEY, "label": "done", "sha": "s1"}),
        ("commit", {"story": KEY, "label": "round-1", "sha": "s2"}),
        STEP,
        ("accepted", {"story": KEY, "number": 3, "finished": True}),
        ("step", {"story": KEY, "number": 4, "step": "code-review"}),
    )
    story = story_of(*before, ("edited", {"story": KEY, "status": "in-progress"}))
    assert (story.expected_status, story.previous_status, story.passed_steps, story.entered_by) == (
        "in-progress",
        "in-progress",
        [],
        "",
    )
    assert not (story.finished)
    assert not (story.skipped)
    assert story.commits == {"round-1": "s2"}
    assert story.current is None
    assert story.steps[-1].closed


def test_an_edit_brings_a_skipped_story_back():
    skipped = (BEGUN, ("asked", {"story": KEY}), ("answered", {"means": "skip"}))
    assert story_of(*skipped).skipped
    assert not story_of(*skipped, ("edited", {"story": KEY, "status": "backlog"})).skipped


def test_a_restarted_story_was_never_taken_up():
    asked: UndatedEntry = ("asked", {"story": KEY})
    run = run_of(BEGUN, asked, ("restarted", {"story": KEY}))
    assert (run.stories, run.question) == ({}, None)
    run = run_of(BEGUN, asked, ("restarted", {"story": "1-3"}))
    assert (list(run.stories), run.question) == ([KEY], asked[1])
    assert run_of(("restarted", {"story": KEY})).question is None
    assert run_of(asked, ("restarted", {"story": KEY})).question is None


def test_a_story_may_leave_the_board():
    assert story_of(BEGUN, ("gone", {"story": KEY})).gone


def test_a_new_round_starts_with_what_the_review_said():
    entry: UndatedEntry = (
        "round",
        {"story": KEY, "round": 2, "summary": "mend it", "why": "review", "row": "in-progress"},
    )
    mend: UndatedEntry = ("step", {"story": KEY, "number": 4, "step": "dev", "cause": "checks"})
    run = run_of(BEGUN, STEP, ACCEPTED, mend, entry)
    story = run.stories[KEY]
    assert (story.round, story.summary, story.sent_back_by, story.expected_status) == (
        2,
        "mend it",
        "review",
        "in-progress",
    )
    assert (story.passed_steps, story.entered_by, story.fixes) == ([], "round", 0)
    assert (story.steps[-1].accepted, run.steps_done) == (True, 2)


def test_a_round_without_an_open_step_accepts_none():
    assert run_of(BEGUN, STEP, ACCEPTED, ("round", {"story": KEY, "round": 2})).steps_done == 1


def test_a_round_before_the_row_is_set_keeps_the_agents_claim():
    story = story_of(BEGUN, STEP, CALL, ENDED, ("round", {"story": KEY, "round": 2}))
    assert (story.claimed_status, story.summary, story.sent_back_by) == ("review", "", "")
    told: UndatedEntry = ("round", {"story": KEY, "round": 2, "row": "in-progress"})
    assert story_of(BEGUN, STEP, CALL, ENDED, told).claimed_status == ""


def test_a_check_is_known_by_its_tree():
    data = {"code": "c1", "passed": False, "environment": True, "signature": "s", "excerpt": "e", "new": 1}
    run = run_of(("check", data), ("check", {"code": "c2", "passed": True}))
    assert run.checks == {"c1": CheckRecord("c1", False, True, "s", "e"), "c2": CheckRecord("c2", True)}
    check = run.checks["c2"]
    assert (check.environment, check.signature, check.excerpt, check.ran) == (False, "", "", [])
    assert not check.fixed_since


MOVES: list[UndatedEntry] = [
    CALL,
    ACCEPTED,
    ("round", {"story": KEY, "round": 2}),
    ("commit", {"story": KEY, "label": "done", "sha": "s1"}),
    ("answered", {"means": "again"}),
    ("resumed", {}),
]


@pytest.mark.parametrize("move", MOVES, ids=[kind for kind, _ in MOVES])
def test_work_trees_seen_by_checks_are_counted_until_somebody_may_have_moved_on(move):
    before: list[UndatedEntry] = [BEGUN, STEP, ("check", {"code": "c1", "passed": True, "tree": "t1"})]
    before.append(("check", {"code": "c1", "passed": True, "tree": "t2"}))
    before.append(("check", {"code": "c1", "passed": True}))
    assert run_of(*before).trees == ["t1", "t2"]
    assert run_of(*before, ("waiting", {"until": 5.0})).trees == ["t1", "t2"]
    assert run_of(*before, move).trees == []


def test_a_commit_belongs_to_its_story_or_to_the_run():
    run = run_of(BEGUN, ("commit", {"story": KEY, "label": "done", "sha": "s1"}))
    assert (run.stories[KEY].commits, run.commits) == ({"done": "s1"}, {})
    run = run_of(BEGUN, ("commit", {"label": "epic", "sha": "s2"}))
    assert (run.stories[KEY].commits, run.commits) == ({}, {"epic": "s2"})


def test_a_question_stays_open_until_an_answer_is_recorded():
    asked: UndatedEntry = ("asked", {"story": KEY, "question": "which?"})
    assert run_of(BEGUN, asked).question == asked[1]
    run = run_of(BEGUN, asked, ("answered", {"means": "again", "text": "yes"}))
    assert run.question is None
    assert run.answers == [{"story": KEY, "question": "which?", "means": "again", "text": "yes", "at": 102.0}]


@pytest.mark.parametrize("means", ["close", "leave"])
def test_what_is_said_about_stories_left_out(means):
    assert answer(means, BEGUN).excluded_stories_answer == means
    assert answer("skip", BEGUN).excluded_stories_answer == ""


def test_more_of_the_budget_may_be_allowed():
    run = run_of(BEGUN, *[("asked", {"story": KEY}), ("answered", {"means": "more"})] * 2)
    assert run.allowance == 2.0
    assert not run.stories[KEY].skipped


@pytest.mark.parametrize("means", ["recheck", "more-fixes", "more-pull-rounds", "hand-over"])
def test_checks_may_be_run_anew(means):
    failed: UndatedEntry = ("check", {"code": "c1", "passed": False})
    passed: UndatedEntry = ("check", {"code": "c2", "passed": True})
    assert list(answer(means, BEGUN, failed, passed).checks) == ["c2"]
    assert list(answer("again", BEGUN, failed, passed).checks) == ["c1", "c2"]


def test_more_mends_may_be_allowed():
    check: UndatedEntry = ("check", {"code": "c1", "passed": False})
    mend: UndatedEntry = ("step", {"story": KEY, "number": 3, "step": "dev", "cause": "checks"})
    run = answer("more-fixes", BEGUN, ("round", {"story": KEY, "round": 2}), check, mend, ACCEPTED)
    story = run.stories[KEY]
    assert run.checks == {}
    assert (story.fixes, story.rounds_counted_from) == (0, 3)
    assert answer("again", BEGUN, check, mend, ACCEPTED).checks["c1"].fixed_since


def test_more_rounds_may_be_allowed():
    story = answer("more-rounds", BEGUN, ("round", {"story": KEY, "round": 4})).stories[KEY]
    assert (story.rounds_counted_from, story.skipped) == (5, False)


def test_a_story_may_be_skipped():
    story = answer("skip", BEGUN, STEP).stories[KEY]
    assert story.skipped
    assert story.steps[-1].closed
    assert answer("skip", BEGUN).stories[KEY].skipped


def test_a_step_that_was_accepted_is_not_closed_by_a_skip():
    assert not answer("skip", BEGUN, STEP, ACCEPTED).stories[KEY].steps[-1].closed


def test_a_story_handed_over_goes_on_from_what_the_board_says():
    story = answer("hand-over", BEGUN, STEP, ACCEPTED, ("step", {**STEP[1], "number": 4})).stories[KEY]
    assert (story.passed_steps, story.skipped) == ([], False)
    assert story.steps[-1].closed


def test_another_try_forgives_those_before():
    run = answer("again", BEGUN, STEP, CALL, ENDED, ("call", {**CALL[1], "attempt": 2}))
    step = run.stories[KEY].steps[-1]
    assert (step.retry_due, step.uncounted_calls, step.closed) == (True, 2, False)
    apply_entry(run, "call", {**CALL[1], "attempt": 3}, 0.0)
    assert not step.retry_due
    assert not answer("again", BEGUN).stories[KEY].steps


def test_an_answer_may_read_the_last_call_otherwise():
    ended: UndatedEntry = ("ended", {**ENDED[1], "finding": "changes", "otherwise": {"finding": "good"}})
    last = answer("otherwise", BEGUN, STEP, CALL, ended).stories[KEY].steps[-1].last_call
    assert last is not None
    assert (last.finding, last.outcome and last.outcome["row"]) == ("good", "review")
    last = answer("otherwise", BEGUN, STEP, CALL, ENDED).stories[KEY].steps[-1].last_call
    assert last is not None
    assert last.outcome == ENDED[1]
    assert answer("otherwise", BEGUN, STEP).stories[KEY].steps[-1].last_call is None
    assert answer("otherwise", BEGUN).stories[KEY].steps == []


def test_an_answer_to_nobodys_question_is_kept():
    run = run_of(BEGUN, ("answered", {"means": "skip"}))
    assert run.answers == [{"means": "skip", "at": 101.0}]
    assert not run.stories[KEY].skipped


def test_a_run_ends_and_may_be_taken_up_again():
    over: UndatedEntry = ("finished", {"status": "waiting"})
    run = run_of(BEGUN, STEP, ACCEPTED, over)
    assert (run.final_status, run.steps_done) == ("waiting", 1)
    run = run_of(BEGUN, STEP, ACCEPTED, over, ("resumed", {}))
    assert (run.final_status, run.steps_done, run.steps) == ("", 0, 3)
    assert run_of(("finished", {})).final_status == ""


@pytest.mark.parametrize("idle", ["waiting", "left"])
def test_the_time_nobody_looked_after_it_is_none_of_its_hours(idle):
    run = run_of(("run", {"workflow": "lean"}))
    assert run.hours_counted_from == 100
    apply_entry(run, idle, {}, 110)
    assert run.idle_since == 110
    apply_entry(run, "resumed", {}, 150)
    assert (run.hours_counted_from, run.idle_since) == (140, 0)
    apply_entry(run, "resumed", {}, 170)
    assert run.hours_counted_from == 140
    apply_entry(run, idle, {}, 180)
    apply_entry(run, "resumed", {}, 170)  # a clock that was set back
    assert run.hours_counted_from == 140


def test_more_hours_are_counted_from_the_answer():
    assert answer("more", BEGUN).hours_counted_from == 102


def test_what_a_call_asked_besides_is_asked_before_another_try():
    ended: UndatedEntry = ("ended", {**ENDED[1], "question": "one?", "more": ["two?", "three?"]})
    run = answer("again", BEGUN, STEP, CALL, ended)
    step = run.stories[KEY].steps[-1]
    assert step.last_call is not None
    assert step.last_call.outcome == {**ended[1], "question": "two?", "more": ["three?"]}
    assert (step.retry_due, step.uncounted_calls) == (False, 0)
    for _ in range(2):
        apply_entry(run, "asked", {"story": KEY}, 0.0)
        apply_entry(run, "answered", {"means": "again"}, 0.0)
    assert step.last_call.outcome == {**ended[1], "question": "three?", "more": []}
    assert (step.retry_due, step.uncounted_calls) == (True, 1)


@pytest.mark.parametrize("label", ["done", "skipped"])
@pytest.mark.parametrize("how", ["story", "edited"])
def test_a_story_that_begins_again_is_committed_again(label, how):
    done: UndatedEntry = ("commit", {"story": KEY, "label": label, "sha": "abc", "key": "k"})
    kept: UndatedEntry = ("commit", {"story": KEY, "label": "round-1", "sha": "def", "key": "j"})
    run = run_of(BEGUN, kept, done, ("gone", {"story": KEY}), (how, {"story": KEY, "status": "backlog"}))
    assert run.stories[KEY].commits == {"round-1": "def"}


def test_a_rest_has_an_end():
    assert run_of(("resting", {"until": 12.5})).resting_until == 12.5
    assert run_of(("resting", {"until": 12.5}), ("resting", {})).resting_until is None


def test_a_closed_epic_stays_closed():
    assert run_of(("epic", {"after": "done"}), ("epic", {"after": "in-progress"})).epic_closed
    assert not run_of(("epic", {"after": "in-progress"})).epic_closed


def test_a_story_that_was_through_when_we_came_is_finished_without_a_step():
    run = run_of(BEGUN, ("accepted", {"story": KEY, "number": None, "finished": True}))
    assert run.stories[KEY].finished
    assert (run.stories[KEY].passed_steps, run.steps_done) == ([], 0)
    assert not run_of(BEGUN, ("accepted", {"story": KEY, "number": None})).stories[KEY].finished
    assert not run_of(BEGUN, ("accepted", {"story": KEY, "number": 9, "finished": True})).stories[KEY].finished


def test_a_question_asked_after_an_answer_or_a_restart_is_another():
    assert run_of(BEGUN).question_turn == 0
    assert answer("again", BEGUN).question_turn == 1
    assert run_of(BEGUN, ("restarted", {"story": KEY})).question_turn == 1


def test_a_restart_opens_the_epic_again():
    closed: list[UndatedEntry] = [("epic", {"after": "done"}), ("commit", {"label": "epic", "sha": "s"})]
    run = run_of(BEGUN, *closed, ("restarted", {"story": KEY}))
    assert (run.epic_closed, run.commits) == (False, {})
    assert not run_of(BEGUN, ("restarted", {"story": KEY})).epic_closed


def test_a_retrospective_may_be_dropped():
    assert answer("drop", BEGUN, STEP).stories[KEY].steps[-1].closed
    assert not answer("drop", BEGUN).stories[KEY].skipped


def test_a_retrospective_that_was_refused_is_still_to_be_held():
    step: UndatedEntry = ("step", {**STEP[1], "step": "retrospective"})
    assert run_of(BEGUN, step, CALL, ("ended", {**ENDED[1], "finding": "refused"})).retrospective is None
    assert run_of(BEGUN, step, CALL, ("ended", {**ENDED[1], "finding": "asked"})).retrospective is not None
