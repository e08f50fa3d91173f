"""Gemini CLI: how it is called, and what its events come to. The events are those of 0.61.0."""

from typing import Any

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
    Permissions,
    ProcessEnding,
    Spend,
    Tokens,
    UsageLimit,
)
from bmad_autopilot.agents.gemini import GEMINI
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.core.errors import UsageError
from tests.agents.unknown_events import ENDINGS, EXIT_0, SPENDS, STALL, Json, does_not_park, heard, stands, streams

SESSION = "3f2b8a10-0000-4000-8000-000000000001"
REQUEST = AgentRequest(
    "Fix it.", SESSION, "/w", permissions=Permissions(("git commit", "npm test"), ("git push",))
)

INIT: Json = {"type": "init", "session_id": SESSION, "model": "gemini-2.5-pro"}
USER: Json = {"type": "message", "role": "user", "content": "Fix it."}
USE: Json = {
    "type": "tool_use",
    "tool_name": "run_shell_command",
    "tool_id": "t1",
    "parameters": {"command": "git push"},
}
STATS = {
    "total_tokens": 550,
    "input_tokens": 500,
    "output_tokens": 50,
    "cached": 200,
    "input": 300,
    "duration_ms": 2600,
}
DONE: Json = {"type": "result", "status": "success", "stats": STATS}
REFUSED: Json = {
    "type": "tool_result",
    "tool_id": "t1",
    "status": "error",
    "output": "Tool execution denied by policy.",
    "error": {"type": "policy_violation", "message": "Tool execution denied by policy."},
}


def says(text: str) -> Json:
    return {"type": "message", "role": "assistant", "content": text, "delta": True}


def broken(message: str = "[API Error: m]") -> Json:
    return {"type": "result", "status": "error", "error": {"type": "unknown", "message": message}, "stats": {}}


def judge(events: list[Event], ending: ProcessEnding = EXIT_0, before: Spend | None = None) -> AttemptVerdict:
    return GEMINI.judge(events, ending, before or Spend())


# -- the call


def test_it_is_an_agent() -> None:
    agent: Agent = GEMINI
    assert (agent.name, agent.program) == ("gemini", "gemini")


def test_a_new_conversation_has_the_name_we_chose() -> None:
    call = GEMINI.call(REQUEST._replace(model="gemini-2.5-pro"))
    assert call.argv[:8] == (
        *("gemini", "-o", "stream-json", "--skip-trust", "--session-id", SESSION),
        *("-m", "gemini-2.5-pro"),
    )
    assert call.stdin == "Fix it."


def test_a_resumed_one_is_named_once() -> None:
    argv = GEMINI.call(REQUEST._replace(resume=SESSION)).argv
    assert argv[4:6] == ("--resume", SESSION)
    assert "--session-id" not in argv


def test_edits_and_named_commands_pass() -> None:
    argv = GEMINI.call(REQUEST._replace(permissions=Permissions(("git commit",), rules=("web_fetch",)))).argv
    assert argv[6:8] == ("--approval-mode", "auto_edit")
    assert "--allowed-tools=run_shell_command(git commit)" in argv
    assert argv[-1] == "--allowed-tools=web_fetch"
    assert "-y" not in argv


def test_a_command_that_would_bring_a_denied_one_along_is_left_out() -> None:
    permissions = Permissions(("git", "git push origin", "git commit", "gitk"), ("git push",))
    argv = GEMINI.call(REQUEST._replace(permissions=permissions)).argv
    named = {word.partition("(")[2].rstrip(")") for word in argv if word.startswith("--allowed-tools=run_shell")}
    assert {"git commit", "gitk"} <= named
    assert not {"git", "git push", "git push origin"} & named


def test_a_bypass() -> None:
    assert GEMINI.call(REQUEST._replace(permissions=Permissions(bypass=True))).argv[-1] == "-y"


@pytest.mark.parametrize("command", ["", "a)b", "a,b", "a\nb", "npm *"])
def test_a_command_that_cannot_stand_in_a_rule_is_refused(command: str) -> None:
    with pytest.raises(UsageError, match="Gemini"):
        GEMINI.call(REQUEST._replace(permissions=Permissions((command,))))


# -- how it ended


def test_a_good_end() -> None:
    events = heard(INIT, USER, says("First I "), says("look."), USE, says("All "), says("done."), DONE)
    verdict = judge(events, before=Spend(None, Tokens(1, 1, 1, 1)))
    assert verdict.outcome is Outcome.COMPLETED
    assert (verdict.session, verdict.model, verdict.closing) == (SESSION, "gemini-2.5-pro", "All done.")
    assert verdict.spend == Spend(None, Tokens(300, 50, 200, 0))
    assert verdict.session_spend.tokens == Tokens(301, 51, 201, 1)


