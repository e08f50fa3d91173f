"""A run's record, folded from its journal: what each kind of entry changes, and what it leaves alone."""

from typing import Any

import pytest

from bmad_autopilot.core.folding import apply, fold
from bmad_autopilot.core.records import CallRecord, Check, RunRecord, StepRecord, StoryRecord

KEY = "1-2-sign-in"
Entry = tuple[str, dict[str, Any]]

BEGUN: Entry = ("story", {"story": KEY, "status": "backlog", "baseline": "b1", "tree": "t1", "code": "c1"})
STEP: Entry = ("step", {"story": KEY, "number": 3, "step": "dev"})
CALL: Entry = ("call", {"story": KEY, "number": 3, "attempt": 1})
ENDED: Entry = ("ended", {"story": KEY, "number": 3, "row": "review", "dollars": 0.5, "tokens": 7, "seconds": 2.5})
ACCEPTED: Entry = ("accepted", {"story": KEY, "number": 3, "row": "review"})


def run_of(*entries: Entry) -> RunRecord:
    return fold((kind, data, float(index)) for index, (kind, data) in enumerate(entries, 100))


def story_of(*entries: Entry) -> StoryRecord:
    return run_of(*entries).stories[KEY]


def step_of(*entries: Entry) -> StepRecord:
    return story_of(*entries).steps[-1]


def answer(means: str, *before: Entry) -> RunRecord:
    asked: Entry = ("asked", {"story": KEY, "question": "which?"})
    return run_of(*before, asked, ("answered", {"means": means}))


def test_a_record_begins_empty():
    run = RunRecord()
    assert (run.head, run.stories, run.checks, run.answers, run.commits) == ({}, {}, {}, [], {})
    assert (run.steps, run.steps_done, run.unpriced, run.tokens) == (0, 0, 0, 0)
    assert (run.allowance, run.dollars, run.seconds, run.began) == (0, 0, 0, 0)
    assert (run.hours_from, run.idle_since) == (0, 0)
    assert (run.ended, run.left_out) == ("", "")
    assert (run.question, run.retrospective, run.resting) == (None, None, None)
    assert not run.epic_closed


def test_a_step_and_a_call_begin_with_nothing_said():
    step = StepRecord(1, "dev", 1)
    assert (step.cause, step.accepted, step.closed, step.again) == ("", False, False, False)
    assert CallRecord(1).cause == ""


def test_a_story_begins_with_nothing_done():
    story = StoryRecord(KEY)
    assert (story.baseline, story.tree, story.code) == (None, None, None)
    assert (story.round, story.counted_from, story.fixes) == (1, 1, 0)
    texts = (story.began_as, story.expected, story.came_from, story.claim, story.entered_by, story.sent_back_by)
    assert (*texts, story.summary) == ("",) * 7
    assert (story.steps, story.passed, story.commits) == ([], [], {})
    assert not (story.finished)
    assert not (story.skipped)
    assert not (story.gone)
    assert story.current is None
    assert story.last_ended is None


def test_the_first_entry_says_what_was_asked_for():
    run = run_of(("run", {"workflow": "lean"}), ("run", {"workflow": "full"}))
    assert (run.head, run.began) == ({"workflow": "lean"}, 100.0)


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
    assert (story.baseline, story.tree, story.code) == ("b1", "t1", "c1")
    assert (story.began_as, story.expected, story.came_from) == ("backlog", "backlog", "backlog")


def test_taken_up_again_its_baseline_stays():
    again: Entry = ("story", {"story": KEY, "status": "review", "baseline": "b2", "tree": "t2", "code": "c2"})
    story = story_of(BEGUN, STEP, again)
    assert (story.baseline, story.tree, story.code) == ("b1", "t1", "c1")
    assert (story.began_as, story.expected) == ("backlog", "review")
    assert story.steps[0].closed


@pytest.mark.parametrize("known", ["baseline", "tree"])
def test_half_a_baseline_is_one(known):
    first: Entry = ("story", {"story": KEY, known: "old"})
    story = story_of(first, BEGUN)
    assert {"baseline": story.baseline, "tree": story.tree}[known] == "old"
    assert story.code is None


def test_taken_up_again_it_starts_over_where_the_board_says():
    over: Entry = ("accepted", {"story": KEY, "number": 3, "finished": True})
    story = story_of(BEGUN, ("round", {"story": KEY, "round": 2}), STEP, over, ("gone", {"story": KEY}), BEGUN)
    assert (story.passed, story.entered_by) == ([], "")
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
    assert (step.calls, step.last, step.forgiven, step.again, step.open) == ([], None, 0, False, True)
    assert run.steps == 3
    assert run_of(BEGUN, STEP, ("step", {"story": KEY, "number": 2, "step": "x"})).steps == 3


