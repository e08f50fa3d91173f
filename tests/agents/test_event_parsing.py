"""What all adapters share when they judge."""

import json
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents import event_parsing
from bmad_autopilot.agents.adapter import ERROR, JSON, NOTE, TEXT, Event, Outcome, ProcessEnding
from bmad_autopilot.agents.event_parsing import (
    MAX_LINE,
    MAX_LINES,
    EventAccumulator,
    format_failure,
    format_prose,
    format_tool_call,
    outcome_for_status,
    summarize_input,
)
from bmad_autopilot.agents.shim import attempt_files


@pytest.mark.parametrize(
    ("ending", "outcome"),
    [
        (ProcessEnding(attempt_files.TIME_LIMIT, signal=9), Outcome.TIMED_OUT),
        (ProcessEnding(attempt_files.STALL), Outcome.STALLED),
        (ProcessEnding(attempt_files.CANCEL), Outcome.CANCELLED),
        (ProcessEnding(attempt_files.GUARD), Outcome.SKILL_MISSING),
        (ProcessEnding(attempt_files.NO_START), Outcome.MISCONFIGURED),
        (ProcessEnding(attempt_files.LOST), Outcome.LOST),
        (ProcessEnding(attempt_files.SIGNAL), Outcome.CRASHED),
        (ProcessEnding(attempt_files.EXIT, 0), Outcome.CRASHED),
        (ProcessEnding("a word of next year"), Outcome.CRASHED),
    ],
)
def test_every_ending_has_an_outcome_and_a_message(ending: ProcessEnding, outcome: Outcome) -> None:
    verdict = event_parsing.verdict_from_ending(ending)
    assert verdict.outcome is outcome
    assert verdict.message


def test_the_message_is_the_first_thing_said_on_standard_error() -> None:
    verdict = event_parsing.verdict_from_ending(
        ProcessEnding(attempt_files.EXIT, 1), ["  ", "\nError: no such thing\nat line 3"]
    )
    assert verdict.message == "Error: no such thing"


@pytest.mark.parametrize(
    ("ending", "message"),
    [
        (ProcessEnding(attempt_files.EXIT, 3), "exit code 3 and not a word"),
        (ProcessEnding(attempt_files.EXIT, signal=9), "ended by SIGKILL"),
        (ProcessEnding(attempt_files.EXIT, signal=250), "ended by signal 250"),
        (ProcessEnding(attempt_files.NO_START, problem="claude: not found"), "claude: not found"),
    ],
)
def test_without_one_the_ending_speaks(ending: ProcessEnding, message: str) -> None:
    assert event_parsing.verdict_from_ending(ending).message == message


def test_trouble_in_tidying_up_is_not_why_a_call_was_stopped() -> None:
    assert (
        event_parsing.verdict_from_ending(
            ProcessEnding(attempt_files.STALL, problem="cannot remove a folder")
        ).message
        == "stopped: no progress"
    )


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@given(ANY)
def test_whatever_a_client_prints_gives_what_was_asked_for(value: object) -> None:
    assert isinstance(event_parsing.get_dict(value, "a"), dict)
    assert isinstance(event_parsing.get_dict(value), dict)
    assert isinstance(event_parsing.as_list(value), list)
    assert isinstance(event_parsing.as_str(value), str)
    assert event_parsing.as_count(value) >= 0
    found = event_parsing.as_number(value)
    assert found is None or abs(found) < float("inf")
    assert isinstance(event_parsing.format_time(value), str)


@given(st.text(), st.integers(1, 50))
def test_a_clipped_text_is_one_short_line(text: str, most: int) -> None:
    line = event_parsing.as_line(text, most)
    assert len(line) <= most
    assert line.isprintable()


@pytest.mark.parametrize(
    ("text", "number"),
    [("true", None), ("NaN", None), ("Infinity", None), ("1" * 400, None), ("2.5", 2.5), ("-1", -1.0)],
)
def test_a_number(text: str, number: float | None) -> None:
    assert event_parsing.as_number(json.loads(text)) == number


def test_a_moment() -> None:
    assert event_parsing.format_time(1_794_795_776) == "2026-11-16 02:22 UTC"
    assert event_parsing.format_time(1_794_795_776_000) == ""


def test_a_crash_is_told_by_the_line_that_says_what_went_wrong() -> None:
    ending = ProcessEnding("exit", 1, None, "")
    unpacked = ["Package extraction took 5079ms", "Error: No session", "at main"]
    assert event_parsing.verdict_from_ending(ending, unpacked).message == "Error: No session"
    traceback = ["Traceback (most recent call last):", '  File "x.py", line 1', "KeyError: 'port'"]
    assert event_parsing.verdict_from_ending(ending, traceback).message == "KeyError: 'port'"


# What a refusal's status asks of us.


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (401, Outcome.AUTH),
        (403, Outcome.AUTH),
        (402, Outcome.BILLING),
        (404, Outcome.MISCONFIGURED),
        (413, Outcome.PROMPT_TOO_LONG),
        (429, Outcome.LIMIT),
        (500, Outcome.OVERLOADED),
        (529, Outcome.OVERLOADED),
        (400, Outcome.CRASHED),
        (200, Outcome.CRASHED),
        ("429", Outcome.CRASHED),
        (None, Outcome.CRASHED),
    ],
)
def test_by_status(status: object, outcome: Outcome) -> None:
    assert outcome_for_status(status) is outcome


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.text())
def test_no_status_is_too_strange(status: object) -> None:
    assert isinstance(outcome_for_status(status), Outcome)


# Events are taken in one by one, and of standard error no more than a message needs.


@dataclass
class Numbers(EventAccumulator):
    total: int = 0

    def add_json(self, data: dict[str, Any]) -> None:
        self.total += data["number"]


def test_only_json_objects_are_taken() -> None:
    events = [Event(0.0, JSON, {"number": 2}), Event(0.0, JSON, []), Event(0.0, TEXT, "3"), Event(0.0, NOTE, "4")]
    assert Numbers.of(iter(events)).total == 2


def test_of_a_flood_on_standard_error_the_first_lines_are_kept_without_colours() -> None:
    heard = Numbers.of(Event(0.0, ERROR, f"\x1b[31mline {number}\x1b[0m") for number in range(1000))
    assert len(heard.stderr) == 20
    assert heard.stderr[0] == "line 0"


def test_a_client_says_what_it_takes() -> None:
    with pytest.raises(NotImplementedError):
        EventAccumulator().add_event(Event(0.0, JSON, {}))


# What is shown of an agent's doings is short and printable.


def test_a_long_message_is_cut() -> None:
    lines = format_prose("\n\n".join(f"line {number}" for number in range(20)))
    assert lines == [*(f"line {number}" for number in range(MAX_LINES)), f"… {20 - MAX_LINES} more lines"]
    assert len(format_prose("x" * 10_000)[0]) == MAX_LINE


def test_what_says_most_about_a_tool_is_shown() -> None:
    assert format_tool_call("bash", {"description": "run the tests", "command": "npm test"}) == "bash  npm test"
    assert format_tool_call("edit", {"filePath": "a.py", "oldString": "x"}) == "edit  a.py"
    assert format_tool_call("todo", {"todos": []}) == "todo"
    assert format_tool_call(None, {}) == "tool"
    assert summarize_input({"command": "a\x1b[31m\nb"}) == "a b"


def test_a_failure_may_be_without_a_reason() -> None:
    assert format_failure("no such file") == "  failed: no such file"
    assert format_failure(None) == "  failed"
