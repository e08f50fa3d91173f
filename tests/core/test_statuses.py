"""Statuses are data; unknown ones are kept, with a suggestion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.errors import Severity
from bmad_autopilot.core.next_action import WORKFLOW_MAPPING
from bmad_autopilot.core.statuses import (
    EPIC_LIFECYCLE,
    RETROSPECTIVE_LIFECYCLE,
    STORY_LIFECYCLE,
    RowKind,
    RowStatus,
    normalize_word,
    read_status,
    status_rank,
    suggest_status,
)
from bmad_autopilot.core.step_output import StepOutput


@pytest.mark.parametrize(
    ("raw", "meaning"),
    [
        *((word, word) for word in STORY_LIFECYCLE),
        ("drafted", "ready-for-dev"),
        ("contexted", "in-progress"),
        ("completed", "done"),
        ("Complete", "done"),
        ("In progress", "in-progress"),
        ("READY_FOR_DEV", "ready-for-dev"),
        ("Ready for Review", "review"),
        ("blocked", "parked"),
        ("moved-to-12.8", "parked"),
        ("awaiting-operator", "parked"),
        ("optional", "parked"),  # of a story; a retrospective is optional by nature
        ("deployed", "unknown"),
        ("done ✅(含安全加强)", "unknown"),
        ("", "unknown"),
        ("docs/archive/old.yaml", "unknown"),
    ],
)
def test_story_statuses(raw: str, meaning: str) -> None:
    status = read_status(raw, RowKind.STORY)
    assert (status.raw, status.meaning) == (raw, meaning)


def test_a_retrospective_may_be_optional() -> None:
    assert read_status("optional", RowKind.RETROSPECTIVE).meaning == "optional"


@pytest.mark.parametrize(
    ("raw", "kind", "near"),
    [
        ("deployed", RowKind.STORY, "done"),
        ("done ✅(含安全加强)", RowKind.STORY, "done"),
        ("done-parcial", RowKind.STORY, "done"),
        ("reday-for-dev", RowKind.STORY, "ready-for-dev"),
        ("inprogress", RowKind.STORY, "in-progress"),
        ("partial", RowKind.EPIC, "in-progress"),
        ("review", RowKind.EPIC, "in-progress"),
        ("zebra", RowKind.STORY, None),
    ],
)
def test_suggestions(raw: str, kind: RowKind, near: str | None) -> None:
    assert suggest_status(raw, kind) == near


@given(st.text(max_size=40), st.sampled_from(RowKind))
def test_any_text_is_a_status(raw: str, kind: RowKind) -> None:
    assert read_status(raw, kind).raw == raw
    near = suggest_status(raw, kind)
    assert near is None or status_rank(near, kind) >= 0


def test_ranks_follow_the_life() -> None:
    assert [status_rank(word) for word in STORY_LIFECYCLE] == [0, 1, 2, 3, 4]
    assert status_rank("parked") == status_rank("review", RowKind.EPIC) == -1


def test_words_others_read_stay_what_they_are():
    assert [one.value for one in StepOutput] == ["story", "code", "revision", "verdict", "nothing"]
    assert [one.value for one in Severity] == ["error", "warning", "note"]
    assert [one.value for one in RowKind] == ["epic", "story", "retrospective", "other"]
    assert STORY_LIFECYCLE == ("backlog", "ready-for-dev", "in-progress", "review", "done")
    assert EPIC_LIFECYCLE == ("backlog", "in-progress", "done")
    assert RETROSPECTIVE_LIFECYCLE == ("optional", "done")
    assert WORKFLOW_MAPPING == {
        "create-story": "bmad:bmm:workflows:create-story",
        "dev-story": "bmad:bmm:workflows:dev-story",
        "code-review": "bmad:bmm:workflows:code-review",
    }


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (RowKind.EPIC, "an epic"),
        (RowKind.STORY, "a story"),
        (RowKind.RETROSPECTIVE, "a retrospective"),
        (RowKind.OTHER, "an other"),
    ],
)
def test_a_kind_with_its_article(kind, words):
    assert kind.with_article == words


SYNONYMS = {
    "ready-for-dev": "drafted ready",
    "in-progress": "contexted started wip",
    "review": "ready-for-review in-review",
    "done": "complete completed approved",
    "backlog": "todo",
}


PARKED = "moved-to-x merged-into-x split-into-x superseded-by-x deferred-to-x blocked deferred wont-do absorbed"


SUGGESTED = {
    "done": "deployed shipped finished closed mvp-complete",
    "review": "dev-complete testing qa",
    "in-progress": "partial doing",
    "backlog": "pending planning planned open new draft",
}


@pytest.mark.parametrize(
    ("word", "meaning"), [(word, meaning) for meaning, words in SYNONYMS.items() for word in words.split()]
)
def test_synonyms(word, meaning):
    assert read_status(word, RowKind.STORY) == (word, meaning)
    assert read_status(word).is_legacy
    assert suggest_status(word) == meaning


@pytest.mark.parametrize("word", PARKED.split())
def test_parked_words(word):
    assert read_status(word, RowKind.STORY).meaning == "parked"
    assert not read_status(word, RowKind.STORY).is_legacy


@pytest.mark.parametrize(
    ("word", "meaning"), [(word, meaning) for meaning, words in SUGGESTED.items() for word in words.split()]
)
def test_suggested_words(word, meaning):
    assert read_status(word).meaning == "unknown"
    assert suggest_status(word) == meaning
    assert suggest_status(f"{word.split('-')[0]}-by-hand") == suggest_status(word.split("-")[0])


def test_a_suggestion_is_a_status_of_that_kind():
    assert suggest_status("ready-for-dev", RowKind.EPIC) == "in-progress"
    assert suggest_status("ready", RowKind.EPIC) is None
    assert suggest_status("qa", RowKind.EPIC) is None
    assert suggest_status("testing-now", RowKind.RETROSPECTIVE) is None
    assert suggest_status("review-again") == "review"
    assert suggest_status("ready-for-dev-2") == "ready-for-dev"
    assert suggest_status("ready-for-dev") == "ready-for-dev"
    assert suggest_status("review") == "review"
    assert suggest_status("progress") == "in-progress"
    assert suggest_status("lockback") is None
    assert suggest_status("donut") is None


def test_a_status_as_written():
    assert read_status("done") == RowStatus("done", "done")
    assert not read_status("done").is_legacy
    assert not read_status("zebra").is_legacy
    assert normalize_word(" In_Progress - now ") == "in-progress-now"


def test_a_rank_has_its_kind():
    assert [status_rank(word, RowKind.EPIC) for word in EPIC_LIFECYCLE] == [0, 1, 2]
    assert [status_rank(word, RowKind.RETROSPECTIVE) for word in RETROSPECTIVE_LIFECYCLE] == [0, 1]
    assert status_rank("review", RowKind.OTHER) == 3