def test_the_next_step_closes_the_last():
    story = story_of(BEGUN, STEP, ("step", {"story": KEY, "number": 4, "step": "code-review"}))
    assert [step.closed for step in story.steps] == [True, False]
    assert story.current is story.steps[1]


def test_a_mend_is_counted():
    mend: Entry = ("step", {"story": KEY, "number": 4, "step": "dev", "cause": "checks"})
    other: Entry = ("step", {"story": KEY, "number": 5, "step": "dev", "cause": "review"})
    assert story_of(BEGUN, mend, mend, other).fixes == 2


def test_a_call_is_noted_once():
    step = step_of(BEGUN, STEP, CALL, CALL, ("call", {"story": KEY, "number": 3, "attempt": 2, "cause": "failed"}))
    assert [(call.attempt, call.cause, call.ended, call.finding) for call in step.calls] == [
        (1, "", None, ""),
        (2, "failed", None, ""),
    ]


def test_a_call_of_an_unknown_step_is_none():
    other: Entry = ("call", {"story": KEY, "number": 9, "attempt": 1})
    nobody: Entry = ("call", {"story": "9-9", "number": 3, "attempt": 1})
    assert step_of(BEGUN, STEP, other, nobody).calls == []


def test_of_steps_with_one_number_the_last_is_meant():
    story = story_of(BEGUN, STEP, STEP, CALL)
    assert [len(step.calls) for step in story.steps] == [0, 1]


def test_what_a_call_came_to():
    run = run_of(BEGUN, STEP, CALL, ENDED)
    story = run.stories[KEY]
    last = story.steps[0].last
    assert last is not None
    assert last.ended == ENDED[1]
    assert last.finding == ""
    assert story.claim == "review"
    assert story.last_ended == ENDED[1]
    assert (run.dollars, run.unpriced, run.tokens, run.seconds) == (0.5, 0, 7, 2.5)
    assert run.retrospective is None


def test_what_a_call_came_to_is_taken_in_once():
    run = run_of(BEGUN, STEP, CALL, ENDED, ENDED)
    assert (run.dollars, run.tokens, run.seconds) == (0.5, 7, 2.5)


def test_calls_add_up():
    second: Entry = ("call", {"story": KEY, "number": 3, "attempt": 2})
    bare: Entry = ("ended", {"story": KEY, "number": 3, "finding": "good"})
    run = run_of(BEGUN, STEP, CALL, ENDED, second, ENDED, ("call", {**CALL[1], "attempt": 3}), bare)
    assert (run.dollars, run.unpriced, run.tokens, run.seconds) == (1.0, 1, 14, 5.0)
    story = run.stories[KEY]
    assert story.claim == ""
    last = story.steps[0].last
    assert last is not None
    assert last.finding == "good"
    assert story.last_ended == bare[1]


def test_the_last_that_ended_is_looked_for_over_all_steps():
    next_step: Entry = ("step", {"story": KEY, "number": 4, "step": "code-review"})
    story = story_of(BEGUN, STEP, CALL, ENDED, next_step, ("call", {"story": KEY, "number": 4, "attempt": 1}))
    assert story.last_ended == ENDED[1]


def test_an_end_without_a_call_is_none():
    run = run_of(BEGUN, STEP, ENDED)
    assert (run.dollars, run.unpriced) == (0, 0)


def test_a_retrospectives_end_is_kept():
    step: Entry = ("step", {"story": KEY, "number": 3, "step": "retrospective"})
    assert run_of(BEGUN, step, CALL, ENDED).retrospective == ENDED[1]
    bare: Entry = ("ended", {"story": KEY, "number": 3})
    assert run_of(BEGUN, step, CALL, bare).retrospective == bare[1]


def test_an_accepted_step_has_been_passed():
    run = run_of(BEGUN, STEP, CALL, ENDED, ACCEPTED)
    story = run.stories[KEY]
    assert (story.passed, story.expected, story.came_from, story.claim) == (["dev"], "review", "review", "")
    assert (story.current, story.finished, run.steps_done) == (None, False, 1)
    assert story.steps[0].accepted
    assert not story.steps[0].open


def test_accepting_an_unknown_step_is_nothing():
    run = run_of(BEGUN, STEP, ("accepted", {"story": KEY, "number": 9, "finished": True}))
    assert (run.steps_done, run.stories[KEY].finished) == (0, False)


