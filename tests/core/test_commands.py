"""Commands we tell people to type can be typed."""

import shlex

import pytest

from bmad_autopilot.core.commands import command


@pytest.mark.parametrize("key", ["1-2-account", "1-2-a; touch x", "1-2-$(x)", "1-2-it's", "1-2-项目", ""])
def test_a_key_stays_one_word(key: str) -> None:
    assert shlex.split(command("board", "set", key, "done")) == ["bmad", "board", "set", key, "done"]


def test_ordinary_words_stay_as_they_are() -> None:
    assert command("run-story", "1-2.b_c", "--dry-run") == "bmad run-story 1-2.b_c --dry-run"
