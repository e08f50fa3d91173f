"""Cursor: how it is called, and what its events come to, as its documentation has them."""

import pytest
from hypothesis import given

from bmad_autopilot.agents.adapter import (
    ERROR,
    TEXT,
    Agent,
    AgentRequest,
    AttemptVerdict,
    Event,
    Outcome,
    ProcessEnding,
    Spend,
)
from bmad_autopilot.agents.cursor import CURSOR, MAX_ARGUMENT
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.core.errors import UsageError
from tests.agents.unknown_events import (
    ENDINGS,
    EXIT_0,
    EXIT_1,
    SPENDS,
    STALL,
    Json,
    does_not_park,
    heard,
    stands,
    streams,
)

SESSION = "c6b62c6f-7ead-4fd6-9922-e952131177ff"
REQUEST = AgentRequest("/bmad-dev-story 1-1", "0b5e", "/w")

INIT: Json = {
    "type": "system",
    "subtype": "init",
    "session_id": SESSION,
    "model": "auto",
    "permissionMode": "default",
}
CALL: Json = {
    "type": "tool_call",
    "subtype": "started",
    "tool_call": {"shellToolCall": {"args": {"command": "npm test"}}},
    "session_id": SESSION,
}


def says(text: str) -> Json:
    content = [{"type": "text", "text": text}]
    return {"type": "assistant", "message": {"role": "assistant", "content": content}, "session_id": SESSION}


def result(subtype: str = "success", is_error: object = False, text: str = "All done.") -> Json:
    return {"type": "result", "subtype": subtype, "is_error": is_error, "duration_ms": 5234, "result": text}


def judge(events: list[Event], ending: ProcessEnding = EXIT_0) -> AttemptVerdict:
    return CURSOR.judge(events, ending, Spend())


def test_it_is_an_agent() -> None:
    agent: Agent = CURSOR
    assert (agent.name, agent.program) == ("cursor", "cursor-agent")


def test_the_call() -> None:
    assert CURSOR.call(REQUEST).argv == (
        *("cursor-agent", "-p", "--output-format", "stream-json", "--force"),
        "/bmad-dev-story 1-1",
    )
    assert CURSOR.call(REQUEST._replace(model="gpt-5", resume=SESSION)).argv[5:] == (
        *("--model", "gpt-5", "--resume", SESSION),
        "/bmad-dev-story 1-1",
    )


def test_a_prompt_too_long_for_an_argument_is_refused_before_the_start() -> None:
    with pytest.raises(UsageError, match="too long"):
        CURSOR.call(REQUEST._replace(prompt="ä" * (MAX_ARGUMENT // 2 + 1)))


def test_a_good_end() -> None:
    verdict = judge(heard(INIT, CALL, says("All done."), result()))
    assert verdict.outcome is Outcome.COMPLETED
    assert (verdict.session, verdict.model, verdict.closing) == (SESSION, "auto", "All done.")


@pytest.mark.parametrize(
    "last", [result(is_error=True), result("error"), result(is_error=None), result(is_error=0)]
)
def test_a_result_that_is_an_error_is_no_success(last: Json) -> None:
    assert judge(heard(INIT, last)).outcome is Outcome.CRASHED


def test_no_result_is_judged_by_what_ended_it() -> None:
    assert judge(heard(INIT, says("Done."))).outcome is Outcome.CRASHED
    assert judge(heard(INIT), STALL).outcome is Outcome.STALLED
    assert judge(heard(INIT, result()), STALL).outcome is Outcome.COMPLETED
    assert judge(heard(INIT, result()), ProcessEnding(attempt_files.CANCEL)).outcome is Outcome.CANCELLED
    assert judge([Event(0.0, ERROR, "Not logged in")], EXIT_1).message == "Not logged in"


PLACES = {
    "its last words": lambda quote: heard(INIT, says(quote)),
    "a failed result": lambda quote: heard(INIT, result("error", True, quote)),
    "a tool": lambda quote: heard(INIT, {**CALL, "tool_call": {quote: {"args": {"command": quote}}}}),
    "a bare line": lambda quote: [Event(0.0, TEXT, quote)],
}


def test_a_limit_that_is_quoted_parks_nobody() -> None:
    does_not_park(CURSOR, PLACES, [says("Done."), result()])


def test_it_can_be_followed() -> None:
    events = heard(INIT, says("One."), CALL, result())
    assert [line for event in events for line in CURSOR.format_event(event)] == [
        f"Cursor  auto  session {SESSION}",
        "One.",
        "shell  npm test",
        "completed: 5 s",
    ]


@given(streams([INIT, CALL, says("x"), result(), result("error", True)]), ENDINGS, SPENDS)
def test_no_stream_of_events_is_too_strange(events: list[Event], ending: ProcessEnding, before: Spend) -> None:
    stands(CURSOR, events, ending, before)
