"""Checkpoints, forks, settings and human checkpoints, as the journal folds them."""

from collections.abc import Mapping
from typing import Any

from bmad_autopilot.core.facts import CallFact, Facts
from bmad_autopilot.core.journal_fold import fold
from bmad_autopilot.core.run_record import RunRecord, StepRecord

Entry = tuple[str, Mapping[str, Any], float]

HEAD: Entry = ("run", {"run_id": "r", "variables": {"depth": "2"}}, 100.0)
STORY: Entry = ("story", {"story": "1-1-a", "status": "backlog"}, 101.0)
STEP: Entry = ("step", {"story": "1-1-a", "number": 1, "step": "dev", "round": 1}, 102.0)
CALL: Entry = ("call", {"story": "1-1-a", "number": 1, "attempt": 1}, 103.0)
ENDED: Entry = (
    "ended",
    {
        "story": "1-1-a",
        "number": 1,
        "attempt": 1,
        "finding": "failed",
        "dollars": 0.5,
        "tokens": 7,
        "seconds": 3.0,
    },
    104.0,
)
MADE = {"id": "abcdef", "step": 1, "variables": {"depth": "3", "doc": "a.md"}, "artefacts": []}


def asked(code: str, **more: Any) -> Entry:
    return "asked", {"question": "q1", "code": code, "story": "1-1-a", "number": 1, **more}, 110.0


def answered(means: str) -> Entry:
    return "answered", {"question": "q1", "answer": "x", "means": means}, 111.0


def step_of(run: RunRecord) -> StepRecord:
    return run.stories["1-1-a"].steps[-1]


def test_variables_begin_with_the_runs_own() -> None:
    assert fold([HEAD]).variables == {"depth": "2"}
    assert fold([("run", {"run_id": "r"}, 1.0)]).variables == {}


def test_a_completed_step_leaves_its_variables_and_its_checkpoint() -> None:
    done: Entry = ("accepted", {"story": "1-1-a", "number": 1, "step": "dev", "checkpoint": MADE}, 105.0)
    run = fold([HEAD, STORY, STEP, CALL, ENDED, done])
    assert (run.variables, run.checkpoints) == (MADE["variables"], [MADE])
    plain: Entry = ("accepted", {"story": "1-1-a", "number": 1, "step": "dev"}, 105.0)
    run = fold([HEAD, STORY, STEP, CALL, ENDED, plain])
    assert (run.variables, run.checkpoints) == ({"depth": "2"}, [])


def test_so_does_a_review_that_sends_a_story_back() -> None:
    sent: Entry = ("round", {"story": "1-1-a", "round": 2, "checkpoint": MADE}, 105.0)
    run = fold([HEAD, STORY, STEP, CALL, ENDED, sent])
    assert (run.variables, run.checkpoints) == (MADE["variables"], [MADE])


def test_what_a_fork_takes_over_costs_it_nothing() -> None:
    spent = [HEAD, STORY, STEP, CALL, ENDED, ("waiting", {}, 106.0)]
    before = fold(spent)
    assert (before.dollars, before.tokens, before.seconds, before.idle_since) == (0.5, 7, 3.0, 106.0)
    unpriced: Entry = ("ended", {"story": "1-1-a", "number": 1, "attempt": 2}, 105.5)
    again: Entry = ("call", {"story": "1-1-a", "number": 1, "attempt": 2}, 105.4)
    run = fold([*spent, again, unpriced, ("forked", {"run": "s"}, 9000.0)])
    assert (run.dollars, run.tokens, run.seconds, run.unpriced_calls) == (0.0, 0, 0.0, 0)
    assert (run.started_at, run.hours_counted_from, run.idle_since) == (9000.0, 9000.0, 0.0)
    assert run.stories["1-1-a"].steps  # all else stays
    assert (before.inherited_calls, run.inherited_calls) == (0, 2)


def test_a_human_checkpoint_is_let_pass_by_going_on_and_by_taking_over() -> None:
    here = asked("human-checkpoint", stage="before_dev")
    for means in ("go-on", "hand-over"):
        assert fold([HEAD, STORY, STEP, here, answered(means)]).passed_checkpoints == {"before_dev:1-1-a"}
    assert fold([HEAD, STORY, STEP, here, answered("abort")]).passed_checkpoints == set()
    assert fold([HEAD, STORY, STEP, asked("failed"), answered("hand-over")]).passed_checkpoints == set()


def test_the_settings_that_somebody_has_chosen() -> None:
    begun = fold([HEAD])
    assert (begun.settings, begun.keeps_initial_settings) == ("", False)
    changed = asked("settings", settings="digest")
    new = fold([HEAD, changed, answered("new-settings")])
    assert (new.settings, new.keeps_initial_settings) == ("digest", False)
    old = fold([HEAD, changed, answered("old-settings")])
    assert (old.settings, old.keeps_initial_settings) == ("digest", True)
    both = fold([HEAD, changed, answered("old-settings"), asked("settings"), answered("new-settings")])
    assert (both.settings, both.keeps_initial_settings) == ("", False)


def test_more_time_is_another_call_with_as_much_again() -> None:
    begun = [HEAD, STORY, STEP, CALL, ENDED]
    assert step_of(fold(begun)).extensions == 0
    once = step_of(fold([*begun, asked("failed"), answered("extend")]))
    assert (once.extensions, once.retry_due, once.uncounted_calls) == (1, True, 1)
    again = step_of(fold([*begun, asked("failed"), answered("again")]))
    assert (again.extensions, again.retry_due) == (0, True)


def test_facts_are_told_as_far_as_they_are_unusual() -> None:
    assert Facts().non_default() == {}
    assert Facts(stop=True, call=CallFact.SUCCEEDED).non_default() == {"stop": True, "call": CallFact.SUCCEEDED}


def test_a_story_that_somebody_takes_over_is_marked_where_they_did() -> None:
    begun = [HEAD, STORY, STEP, CALL, ENDED]
    last = step_of(fold(begun)).last_call
    assert last is not None
    assert not last.handed_over
    by_hand = step_of(fold([*begun, asked("failed"), answered("hand-over")]))
    assert by_hand.last_call is not None
    assert (by_hand.last_call.handed_over, by_hand.closed, by_hand.retry_due) == (True, True, False)


def test_a_workflows_step_that_somebody_takes_over_is_called_once_more() -> None:
    begun = [HEAD, STORY, STEP, CALL, ENDED]
    by_hand = step_of(fold([*begun, asked("failed", about="workflow"), answered("hand-over")]))
    assert (by_hand.closed, by_hand.retry_due) == (False, True)
    skipped = step_of(fold([*begun, asked("failed", about="workflow"), answered("skip")]))
    assert (skipped.closed, skipped.retry_due) == (True, False)