def test_a_refused_command_is_told() -> None:
    verdict = judge(heard(INIT, USE, REFUSED, says("I could not."), DONE))
    assert verdict.outcome is Outcome.PERMISSION_DENIED
    assert verdict.denials == ("run_shell_command  git push",)


CODES = [
    (145, Outcome.AUTH),  # 401
    (147, Outcome.AUTH),  # 403
    (146, Outcome.BILLING),  # 402
    (148, Outcome.MISCONFIGURED),  # 404
    (173, Outcome.LIMIT),  # 429
    (244, Outcome.OVERLOADED),  # 500
    (247, Outcome.OVERLOADED),  # 503
    (144, Outcome.CRASHED),  # 400
    (41, Outcome.AUTH),
    (52, Outcome.MISCONFIGURED),
    (53, Outcome.MAX_TURNS),
    (42, Outcome.CRASHED),
    (1, Outcome.CRASHED),
    (0, Outcome.CRASHED),
    (143, Outcome.CRASHED),
]


@pytest.mark.parametrize(("code", "outcome"), CODES)
def test_a_failure_is_told_apart_by_its_exit_code(code: int, outcome: Outcome) -> None:
    verdict = judge(heard(INIT, broken()), ProcessEnding(attempt_files.EXIT, code))
    assert (verdict.outcome, verdict.message) == (outcome, "[API Error: m]")
    assert verdict.limit == (UsageLimit("api") if outcome is Outcome.LIMIT else None)


@pytest.mark.parametrize("code", [145, 173, 244, 1, 0])
def test_a_status_counts_only_beside_a_failed_result(code: int) -> None:
    assert judge(heard(INIT), ProcessEnding(attempt_files.EXIT, code)).outcome is Outcome.CRASHED


def test_its_own_codes_need_no_result() -> None:
    said = [Event(0.0, ERROR, line) for line in ("Warning: Basic terminal detected", "Please set an Auth method")]
    verdict = judge(said, ProcessEnding(attempt_files.EXIT, 41))
    assert (verdict.outcome, verdict.message) == (Outcome.AUTH, "Please set an Auth method")


def test_a_good_end_stands_and_silence_is_judged_by_what_ended_it() -> None:
    assert judge(heard(INIT, DONE), STALL).outcome is Outcome.COMPLETED
    assert judge(heard(INIT, DONE), ProcessEnding(attempt_files.CANCEL)).outcome is Outcome.CANCELLED
    assert judge(heard(INIT, says("Done."))).outcome is Outcome.CRASHED
    assert judge(heard(INIT), STALL).outcome is Outcome.STALLED


# -- what was only said

PLACES = {
    "its last words": lambda quote: heard(INIT, says(quote)),
    "a tool's input": lambda quote: heard(INIT, {**USE, "parameters": {"command": quote}}),
    "a tool's failure": lambda quote: heard(
        INIT,
        USE,
        {"type": "tool_result", "tool_id": "t1", "output": quote, "error": {"type": "429", "message": quote}},
    ),
    "a warning": lambda quote: heard(INIT, {"type": "error", "severity": "warning", "message": quote}),
    "a failure in words": lambda quote: heard(INIT, broken(quote)),
    "a bare line": lambda quote: [Event(0.0, TEXT, quote)],
    "an event of a new kind": lambda quote: heard({"type": "limit", "status": 429, "error": quote}),
}


def test_a_limit_that_is_quoted_parks_nobody() -> None:
    does_not_park(GEMINI, PLACES, [says("Done."), DONE])


# -- following it


def test_it_can_be_followed() -> None:
    warning = {"type": "error", "severity": "warning", "message": "slow"}
    events = heard(INIT, USER, says("One."), USE, REFUSED, warning, DONE)
    assert [line for event in events for line in GEMINI.format_event(event)] == [
        f"Gemini  gemini-2.5-pro  session {SESSION}",
        "One.",
        "run_shell_command  git push",
        "  failed: Tool execution denied by policy.",
        "trouble: slow",
        "completed: 550 tokens, 3 s",
    ]
    assert GEMINI.format_event(heard(broken())[0]) == ["failed: [API Error: m]"]


SAMPLES: list[dict[str, Any]] = [INIT, USER, USE, REFUSED, DONE, says("x"), broken()]


@given(streams(SAMPLES), ENDINGS, SPENDS)
def test_no_stream_of_events_is_too_strange(events: list[Event], ending: ProcessEnding, before: Spend) -> None:
    stands(GEMINI, events, ending, before)
