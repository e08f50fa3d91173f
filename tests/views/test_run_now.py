"""What a run is at just now."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.views.run_now import RunNow
from bmad_autopilot.views.terminal import Terminal
from tests.views.entries import BEGAN, STORY, ended

CALL = ("call", {"story": "1-2-login", "step": "dev", "role": "dev", "number": 1, "attempt": 1}, BEGAN)


def lines(now: RunNow, width: int = 80) -> list[str]:
    return now.lines(Terminal("never", width))


def progress(**more: Any) -> tuple[str, dict[str, Any], float]:
    return "progress", {"number": 1, "step": "dev", "seconds": 192.0, "last": "Edit src/login.py", **more}, BEGAN


def test_story_step_elapsed_tokens_cost_and_the_last_thing_done() -> None:
    now = RunNow(5)
    now.take("story", {"story": "1-2-login", "status": "backlog"}, BEGAN)
    now.take(*ended("1-1-x", "dev", 0, "good"), BEGAN)
    now.take(*CALL)
    now.take(*progress(tokens=48210, dollars=0.42))
    assert lines(now, 100) == [
        "● 1-2-login · dev · 3 min 12 s · 48,210 tokens · $0.42 · story 1 of 5 · $0.42 so far",
        "  Edit src/login.py",
    ]


def test_a_narrow_window_loses_no_figure() -> None:
    now = RunNow(5)
    now.take("story", {"story": "1-2-login", "status": "backlog"}, BEGAN)
    now.take(*CALL)
    now.take(*progress(tokens=48210, dollars=0.42))
    assert lines(now, 40) == [
        "● 1-2-login · dev · 3 min 12 s",
        "  48,210 tokens · $0.42",
        "  story 1 of 5",
        "  Edit src/login.py",
    ]


def test_a_call_that_an_earlier_session_started_is_shown_too() -> None:
    now = RunNow()
    now.take(*progress(story="1-2-login", last=""))
    assert lines(now) == ["● 1-2-login · dev · 3 min 12 s"]


@pytest.mark.parametrize("kind", ["ended", "check", "asked", "waiting", "left", "finished"])
def test_nothing_is_drawn_while_nothing_goes_on(kind: str) -> None:
    now = RunNow()
    now.take(*CALL)
    now.take(kind, {}, BEGAN)
    assert lines(now) == []


def test_waiting_and_checking() -> None:
    now = RunNow()
    now.take("checking", {"story": "1-2-login"}, BEGAN)
    assert lines(now) == ["● 1-2-login · checks"]
    now.take("resting", {"why": "limit", "until": BEGAN + 3600}, BEGAN)
    assert lines(now) == ["● waits until 13:00"]


@given(st.text(max_size=200), st.text(max_size=40), st.integers(20, 100))
def test_an_agents_words_steer_nothing(last: str, story: str, width: int) -> None:
    now = RunNow(2)
    for entry in STORY[:2]:
        now.take(*entry)
    now.take("call", {**CALL[1], "story": story}, BEGAN)
    now.take(*progress(last=last))
    for line in lines(now, width):
        assert not any(char < " " or "\x7f" <= char <= "\x9f" for char in line)
