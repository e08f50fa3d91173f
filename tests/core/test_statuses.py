"""Statuses are data; unknown ones are kept, with a suggestion."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.core.statuses import STORY_LIFE, Kind, rank, read_status, suggest_status


@pytest.mark.parametrize(
    ("raw", "meaning"),
    [
        *((word, word) for word in STORY_LIFE),
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
    status = read_status(raw, Kind.STORY)
    assert (status.raw, status.meaning) == (raw, meaning)


def test_a_retrospective_may_be_optional() -> None:
    assert read_status("optional", Kind.RETROSPECTIVE).meaning == "optional"


@pytest.mark.parametrize(
    ("raw", "kind", "near"),
    [
        ("deployed", Kind.STORY, "done"),
        ("done ✅(含安全加强)", Kind.STORY, "done"),
        ("done-parcial", Kind.STORY, "done"),
        ("reday-for-dev", Kind.STORY, "ready-for-dev"),
        ("inprogress", Kind.STORY, "in-progress"),
        ("partial", Kind.EPIC, "in-progress"),
        ("review", Kind.EPIC, "in-progress"),
        ("zebra", Kind.STORY, None),
    ],
)
def test_suggestions(raw: str, kind: Kind, near: str | None) -> None:
    assert suggest_status(raw, kind) == near


@given(st.text(max_size=40), st.sampled_from(Kind))
def test_any_text_is_a_status(raw: str, kind: Kind) -> None:
    assert read_status(raw, kind).raw == raw
    near = suggest_status(raw, kind)
    assert near is None or rank(near, kind) >= 0


def test_ranks_follow_the_life() -> None:
    assert [rank(word) for word in STORY_LIFE] == [0, 1, 2, 3, 4]
    assert rank("parked") == rank("review", Kind.EPIC) == -1
