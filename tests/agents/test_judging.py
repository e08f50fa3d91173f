"""What all adapters share when they judge."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents import judging
from bmad_autopilot.agents.outcomes import Outcome
from bmad_autopilot.agents.protocol import Ending
from bmad_autopilot.agents.shim import endings


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (Ending(endings.TIME_LIMIT, signal=9), Outcome.TIMED_OUT),
        (Ending(endings.STALL), Outcome.STALLED),
        (Ending(endings.CANCEL), Outcome.CANCELLED),
        (Ending(endings.GUARD), Outcome.SKILL_MISSING),
        (Ending(endings.NO_START), Outcome.MISCONFIGURED),
        (Ending(endings.LOST), Outcome.LOST),
        (Ending(endings.SIGNAL), Outcome.CRASHED),
        (Ending(endings.EXIT, 0), Outcome.CRASHED),
        (Ending("a word of next year"), Outcome.CRASHED),
    ],
)
def test_every_ending_has_an_outcome_and_a_message(ending: Ending, outcome: Outcome) -> None:
    verdict = judging.by_ending(ending)
    assert verdict.outcome is outcome
    assert verdict.message


def test_the_message_is_the_first_thing_said_on_standard_error() -> None:
    verdict = judging.by_ending(Ending(endings.EXIT, 1), ["  ", "\nError: no such thing\nat line 3"])
    assert verdict.message == "Error: no such thing"


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        (Ending(endings.EXIT, 3), "exit code 3 and not a word"),
        (Ending(endings.EXIT, signal=9), "ended by SIGKILL"),
        (Ending(endings.EXIT, signal=250), "ended by signal 250"),
        (Ending(endings.NO_START, problem="claude: not found"), "claude: not found"),
    ],
)
def test_without_one_the_ending_speaks(ending: Ending, message: str) -> None:
    assert judging.by_ending(ending).message == message


def test_trouble_in_tidying_up_is_not_why_a_call_was_stopped() -> None:
    assert (
        judging.by_ending(Ending(endings.STALL, problem="cannot remove a folder")).message
        == "stopped: no progress"
    )


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(ANY)
def test_whatever_a_client_prints_gives_what_was_asked_for(value: object) -> None:
    assert isinstance(judging.mapping(value, "a"), dict)
    assert isinstance(judging.mapping(value), dict)
    assert isinstance(judging.listing(value), list)
    assert isinstance(judging.string(value), str)
    assert judging.count(value) >= 0
    found = judging.number(value)
    assert found is None or abs(found) < float("inf")
    assert isinstance(judging.moment(value), str)


@given(st.text(), st.integers(1, 50))
def test_a_clipped_text_is_one_short_line(text: str, most: int) -> None:
    line = judging.clip(text, most)
    assert len(line) <= most
    assert line.isprintable()


@pytest.mark.parametrize(
    ("text", "number"),
    [("true", None), ("NaN", None), ("Infinity", None), ("1" * 400, None), ("2.5", 2.5), ("-1", -1.0)],
)
def test_a_number(text: str, number: float | None) -> None:
    assert judging.number(json.loads(text)) == number


def test_a_moment() -> None:
    assert judging.moment(1_794_795_776) == "2026-11-16 02:22 UTC"
    assert judging.moment(1_794_795_776_000) == ""


def test_a_crash_is_told_by_the_line_that_says_what_went_wrong() -> None:
    ending = Ending("exit", 1, None, "")
    unpacked = ["Package extraction took 5079ms", "Error: No session", "at main"]
    assert judging.by_ending(ending, unpacked).message == "Error: No session"
    traceback = ["Traceback (most recent call last):", '  File "x.py", line 1', "KeyError: 'port'"]
    assert judging.by_ending(ending, traceback).message == "KeyError: 'port'"
