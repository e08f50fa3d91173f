"""What a pull request says about an epic."""

from bmad_autopilot.core.records import CallRecord, Check, RunRecord, StepRecord, StoryRecord
from bmad_autopilot.engine.delivery.pull_text import Told, pull_body, pull_title
from bmad_autopilot.github.quoting import MAX_BODY, outgoing_body
from tests.engine.delivery.injecting import assert_starts_nothing, lane, record
from tests.github.injections import INJECTIONS

STORY = Told("1-1-sign-in", "Sign in", ("It is there.", "It works."), True)


def finished() -> RunRecord:
    run = record()
    story = StoryRecord("1-1-sign-in", finished=True, round=2)
    story.commits["done"] = "0123456789abcdef"
    story.steps = [StepRecord(1, "dev", 1)]
    story.steps[0].calls = [CallRecord(1), CallRecord(2)]
    run.stories[story.key] = story
    run.checks["c"] = Check("c", True, ran=[["make test", 0, 12.4]])
    run.dollars, run.seconds = 1.234, 605.0
    run.answers.append({"text": "Which way?", "answer": "the short one", "by": "human"})
    run.answers.append({"text": "Skip it?", "answer": "skip", "by": "policy"})
    return run


def test_it_tells_stories_criteria_evidence_decisions_and_cost() -> None:
    body = pull_body(lane(), finished(), [STORY, Told("1-2-sign-out", "", (), False)])
    assert (
        "### 1-1-sign-in: Sign in\n\n- It is there.\n- It works.\n\nDone in 0123456789ab, 2 review rounds." in body
    )
    assert "### 1-2-sign-out\n\n**Not part of this.**" in body
    assert "- `make test`: passed in 12 s" in body
    assert "- Which way?\n  → the short one\n" in body
    assert "- Skip it?\n  → skip (by the settings)" in body
    assert body.endswith("2 agent calls, 10 minutes of agents' time, $1.23.")


def test_where_there_is_nothing_to_tell() -> None:
    body = pull_body(lane(), RunRecord(), [])
    assert "The project names no checks of its own." in body
    assert "decided" not in body
    assert "$" not in body


def test_a_failed_check_is_no_evidence() -> None:
    run = record()
    run.checks["c"] = Check("c", False, ran=[["make test", 1, 1.0]])
    assert "make test" not in pull_body(lane(), run, [])


def test_the_title_names_the_epic() -> None:
    assert pull_title(lane()) == "Epic 1: Sign in"
    assert pull_title(lane("")) == "Epic 1"


def test_long_lists_are_cut_and_say_so() -> None:
    story = STORY._replace(criteria=tuple(f"criterion {number}" for number in range(50)))
    body = pull_body(lane(), record(), [story])
    assert "criterion 11\n- … 38 more" in body
    run = record()
    run.answers.extend({"text": f"question {number}", "answer": "yes"} for number in range(50))
    assert pull_body(lane(), run, []).count("→ yes") == 20


def test_no_text_of_others_starts_anything() -> None:
    for text in INJECTIONS:
        run = finished()
        run.answers = [{"text": text, "answer": text or "x", "by": "human"}]
        title, body = (
            pull_title(lane(text)),
            pull_body(lane(text), run, [STORY._replace(title=text, criteria=(text,))]),
        )
        assert_starts_nothing(title)
        assert_starts_nothing(body)
        assert "\n" not in title
        assert len(title) < 250
        assert len(body) < 5000
        assert body.count("\n## ") == 3, text[:80]  # no section of its own


def test_what_is_posted_fits_whatever_the_epic_holds() -> None:
    stories = [STORY._replace(key=f"1-{number}-x", criteria=("word " * 200,) * 50) for number in range(30)]
    assert len(outgoing_body(pull_body(lane(), finished(), stories))) <= MAX_BODY
