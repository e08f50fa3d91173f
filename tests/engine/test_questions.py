"""What a person is asked: the cause, the options, what is recommended and why, and what there is to look at."""

from dataclasses import replace
from typing import Any

import pytest

from bmad_autopilot.core.facts import Facts
from bmad_autopilot.core.run_record import CallRecord, StepRecord, StoryRecord
from bmad_autopilot.core.stop_causes import CAUSE_MENUS, Cause
from bmad_autopilot.engine.observation import EpicObservation, StoryObservation, StoryPosition, UnstartedStory
from bmad_autopilot.engine.ports import CallId, UnansweredQuestion
from bmad_autopilot.engine.question_texts import QUESTION_TEXTS, RECOMMENDED_BY_CAUSE
from bmad_autopilot.engine.questions import leftover_question, meaning_of, question_for, with_call_output
from bmad_autopilot.sim.memory.git import board_rows
from bmad_autopilot.workflows.workflow import DEV
from tests.support.ports import ports_of


def look_after(**ended: Any) -> StoryObservation:
    record = StepRecord(3, DEV.name, 1, calls=[CallRecord(2, outcome=ended)])
    return StoryObservation(Facts(), story=StoryRecord("1-3-routes"), position=StoryPosition(DEV, record))


@pytest.mark.parametrize(
    ("code", "ended", "cause", "recommended"),
    [
        ("failed", {"finding": "failed", "outcome": "crashed"}, Cause.FAILED, "retry"),
        ("failed", {"finding": "lacking", "outcome": "completed"}, Cause.FALSE_CLAIM, "fix"),
        ("failed", {"finding": "refused", "outcome": "limit"}, Cause.LIMIT, "retry"),
        ("hopeless", {"finding": "hopeless", "outcome": "timed-out"}, Cause.TIMEOUT, "extend"),
        ("hopeless", {"finding": "hopeless", "outcome": "auth"}, Cause.UNRECOVERABLE, "retry"),
        ("agent", {"finding": "asked", "asks": "blocked", "cause": "blocked"}, Cause.BLOCKED, "retry"),
        ("agent", {"finding": "asked", "asks": "blocked", "cause": "checks"}, Cause.CHECKS, "retry"),
        ("agent", {"finding": "asked", "asks": "blocked", "cause": "of a newer version"}, Cause.BLOCKED, "retry"),
        ("agent", {"finding": "asked", "asks": "agent", "question": {"question": "Which?"}}, Cause.QUESTION, ""),
    ],
)
def test_a_question_says_why_it_is_asked(code: str, ended: dict[str, Any], cause: Cause, recommended: str) -> None:
    asked = question_for(code, look_after(**ended), 3)
    assert (asked.cause, asked.recommended) == (cause, recommended)
    assert asked.options == CAUSE_MENUS[cause].options
    assert bool(asked.because) == bool(recommended)


def test_only_a_time_limit_can_be_extended() -> None:
    assert "extend" in question_for("hopeless", look_after(outcome="timed-out"), 3).options
    assert "extend" not in question_for("hopeless", look_after(outcome="auth"), 3).options
    assert meaning_of("hopeless", "extend") == "extend"


def test_every_option_that_is_offered_means_something() -> None:
    by_code = {
        "failed": (Cause.FAILED, Cause.FALSE_CLAIM, Cause.LIMIT, Cause.TIMEOUT),
        "ground": (Cause.CONFLICT,),
    }
    for code, form in QUESTION_TEXTS.items():
        causes = {
            form.cause,
            *by_code.get(code, ()),
            *([Cause.EPIC_COMPLETE] if code == "human-checkpoint" else []),
        }
        for cause in causes:
            assert set(CAUSE_MENUS[cause].options) <= form.options.keys()
            recommended, because = RECOMMENDED_BY_CAUSE.get(cause, (form.recommended, form.because))
            assert recommended in CAUSE_MENUS[cause].options
            assert because


@pytest.mark.parametrize(
    ("code", "answer", "means"),
    [
        ("failed", "retry", "again"),
        ("blocked", "skip", "skip"),
        ("blocked", "fix", "hand-over"),
        ("checks", "retry", "more-fixes"),
        ("human-checkpoint", "continue", "go-on"),
        ("settings", "old", "old-settings"),
        ("settings", "new", "new-settings"),
        ("left-behind", "anything at all", "go-on"),
        ("agent", "anything at all", "again"),
        ("of an older version", "x", "again"),
    ],
)
def test_what_an_answer_means(code: str, answer: str, means: str) -> None:
    assert meaning_of(code, answer) == means


def test_a_blocked_story_says_its_reason() -> None:
    ended = {"asks": "blocked", "message": "no key for the mail service", "question": {"reason": "no_resource"}}
    asked = question_for("agent", look_after(finding="asked", **ended), 3)
    assert (asked.code, asked.reason) == ("blocked", "no_resource")
    assert asked.context == "Reason: no key for the mail service"
    assert asked.text.startswith("dev of 1-3-routes reports that it is blocked")


def test_the_points_of_a_last_review_are_its_reason() -> None:
    look = look_after(finding="changes", summary="The link never expires.")
    asked = with_call_output(question_for("rounds", look, 3), ports_of(Traced()))
    assert asked.context.startswith("Reason: The link never expires.\n")
    assert asked.context.endswith("See: docs/1-3-routes.md\nSee: logs")


def test_a_merge_that_stopped_is_a_conflict() -> None:
    look = replace(look_after(), facts=Facts(ground=False), worktree_problem="/p: files are not merged")
    assert question_for("ground", look, 3).cause == Cause.CONFLICT
    assert (
        question_for("ground", replace(look, worktree_problem="HEAD is detached"), 3).cause
        == Cause.UNSAFE_WORKTREE
    )


def test_human_checkpoints_say_which() -> None:
    before = question_for("human-checkpoint", look_after(), 3)
    rows = board_rows(b"development_status:\n  epic-1: in-progress\n  1-4-menu: backlog\n")
    between = question_for("human-checkpoint", UnstartedStory(Facts(), rows=rows, row=rows["1-4-menu"]), 3)
    after = question_for("human-checkpoint", EpicObservation(Facts(), rows=rows, retrospective=None), 3)
    assert before.text == "dev of 1-3-routes is next. Continue?"
    assert between.text == "A story is done; 1-4-menu is next. Continue?"
    assert (after.cause, after.text) == (Cause.EPIC_COMPLETE, "Every story of the epic is done. Close the epic?")


class Traced:
    def last_output(self, call: CallId) -> str:
        return "npm test\n1 failed"

    def related_files(self, story: str, call: CallId) -> tuple[str, ...]:
        return (f"docs/{story}.md", "logs")


def test_what_there_is_to_look_at_comes_with_it() -> None:
    ports = ports_of(Traced())
    asked = with_call_output(question_for("failed", look_after(finding="failed", message="exit code 3"), 3), ports)
    lines = "Reason: exit code 3\nIts last lines:\n  npm test\n  1 failed\nSee: docs/1-3-routes.md\nSee: logs"
    assert asked.context == lines
    own = question_for("agent", look_after(asks="agent", question={"question": "Which?", "context": "c"}), 3)
    assert with_call_output(own, ports) == own, "an agent's question is told to the next one as it is"


def test_a_question_that_was_left_behind() -> None:
    asked = leftover_question("1-3-routes", UnansweredQuestion("q1", "Which?", "c", ("a", "b"), "no_resource"))
    assert (asked.text, asked.options, asked.agent_question_id, asked.cause) == (
        "Which?",
        ("a", "b"),
        "q1",
        "question",
    )
