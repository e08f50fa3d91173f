"""Copilot CLI: how it is called, and what its events come to. The events are those of 1.0.102."""

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
from bmad_autopilot.agents.copilot import COPILOT
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

SESSION = "3f2b8a10-0000-4000-8000-000000000001"
REQUEST = AgentRequest(
    "Fix it.", SESSION, "/w", permissions=Permissions(("git commit", "npm test"), ("git push",))
)


def event(kind: str, **data: Any) -> Json:
    return {"type": kind, "data": data, "id": "4e3ed09b", "timestamp": "2026-11-16T00:23:28.059Z"}


def result(code: Any = 0) -> Json:
    usage = {"premiumRequests": 2, "totalApiDurationMs": 188, "sessionDurationMs": 5782}
    return {"type": "result", "sessionId": SESSION, "exitCode": code, "usage": usage}


def says(text: str) -> Json:
    return event("assistant.message", model="claude-sonnet-4.5", content=text, toolRequests=[])


def error(kind: Any, **more: Any) -> Json:
    return event("session.error", errorType=kind, message="the very message", **more)


TURN = event("assistant.turn_start", turnId="0")
IDLE = event("assistant.idle")
SKILLS = event("session.skills_loaded", skills=[{"name": "bmad-dev-story"}])
USE = event("tool.execution_start", toolCallId="t1", toolName="bash", arguments={"command": "git push"})
DENIED = event(
    "tool.execution_complete", toolCallId="t1", success=False, error={"message": "Denied.", "code": "denied"}
)
FAILURE = event("model.call_failure", statusCode=429, errorMessage="slow down", retryAttempt=0)


def judge(events: list[Event], ending: ProcessEnding = EXIT_0, before: Spend | None = None) -> AttemptVerdict:
    return COPILOT.judge(events, ending, before or Spend())


# -- the call


def test_it_is_an_agent() -> None:
    agent: Agent = COPILOT
    assert (agent.name, agent.program) == ("copilot", "copilot")


def test_it_never_gets_a_token_of_ours_nor_leave_for_everything() -> None:
    assert not {"GH_TOKEN", "GITHUB_TOKEN", "COPILOT_ALLOW_ALL", "COPILOT_*"} & set(COPILOT.variables)


def test_a_new_conversation_has_the_name_we_chose() -> None:
    call = COPILOT.call(REQUEST._replace(model="gpt-5"))
    assert call.argv[:5] == (
        *("copilot", "--output-format=json", "--no-ask-user"),
        *(f"--session-id={SESSION}", "--model=gpt-5"),
    )
    assert call.stdin == "Fix it."
    assert call.environment == {"COPILOT_AUTO_UPDATE": "false"}


def test_a_resumed_one_is_named_once() -> None:
    argv = COPILOT.call(REQUEST._replace(resume="a-name")).argv
    assert "--resume=a-name" in argv
    assert not any(word.startswith("--session-id") for word in argv)


def test_writing_and_named_commands_pass_as_far_as_copilot_tells_them_apart() -> None:
    permissions = Permissions(
        commands=("git commit", "git branch --list", "npm run lint", "npm run test", "make check", "uv"),
        denied=("git push", "gh", "git reset --hard", "uv publish"),
        rules=("url(x.dev)",),
    )
    assert COPILOT.call(REQUEST._replace(permissions=permissions)).argv[4:] == (
        "--allow-tool=write",
        "--allow-tool=shell(git commit:*)",
        "--allow-tool=shell(npm run:*)",
        "--allow-tool=shell(make:*)",
        "--allow-tool=shell(uv:*)",
        "--allow-tool=url(x.dev)",
        "--deny-tool=shell(git push:*)",
        "--deny-tool=shell(gh:*)",
    )


def test_a_bypass_keeps_what_is_denied() -> None:
    argv = COPILOT.call(REQUEST._replace(permissions=Permissions(("npm test",), ("git push",), bypass=True))).argv
    assert argv[4:] == ("--allow-all-tools", "--deny-tool=shell(git push:*)")


def test_a_command_that_cannot_stand_in_a_rule_is_refused() -> None:
    with pytest.raises(UsageError, match="Copilot"):
        COPILOT.call(REQUEST._replace(permissions=Permissions(("npm test),shell(",))))


# -- how it ended


def test_a_good_end() -> None:
    before = Spend(None, Tokens(1, 1, 1, 1))
    verdict = judge(heard(SKILLS, TURN, USE, says(""), TURN, says("All done."), IDLE, result()), before=before)
    assert verdict.outcome is Outcome.COMPLETED
    assert (verdict.session, verdict.model) == (SESSION, "claude-sonnet-4.5")
    assert (verdict.closing, verdict.turns) == ("All done.", 2)
    assert (verdict.spend, verdict.session_spend) == (Spend(), before)


def test_a_refused_command_is_told() -> None:
    verdict = judge(heard(TURN, USE, DENIED, says("I could not."), IDLE, result()))
    assert verdict.outcome is Outcome.PERMISSION_DENIED
    assert verdict.denials == ("bash  git push",)


