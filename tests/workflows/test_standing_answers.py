"""The answers as data: sound by themselves. That they meet every real HALT is tested on real installs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.stop_causes import BlockReason
from bmad_autopilot.workflows.standing_answers import NEWEST, SkillAnswer, parse_version
from bmad_autopilot.workflows.standing_answers.lookup import SKILL_ANSWERS, answers_for
from bmad_autopilot.workflows.standing_answers.planning import PLANNING
from scripts.halts import Halt, find_halts, stop_of
from tests.support.wheels import REPOSITORY

VERSIONS = ("6.0.0-alpha.12", "6.0.4", "6.1.0", "6.2.0", "6.3.0", "6.10.0", "6.11.0", "6.12.0", "7.0.0", "")


def ids(skill: str, version: str) -> list[str]:
    return [answer.id for answer in answers_for(skill, version)]


def one(sentence: str, skill: str) -> Halt:
    (halt,) = find_halts({f".claude/skills/bmad-{skill}/SKILL.md": sentence})
    return halt


@pytest.mark.parametrize("skill", [*SKILL_ANSWERS, *PLANNING])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_short_list_for_every_skill_and_version(skill: str, version: str) -> None:
    answers = answers_for(skill, version)
    assert 1 <= len(answers) <= 12
    assert len(set(ids(skill, version))) == len(answers)


def test_no_answers_for_a_skill_we_do_not_drive() -> None:
    assert answers_for("party-mode", "6.12.0") == ()
    assert stop_of(one("HALT", "party-mode"), "party-mode", "6.12.0") is None


@pytest.mark.parametrize("skill", SKILL_ANSWERS)
@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    "sentence",
    [
        "HALT - the moon is in the wrong house",
        "Ask the user to sign the form.",
        "Wait for the second key.",
        "HALT and delete the branch when approved",
        "Reply with the colour of the sky.",
        "Confirm the payment with the user.",
    ],
)
def test_a_halt_nobody_has_seen_has_no_answer(skill: str, version: str, sentence: str) -> None:
    assert stop_of(one(sentence, skill), skill, version) is None


@pytest.mark.parametrize("skill", SKILL_ANSWERS)
def test_the_data_are_sound(skill: str) -> None:
    data = SKILL_ANSWERS[skill]
    named = {answer.id for answer in data.answers}
    for stop in data.halt_rules:
        re.compile(stop.pattern)
        assert bool(stop.answer) != bool(stop.why), stop
        # A pattern says enough to name one thing; a bare `halt` would take in what nobody has seen.
        assert len(re.sub(r"\W", "", stop.pattern)) >= 10, stop
    assert named <= {stop.answer for stop in data.halt_rules}, "an answer to no stop"


ALL = (*(data.answers for data in SKILL_ANSWERS.values()), *PLANNING.values())


@pytest.mark.parametrize("answer", {answer for answers in ALL for answer in answers})
def test_an_answer_is_a_sentence_of_ours(answer: SkillAnswer) -> None:
    assert answer.text.endswith(".")
    assert "\n" not in answer.text
    assert len(answer.text) <= 320
    assert not re.search(r"\bhalt\b|\?", answer.text, re.IGNORECASE)
    assert ("ask" in answer.text.lower()) or answer.reason is None


def test_what_is_a_humans() -> None:
    reasons = {
        (skill, answer.id): answer.reason
        for skill in SKILL_ANSWERS
        for answer in answers_for(skill, "6.12.0")
        if answer.reason
    }
    assert reasons == {
        ("create-story", "epic"): BlockReason.CRITICAL_DECISION,
        ("validate", "epic"): BlockReason.CRITICAL_DECISION,
        ("dev-story", "no-story-file"): BlockReason.NO_RESOURCE,
        ("dev-story", "dependencies"): BlockReason.CRITICAL_DECISION,
        ("dev-story", "failures"): BlockReason.HUMAN_REVIEW_REQUIRED,
        ("dev-story", "configuration"): BlockReason.NO_RESOURCE,
        ("code-review", "decisions"): BlockReason.CRITICAL_DECISION,
        ("code-review", "baseline"): BlockReason.NO_RESOURCE,
        ("code-review", "layers"): BlockReason.NO_RESOURCE,
        ("build-auto", "branch"): BlockReason.HUMAN_REVIEW_REQUIRED,
        ("build-auto", "intent"): BlockReason.CRITICAL_DECISION,
        ("build-auto", "missing"): BlockReason.NO_RESOURCE,
        ("build-auto", "verification"): BlockReason.HUMAN_REVIEW_REQUIRED,
        ("retrospective", "no-epic"): BlockReason.NO_RESOURCE,
    }


def test_what_is_a_humans_while_planning() -> None:
    reasons = {answer.id: answer.reason for answers in PLANNING.values() for answer in answers if answer.reason}
    assert reasons == {
        "decisions": BlockReason.CRITICAL_DECISION,
        "missing": BlockReason.NO_RESOURCE,
        "not-ready": BlockReason.HUMAN_REVIEW_REQUIRED,
        "gate": BlockReason.HUMAN_REVIEW_REQUIRED,
    }
    assert "gate" not in ids("sprint-planning", "6.10.0")
    assert "gate" in ids("sprint-planning", "6.11.0")


def test_versions_get_what_their_texts_need() -> None:
    assert ids("code-review", "6.0.4") == ["target", "findings", "engine"]
    assert "checkpoint" in ids("code-review", "6.2.0")
    assert "engine" not in ids("dev-story", "6.1.0")
    assert "discussion" in ids("retrospective", "6.10.0")
    assert "headless" in ids("retrospective", "6.11.0")
    assert "discussion" not in ids("retrospective", "6.11.0")
    assert ids("code-review", "") == ids("code-review", "6.12.0")


def test_an_answer_that_is_not_given_meets_no_halt() -> None:
    """A stop of 6.12 found in a 6.0 would go unanswered: it must show."""
    text = "## 7. Next steps\n\n**HALT** — I am waiting for your choice.\n"
    (halt,) = find_halts({".claude/skills/bmad-code-review/steps/step-04-present.md": text})
    stop = stop_of(halt, "code-review", "6.12.0")
    assert stop is not None
    assert stop.answer == "end"
    assert stop_of(halt, "code-review", "6.0.4") is None


def test_the_same_words_get_the_answer_of_their_section() -> None:
    """code-review says the same sentence at three menus."""
    path = ".claude/skills/bmad-code-review/steps/step-04-present.md"
    answers = []
    for section in ("4. Resolve decision-needed findings", "5. Handle `patch` findings"):
        text = f"### {section}\n\n**HALT** — I am waiting for your numbered choice.\n"
        (halt,) = find_halts({path: text})
        stop = stop_of(halt, "code-review", "6.12.0")
        answers.append(stop and stop.answer)
    assert answers == ["decisions", "findings"]


@pytest.mark.parametrize("answers", ALL)
def test_the_page_for_users_has_every_answer(answers: tuple[SkillAnswer, ...]) -> None:
    page = (REPOSITORY / "docs" / "standing-answers.md").read_text()
    for answer in answers:
        asks = f"`{answer.reason}`" if answer.reason else ""
        assert f"| {answer.text} | {asks} |" in page, answer.id


@pytest.mark.parametrize(
    ("text", "version"),
    [
        ("6.12.0", (6, 12, 0)),
        ("v6.2", (6, 2)),
        ("6.0.0-alpha.12", (6, 0, 0)),
        ("6.11.1-next.24", (6, 11, 1)),
        ("", NEWEST),
        ("unknown", NEWEST),
    ],
)
def test_versions(text: str, version: tuple[int, ...]) -> None:
    assert parse_version(text) == version


def test_ten_comes_after_two() -> None:
    assert parse_version("6.2.9") < parse_version("6.10.0") < parse_version("no version")


@given(st.text())
def test_any_text_is_some_version(text: str) -> None:
    assert parse_version(text) <= NEWEST