def test_the_last_step_finishes_the_story_for_good():
    last: Entry = ("accepted", {"story": KEY, "number": 3, "finished": True})
    more: Entry = ("step", {"story": KEY, "number": 4, "step": "more"})
    assert story_of(BEGUN, STEP, last).finished
    assert story_of(BEGUN, STEP, last, more, ("accepted", {"story": KEY, "number": 4})).finished


def test_accepting_without_a_row_leaves_what_was_expected():
    assert story_of(BEGUN, STEP, ("accepted", {"story": KEY, "number": 3})).expected == "backlog"


def test_an_accepted_mend_passes_no_step_and_is_seen_by_the_checks():
    check: Entry = ("check", {"code": "c1", "passed": False})
    mend: Entry = ("step", {"story": KEY, "number": 3, "step": "dev", "cause": "checks"})
    run = run_of(BEGUN, check, mend, ACCEPTED)
    assert run.stories[KEY].passed == []
    assert run.checks["c1"].fixed_since
    assert not run_of(BEGUN, check, STEP, ACCEPTED).checks["c1"].fixed_since


def test_a_row_is_set_in_two_steps():
    row: Entry = ("row", {"key": KEY, "before": "review", "after": "done"})
    story = story_of(BEGUN, STEP, CALL, ENDED, row)
    assert (story.came_from, story.expected, story.claim) == ("review", "done", "")
    story = story_of(BEGUN, row, ("row-set", {"key": KEY}))
    assert (story.came_from, story.expected) == ("done", "done")


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
    assert (story.expected, story.came_from, story.passed, story.entered_by) == (
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
    asked: Entry = ("asked", {"story": KEY})
    run = run_of(BEGUN, asked, ("restarted", {"story": KEY}))
    assert (run.stories, run.question) == ({}, None)
    run = run_of(BEGUN, asked, ("restarted", {"story": "1-3"}))
    assert (list(run.stories), run.question) == ([KEY], asked[1])
    assert run_of(("restarted", {"story": KEY})).question is None
    assert run_of(asked, ("restarted", {"story": KEY})).question is None


def test_a_story_may_leave_the_board():
    assert story_of(BEGUN, ("gone", {"story": KEY})).gone


def test_a_new_round_starts_with_what_the_review_said():
    entry: Entry = (
        "round",
        {"story": KEY, "round": 2, "summary": "mend it", "why": "review", "row": "in-progress"},
    )
    mend: Entry = ("step", {"story": KEY, "number": 4, "step": "dev", "cause": "checks"})
    run = run_of(BEGUN, STEP, ACCEPTED, mend, entry)
    story = run.stories[KEY]
    assert (story.round, story.summary, story.sent_back_by, story.expected) == (
        2,
        "mend it",
        "review",
        "in-progress",
    )
    assert (story.passed, story.entered_by, story.fixes) == ([], "round", 0)
    assert (story.steps[-1].accepted, run.steps_done) == (True, 2)


def test_a_round_without_an_open_step_accepts_none():
    assert run_of(BEGUN, STEP, ACCEPTED, ("round", {"story": KEY, "round": 2})).steps_done == 1


def test_a_round_before_the_row_is_set_keeps_the_agents_claim():
    story = story_of(BEGUN, STEP, CALL, ENDED, ("round", {"story": KEY, "round": 2}))
    assert (story.claim, story.summary, story.sent_back_by) == ("review", "", "")
    told: Entry = ("round", {"story": KEY, "round": 2, "row": "in-progress"})
    assert story_of(BEGUN, STEP, CALL, ENDED, told).claim == ""


def test_a_check_is_known_by_its_tree():
    data = {"code": "c1", "passed": False, "environment": True, "signature": "s", "excerpt": "e", "new": 1}
    run = run_of(("check", data), ("check", {"code": "c2", "passed": True}))
    assert run.checks == {"c1": Check("c1", False, True, "s", "e"), "c2": Check("c2", True)}
    check = run.checks["c2"]
    assert (check.environment, check.signature, check.excerpt, check.ran) == (False, "", "", [])
    assert not check.fixed_since


MOVES: list[Entry] = [
    CALL,
    ACCEPTED,
    ("round", {"story": KEY, "round": 2}),
    ("commit", {"story": KEY, "label": "done", "sha": "s1"}),
    ("answered", {"means": "again"}),
    ("resumed", {}),
]


@pytest.mark.parametrize("move", MOVES, ids=[kind for kind, _ in MOVES])
def test_work_trees_seen_by_checks_are_counted_until_somebody_may_have_moved_on(move):
    before: list[Entry] = [BEGUN, STEP, ("check", {"code": "c1", "passed": True, "tree": "t1"})]
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


def test_a_question_is_open_until_it_is_answered():
    asked: Entry = ("asked", {"story": KEY, "question": "which?"})
    assert run_of(BEGUN, asked).question == asked[1]
    run = run_of(BEGUN, asked, ("answered", {"means": "again", "text": "yes"}))
    assert run.question is None
    assert run.answers == [{"story": KEY, "question": "which?", "means": "again", "text": "yes", "at": 102.0}]


@pytest.mark.parametrize("means", ["close", "leave"])
def test_what_is_said_about_stories_left_out(means):
    assert answer(means, BEGUN).left_out == means
    assert answer("skip", BEGUN).left_out == ""


def test_more_of_the_budget_may_be_allowed():
    run = run_of(BEGUN, *[("asked", {"story": KEY}), ("answered", {"means": "more"})] * 2)
    assert run.allowance == 2.0
    assert not run.stories[KEY].skipped


@pytest.mark.parametrize("means", ["recheck", "more-fixes", "more-pull-rounds", "hand-over"])
def test_checks_may_be_run_anew(means):
    failed: Entry = ("check", {"code": "c1", "passed": False})
    passed: Entry = ("check", {"code": "c2", "passed": True})
    assert list(answer(means, BEGUN, failed, passed).checks) == ["c2"]
    assert list(answer("again", BEGUN, failed, passed).checks) == ["c1", "c2"]


def test_more_mends_may_be_allowed():
    check: Entry = ("check", {"code": "c1", "passed": False})
    mend: Entry = ("step", {"story": KEY, "number": 3, "step": "dev", "cause": "checks"})
    run = answer("more-fixes", BEGUN, ("round", {"story": KEY, "round": 2}), check, mend, ACCEPTED)
    story = run.stories[KEY]
    assert run.checks == {}
    assert (story.fixes, story.counted_from) == (0, 3)
    assert answer("again", BEGUN, check, mend, ACCEPTED).checks["c1"].fixed_since


def test_more_rounds_may_be_allowed():
    story = answer("more-rounds", BEGUN, ("round", {"story": KEY, "round": 4})).stories[KEY]
    assert (story.counted_from, story.skipped) == (5, False)


def test_a_story_may_be_skipped():
    story = answer("skip", BEGUN, STEP).stories[KEY]
    assert story.skipped
    assert story.steps[-1].closed
    assert answer("skip", BEGUN).stories[KEY].skipped


def test_a_step_that_was_accepted_is_not_closed_by_a_skip():
    assert not answer("skip", BEGUN, STEP, ACCEPTED).stories[KEY].steps[-1].closed


def test_a_story_handed_over_goes_on_from_what_the_board_says():
    story = answer("hand-over", BEGUN, STEP, ACCEPTED, ("step", {**STEP[1], "number": 4})).stories[KEY]
    assert (story.passed, story.skipped) == ([], False)
    assert story.steps[-1].closed


def test_another_try_forgives_those_before():
    run = answer("again", BEGUN, STEP, CALL, ENDED, ("call", {**CALL[1], "attempt": 2}))
    step = run.stories[KEY].steps[-1]
    assert (step.again, step.forgiven, step.closed) == (True, 2, False)
    apply(run, "call", {**CALL[1], "attempt": 3}, 0.0)
    assert not step.again
    assert not answer("again", BEGUN).stories[KEY].steps


def test_an_answer_may_read_the_last_call_otherwise():
    ended: Entry = ("ended", {**ENDED[1], "finding": "changes", "otherwise": {"finding": "good"}})
    last = answer("otherwise", BEGUN, STEP, CALL, ended).stories[KEY].steps[-1].last
    assert last is not None
    assert (last.finding, last.ended and last.ended["row"]) == ("good", "review")
    last = answer("otherwise", BEGUN, STEP, CALL, ENDED).stories[KEY].steps[-1].last
    assert last is not None
    assert last.ended == ENDED[1]
    assert answer("otherwise", BEGUN, STEP).stories[KEY].steps[-1].last is None
    assert answer("otherwise", BEGUN).stories[KEY].steps == []


def test_an_answer_to_nobodys_question_is_kept():
    run = run_of(BEGUN, ("answered", {"means": "skip"}))
    assert run.answers == [{"means": "skip", "at": 101.0}]
    assert not run.stories[KEY].skipped


def test_a_run_ends_and_may_be_taken_up_again():
    over: Entry = ("finished", {"status": "waiting"})
    run = run_of(BEGUN, STEP, ACCEPTED, over)
    assert (run.ended, run.steps_done) == ("waiting", 1)
    run = run_of(BEGUN, STEP, ACCEPTED, over, ("resumed", {}))
    assert (run.ended, run.steps_done, run.steps) == ("", 0, 3)
    assert run_of(("finished", {})).ended == ""


@pytest.mark.parametrize("idle", ["waiting", "left"])
def test_the_time_nobody_looked_after_it_is_none_of_its_hours(idle):
    run = run_of(("run", {"workflow": "lean"}))
    assert run.hours_from == 100
    apply(run, idle, {}, 110)
    assert run.idle_since == 110
    apply(run, "resumed", {}, 150)
    assert (run.hours_from, run.idle_since) == (140, 0)
    apply(run, "resumed", {}, 170)
    assert run.hours_from == 140
    apply(run, idle, {}, 180)
    apply(run, "resumed", {}, 170)  # a clock that was set back
    assert run.hours_from == 140


def test_more_hours_are_counted_from_the_answer():
    assert answer("more", BEGUN).hours_from == 102


def test_what_a_call_asked_besides_is_asked_before_another_try():
    ended: Entry = ("ended", {**ENDED[1], "question": "one?", "more": ["two?", "three?"]})
    run = answer("again", BEGUN, STEP, CALL, ended)
    step = run.stories[KEY].steps[-1]
    assert step.last is not None
    assert step.last.ended == {**ended[1], "question": "two?", "more": ["three?"]}
    assert (step.again, step.forgiven) == (False, 0)
    for _ in range(2):
        apply(run, "asked", {"story": KEY}, 0.0)
        apply(run, "answered", {"means": "again"}, 0.0)
    assert step.last.ended == {**ended[1], "question": "three?", "more": []}
    assert (step.again, step.forgiven) == (True, 1)


@pytest.mark.parametrize("label", ["done", "skipped"])
@pytest.mark.parametrize("how", ["story", "edited"])
def test_a_story_that_begins_again_is_committed_again(label, how):
    done: Entry = ("commit", {"story": KEY, "label": label, "sha": "abc", "key": "k"})
    kept: Entry = ("commit", {"story": KEY, "label": "round-1", "sha": "def", "key": "j"})
    run = run_of(BEGUN, kept, done, ("gone", {"story": KEY}), (how, {"story": KEY, "status": "backlog"}))
    assert run.stories[KEY].commits == {"round-1": "def"}


def test_a_rest_has_an_end():
    assert run_of(("resting", {"until": 12.5})).resting == 12.5
    assert run_of(("resting", {"until": 12.5}), ("resting", {})).resting is None


def test_a_closed_epic_stays_closed():
    assert run_of(("epic", {"after": "done"}), ("epic", {"after": "in-progress"})).epic_closed
    assert not run_of(("epic", {"after": "in-progress"})).epic_closed


def test_a_story_that_was_through_when_we_came_is_finished_without_a_step():
    run = run_of(BEGUN, ("accepted", {"story": KEY, "number": None, "finished": True}))
    assert run.stories[KEY].finished
    assert (run.stories[KEY].passed, run.steps_done) == ([], 0)
    assert not run_of(BEGUN, ("accepted", {"story": KEY, "number": None})).stories[KEY].finished
    assert not run_of(BEGUN, ("accepted", {"story": KEY, "number": 9, "finished": True})).stories[KEY].finished


def test_a_question_asked_after_an_answer_or_a_restart_is_another():
    assert run_of(BEGUN).turn == 0
    assert answer("again", BEGUN).turn == 1
    assert run_of(BEGUN, ("restarted", {"story": KEY})).turn == 1


def test_a_restart_opens_the_epic_again():
    closed: list[Entry] = [("epic", {"after": "done"}), ("commit", {"label": "epic", "sha": "s"})]
    run = run_of(BEGUN, *closed, ("restarted", {"story": KEY}))
    assert (run.epic_closed, run.commits) == (False, {})
    assert not run_of(BEGUN, ("restarted", {"story": KEY})).epic_closed


def test_a_retrospective_may_be_dropped():
    assert answer("drop", BEGUN, STEP).stories[KEY].steps[-1].closed
    assert not answer("drop", BEGUN).stories[KEY].skipped


def test_a_retrospective_that_was_refused_is_still_to_be_held():
    step: Entry = ("step", {**STEP[1], "step": "retrospective"})
    assert run_of(BEGUN, step, CALL, ("ended", {**ENDED[1], "finding": "refused"})).retrospective is None
    assert run_of(BEGUN, step, CALL, ("ended", {**ENDED[1], "finding": "asked"})).retrospective is not None