ERRORS = [
    (error("authentication", statusCode=401), Outcome.AUTH),
    (error("authorization", statusCode=403), Outcome.AUTH),
    (error("rate_limit", statusCode=429), Outcome.LIMIT),
    (error("quota", statusCode=402), Outcome.LIMIT),
    (error("context_limit"), Outcome.PROMPT_TOO_LONG),
    (error("query", statusCode=529), Outcome.OVERLOADED),
    (error("query", statusCode=429), Outcome.LIMIT),
    (error("query", statusCode=401), Outcome.AUTH),
    (error("query", statusCode=402), Outcome.BILLING),
    (error("query"), Outcome.CRASHED),
    (error(None), Outcome.CRASHED),
    (error(["rate_limit"], statusCode="429"), Outcome.CRASHED),
]


@pytest.mark.parametrize(("last", "outcome"), ERRORS, ids=[str(row[0]["data"]) for row in ERRORS])
def test_a_failure_is_told_apart_by_its_type_and_status(last: Json, outcome: Outcome) -> None:
    for more in ([IDLE, result(1)], [IDLE, result(0)], []):
        verdict = judge(heard(TURN, FAILURE, last, *more), EXIT_1)
        assert (verdict.outcome, verdict.message) == (outcome, "the very message")
        assert (verdict.limit is not None) is (outcome is Outcome.LIMIT)


def test_a_limit_has_the_clients_own_word() -> None:
    assert judge(heard(TURN, error("quota")), EXIT_1).limit == UsageLimit("quota")


def test_a_failure_it_tried_again_after_does_not_count() -> None:
    assert (
        judge(heard(TURN, FAILURE, error("rate_limit"), TURN, says("Done."), result())).outcome
        is Outcome.COMPLETED
    )


def test_a_turn_that_is_over_counts_though_a_command_still_runs() -> None:
    assert judge(heard(TURN, says("Done."), IDLE), STALL).outcome is Outcome.COMPLETED
    assert judge(heard(TURN, says("Done."), IDLE, TURN), STALL).outcome is Outcome.STALLED


def test_exit_0_without_an_end_is_no_success() -> None:
    assert judge(heard(TURN, says("Done."))).outcome is Outcome.CRASHED
    assert judge([]).outcome is Outcome.CRASHED


@pytest.mark.parametrize("code", [1, None, False, "0", 0.5])
def test_a_result_with_another_code_is_no_success(code: Any) -> None:
    assert judge(heard(TURN, IDLE, result(code)), EXIT_1).outcome is Outcome.CRASHED


def test_a_wrong_option_gives_its_message() -> None:
    verdict = judge([Event(0.0, ERROR, "error: unexpected argument '--nope' found")], EXIT_1)
    assert (verdict.outcome, verdict.message) == (Outcome.CRASHED, "error: unexpected argument '--nope' found")


def test_a_cancelled_call_is_cancelled() -> None:
    assert judge(heard(TURN, IDLE, result()), ProcessEnding(attempt_files.CANCEL)).outcome is Outcome.CANCELLED


# -- what was only said

PLACES = {
    "its last words": lambda quote: heard(TURN, says(quote)),
    "a tool's input": lambda quote: heard(
        TURN, event("tool.execution_start", toolName="bash", arguments={"command": quote})
    ),
    "a tool's failure": lambda quote: heard(
        TURN, event("tool.execution_complete", success=False, error={"message": quote, "code": "rate_limit"})
    ),
    "a call it repeats": lambda quote: heard(
        TURN, event("model.call_failure", statusCode=429, errorMessage=quote)
    ),
    "an error in words": lambda quote: heard(TURN, event("session.error", message=quote), TURN),
    "information": lambda quote: heard(
        TURN, event("session.info", infoType="rate_limit", message=quote, statusCode=429)
    ),
    "a bare line": lambda quote: [Event(0.0, TEXT, quote)],
}


def test_a_limit_that_is_quoted_parks_nobody() -> None:
    does_not_park(COPILOT, PLACES, [TURN, says("Done."), IDLE, result()])


# -- following it


def test_it_can_be_followed() -> None:
    retry = event("assistant.turn_retry", reason="transient_auth_error")
    events = heard(SKILLS, TURN, says("One."), USE, DENIED, retry, error("query"), IDLE, result(1))
    assert [line for one in events for line in COPILOT.format_event(one)] == [
        "One.",
        "bash  git push",
        "  failed: Denied.",
        "retry: transient_auth_error",
        "failed: the very message",
        "failed (exit code 1): 2 premium requests, 6 s",
    ]
    assert COPILOT.format_event(heard(result())[0]) == ["completed: 2 premium requests, 6 s"]


SAMPLES = [SKILLS, TURN, USE, DENIED, FAILURE, IDLE, says("x"), result(), *(row[0] for row in ERRORS)]


@given(streams(SAMPLES), ENDINGS, SPENDS)
def test_no_stream_of_events_is_too_strange(events: list[Event], ending: ProcessEnding, before: Spend) -> None:
    stands(COPILOT, events, ending, before)
