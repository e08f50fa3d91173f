"""Meanings of answers, as the journal records them."""

import pytest

from bmad_autopilot.core.answers import AnswerMeaning, read_meaning


@pytest.mark.parametrize("meaning", list(AnswerMeaning))
def test_every_meaning_is_read_back(meaning: AnswerMeaning) -> None:
    assert read_meaning(meaning.value) is meaning


@pytest.mark.parametrize("value", ["of a newer version", None, 3])
def test_a_meaning_of_another_version_is_unknown(value: object) -> None:
    assert read_meaning(value) is AnswerMeaning.UNKNOWN
