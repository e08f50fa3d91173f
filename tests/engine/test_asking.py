"""What a person is asked: the cause, the options, what is recommended and why, and what there is to look at."""

from typing import Any, cast

import pytest

from bmad_autopilot.core.causes import OFFERS, Cause
from bmad_autopilot.core.facts import Facts
from bmad_autopilot.core.records import CallRecord, StepRecord, StoryRecord
from bmad_autopilot.engine.asking import left_behind, meaning, question_for, with_trace
from bmad_autopilot.engine.doors import Asked, CallId, Doors
from bmad_autopilot.engine.forms import FORMS, RECOMMENDED
from bmad_autopilot.engine.looking import Look
from bmad_autopilot.engine.position import Position
from bmad_autopilot.workflows.pipelines import DEV


def look_after(**ended: Any) -> Look:
    record = StepRecord(3, DEV.name, 1, calls=[CallRecord(2, ended=ended)])
    return Look(Facts(), story=StoryRecord("1-3-routes"), at=Position(DEV, record))


@pytest.mark.parametrize(
    ("code", "ended", "cause", "recommended"),
    [
        ("failed", {"finding": "failed", "outcome": "crashed"}, Cause.FAILED, "retry"),
        ("failed", {"finding": "lacking", "outcome": "completed"}, Cause.LIAR, "fix"),
        ("failed", {"finding": "refused", "outcome": "limit"}, Cause.LIMIT, "retry"),
        ("hopeless", {"finding": "hopeless", "outcome": "timed-out"}, Cause.TIMEOUT, "extend"),
        ("hopeless", {"finding": "hopeless", "outcome": "auth"}, Cause.HOPELESS, "retry"),
        ("agent", {"finding": "asked", "asks": "blocked", "cause": "blocked"}, Cause.BLOCKED, "retry"),
        ("agent", {"finding": "asked", "asks": "blocked", "cause": "checks"}, Cause.CHECKS, "retry"),
        ("agent", {"finding": "asked", "asks": "blocked", "cause": "of a newer version"}, Cause.BLOCKED, "retry"),
        ("agent", {"finding": "asked", "asks": "agent", "question": {"question": "Which?"}}, Cause.QUESTION, ""),
    ],
)
def test_a_question_says_why_it_is_asked(code: str, ended: dict[str, Any], cause: Cause, recommended: str) -> None:
    asked = question_for(code, look_after(**ended), 3)
    assert (asked.cause, asked.recommended) == (cause, recommended)
    assert asked.options == OFFERS[cause].options
    assert bool(asked.because) == bool(recommended)


def test_only_a_time_limit_can_be_extended() -> None:
    assert "extend" in question_for("hopeless", look_after(outcome="timed-out"), 3).options
    assert "extend" not in question_for("hopeless", look_after(outcome="auth"), 3).options
    assert meaning("hopeless", "extend") == "extend"


def test_every_option_that_is_offered_means_something() -> None:
    by_code = {"failed": (Cause.FAILED, Cause.LIAR, Cause.LIMIT, Cause.TIMEOUT), "ground": (Cause.CONFLICT,)}
    for code, form in FORMS.items():
        causes = {
            form.cause,
            *by_code.get(code, ()),
            *([Cause.EPIC_COMPLETE] if code == "human-checkpoint" else []),
        }
        for cause in causes:
            assert set(OFFERS[cause].options) <= form.options.keys()
            recommended, because = RECOMMENDED.get(cause, (form.recommended, form.because))
            assert recommended in OFFERS[cause].options
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
    assert meaning(code, answer) == means


def test_a_blocked_story_says_its_reason() -> None:
    ended = {"asks": "blocked", "message": "no key for the mail service", "question": {"reason": "no_resource"}}
    asked = question_for("agent", look_after(finding="asked", **ended), 3)
    assert (asked.code, asked.reason) == ("blocked", "no_resource")
    assert asked.context == "Reason: no key for the mail service"
    assert asked.text.startswith("dev of 1-3-routes says that it is blocked")


def test_the_points_of_a_last_review_are_its_reason() -> None:
    look = look_after(finding="changes", summary="The link never expires.")
    asked = with_trace(question_for("rounds", look, 3), cast(Doors, Traced()))
    assert asked.context.startswith("Reason: The link never expires.\n")
    assert asked.context.endswith("See: docs/1-3-routes.md\nSee: logs")


def test_a_merge_that_stopped_is_a_conflict() -> None:
    look = Look(Facts(ground=False), story=StoryRecord("1-3-routes"), why="/p: files are not merged")
    assert question_for("ground", look, 3).cause == Cause.CONFLICT
    assert question_for("ground", look._replace(why="HEAD is detached"), 3).cause == Cause.GROUND


def test_human_checkpoints_say_which() -> None:
    before = question_for("human-checkpoint", look_after(), 3)
    between = question_for("human-checkpoint", Look(Facts(), story=StoryRecord("1-4-menu")), 3)
    after = question_for("human-checkpoint", Look(Facts()), 3)
    assert before.text == "dev of 1-3-routes comes next. Go on?"
    assert between.text == "A story is done, and 1-4-menu comes next. Go on?"
    assert (after.cause, after.text) == (Cause.EPIC_COMPLETE, "Every story of the epic is done. Close the epic?")


class Traced:
    def tail(self, call: CallId) -> str:
        return "npm test\n1 failed"

    def places(self, story: str, call: CallId) -> tuple[str, ...]:
        return (f"docs/{story}.md", "logs")


def test_what_there_is_to_look_at_comes_with_it() -> None:
    doors = cast(Doors, Traced())
    asked = with_trace(question_for("failed", look_after(finding="failed", message="exit code 3"), 3), doors)
    lines = "Reason: exit code 3\nIts last lines:\n  npm test\n  1 failed\nSee: docs/1-3-routes.md\nSee: logs"
    assert asked.context == lines
    own = question_for("agent", look_after(asks="agent", question={"question": "Which?", "context": "c"}), 3)
    assert with_trace(own, doors) == own, "an agent's question is told to the next one as it is"


def test_a_question_that_was_left_behind() -> None:
    asked = left_behind("1-3-routes", Asked("q1", "Which?", "c", ("a", "b"), "no_resource"))
    assert (asked.text, asked.options, asked.agents_own, asked.cause) == ("Which?", ("a", "b"), "q1", "question")
