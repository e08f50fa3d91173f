"""Calls for a person: every line fits, and nothing in it steers the terminal."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.adapter import EVENT_KINDS, TEXT, AttemptVerdict, Event, Outcome, Spend, Tokens
from bmad_autopilot.agents.attempt import AttemptResult, AttemptState
from bmad_autopilot.core.text import printable
from bmad_autopilot.views.agents import (
    AccountLimit,
    CallEndView,
    CallView,
    EventLine,
    KnownAgent,
    OpenCall,
    call_footer,
    call_header,
    coarse_duration,
    readable_lines,
    render,
    render_event_line,
    spend_words,
)
from bmad_autopilot.views.terminal import Terminal, display_width

WIDTHS = st.integers(40, 200)


def screen(width: int) -> Terminal:
    out = Terminal("never", width)
    out.is_terminal = True
    return out


def is_tame(text: str) -> bool:
    return not any(char < " " or "\x7f" <= char <= "\x9f" or char in "\u202e\u2066" for char in text)


class Echo:
    """An adapter that shows what it is given."""

    name = program = "echo"
    variables = ()

    def format_event(self, event: Event) -> list[str]:
        return [str(event.data)]


@given(st.text(), WIDTHS, st.sampled_from(EVENT_KINDS), st.floats(0, 1e6))
def test_lines_fit_and_are_tame(text: str, width: int, kind: str, at: float) -> None:
    for one in readable_lines(Echo(), Event(at, kind, text)):  # type: ignore[arg-type]
        shown = render_event_line(one, screen(width))
        assert display_width(shown) <= max(width, 30)
        assert is_tame(shown)


@given(st.text(max_size=120), st.text(max_size=120), WIDTHS, st.sampled_from(AttemptState), st.floats(0, 1e9))
def test_heads_and_lists_are_tame_and_fit(
    name: str, story: str, width: int, state: AttemptState, seconds: float
) -> None:
    call = CallView(name, story, "dev", "claude", None, state, seconds)
    agents = [KnownAgent("claude", "claude", False, story, None, ("dev",), AccountLimit(name, 1.0), None, True)]
    shown = [*call_header(call, screen(width)), *render(agents, [OpenCall(call, story, name)], 3, screen(width))]
    assert all(is_tame(text) for text in shown)
    too_wide = [text for text in shown if display_width(text) > width]
    # Whole for good reason: the name of a call, to be copied, and the little there is to say on an agent.
    assert all(text in (f"  {printable(name)}",) or "parked until" in text for text in too_wide)


@given(st.text(max_size=400), st.text(max_size=50), WIDTHS, st.sampled_from(Outcome))
def test_endings_are_tame_and_begin_with_the_outcome(
    message: str, denied: str, width: int, outcome: Outcome
) -> None:
    end = CallEndView(
        AttemptVerdict(outcome, message, denials=(denied,)), AttemptResult("x", "exit", problems=(message,))
    )
    shown = list(call_footer(end, screen(width)))
    assert shown[0].startswith(outcome.value)
    assert all(is_tame(text) and display_width(text) <= width for text in shown)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (-5, "0 s"),
        (0.4, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (3900, "1 h 5 min"),
        (47 * 3600, "47 h 0 min"),
        (72 * 3600, "3 days"),
    ],
)
def test_spans_of_time(seconds: float, words: str) -> None:
    assert coarse_duration(seconds) == words


def test_what_a_call_cost() -> None:
    assert spend_words(Spend()) == []
    assert spend_words(Spend(0.0123)) == ["$0.0123"]
    assert spend_words(Spend(12.345, Tokens(1000, 20, 500, 4))) == ["$12.35", "1,504 tokens in, 20 out"]


def test_a_pipe_gets_lines_whole() -> None:
    out = Terminal("never", 40)
    out.is_terminal = False
    assert render_event_line(EventLine(1.25, TEXT, "x" * 300), out).endswith("x" * 300)
