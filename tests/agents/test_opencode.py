"""opencode: how it is called, and what its events come to. The events are those of 1.18.33."""

import json
from typing import Any

import pytest
from hypothesis import given

from bmad_autopilot.agents.adapter import (
    ERROR,
    TEXT,
    Agent,
    AgentCommand,
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
from bmad_autopilot.agents.opencode import OPENCODE
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

SESSION = "ses_e1e463c14ffeauN3unlndXHVjI"
REQUEST = AgentRequest("Fix it.", "0b5e", "/w", permissions=Permissions(("git commit", "npm test"), ("git push",)))


def event(kind: str, **more: Any) -> Json:
    return {"type": kind, "timestamp": 1_794_788_413_265, "sessionID": SESSION, **more}


START = event("step_start", part={"type": "step-start"})


def text(words: str, **more: Any) -> Json:
    return event("text", part={"type": "text", "text": words, **more})


def tool(status: str = "completed", **state: Any) -> Json:
    state = {"status": status, "input": {"command": "git status", "description": "d"}, **state}
    return event("tool_use", part={"type": "tool", "tool": "bash", "state": state})


def finish(reason: str = "stop", cost: Any = 0.0045) -> Json:
    tokens = {"total": 1110, "input": 1000, "output": 100, "reasoning": 10, "cache": {"write": 5, "read": 20}}
    return event("step_finish", part={"type": "step-finish", "reason": reason, "tokens": tokens, "cost": cost})


def error(name: str = "APIError", **data: Any) -> Json:
    return event("error", error={"name": name, "data": {"message": "the very message", **data}})


def judge(events: list[Event], ending: ProcessEnding = EXIT_0, before: Spend | None = None) -> AttemptVerdict:
    return OPENCODE.judge(events, ending, before or Spend())


def rules(permissions: Permissions) -> Any:
    call: AgentCommand = OPENCODE.call(REQUEST._replace(permissions=permissions))
    return json.loads(call.environment["OPENCODE_PERMISSION"])


# -- the call


def test_it_is_an_agent() -> None:
    agent: Agent = OPENCODE
    assert (agent.name, agent.program) == ("opencode", "opencode")


def test_a_prompt_goes_in_on_stdin() -> None:
    call = OPENCODE.call(REQUEST._replace(model="anthropic/claude", resume=SESSION))
    assert call.argv == ("opencode", "run", "--format", "json", "-m", "anthropic/claude", "-s", SESSION)
    assert call.stdin == "Fix it."


@pytest.mark.parametrize(
    ("prompt", "stdin"),
    [
        ("--command bmad-dev-story 1-1\n\n## Contract\n--auto", "1-1\n\n## Contract\n--auto"),
        ("--command bmad-dev-story", ""),
        ("--command bmad-dev-story\n\nThe contract.", "\nThe contract."),
        ("--command bmad-dev-story validate 1-1", "validate 1-1"),
    ],
)
def test_a_skill_is_an_option_and_all_after_its_name_are_its_arguments(prompt: str, stdin: str) -> None:
    call = OPENCODE.call(REQUEST._replace(prompt=prompt))
    assert call.argv[-2:] == ("--command", "bmad-dev-story")
    assert call.stdin == stdin


def test_a_name_that_is_an_option_is_plain_text() -> None:
    call = OPENCODE.call(REQUEST._replace(prompt="--command --auto x"))
    assert call.argv == ("opencode", "run", "--format", "json")
    assert call.stdin == "--command --auto x"


def test_only_what_is_named_may_run_and_what_is_denied_comes_last() -> None:
    found = rules(REQUEST.permissions)
    shell = found["bash"]
    assert found["external_directory"] == "deny"
    assert next(iter(shell.items())) == ("*", "deny")
    assert shell["git commit"] == shell["git commit *"] == shell["npm test *"] == "allow"
    assert list(shell)[-2:] == ["git push", "git push *"]
    assert shell["git push"] == shell["git push *"] == "deny"


def test_a_denial_stands_against_a_wider_allowance_and_the_users_rules() -> None:
    own = Permissions(
        ("git",), ("git push",), ('{"bash": {"git push *": "allow", "make *": "allow"}, "webfetch": "deny"}',)
    )
    found = rules(own)
    assert found["webfetch"] == "deny"
    assert found["bash"]["make *"] == "allow"
    assert found["bash"]["git push *"] == "deny"
    assert list(found["bash"]).index("git *") < list(found["bash"]).index("git push *")
    assert rules(Permissions((), ("git push",), ('{"bash": "allow"}',)))["bash"] == {
        "*": "allow",
        "git push": "deny",
        "git push *": "deny",
    }


def test_a_bypass_keeps_what_is_denied() -> None:
    bypass = Permissions(("npm test",), ("git push",), bypass=True)
    assert "--auto" in OPENCODE.call(REQUEST._replace(permissions=bypass)).argv
    assert rules(bypass) == {"bash": {"git push": "deny", "git push *": "deny"}}
    assert "--auto" not in OPENCODE.call(REQUEST).argv


@pytest.mark.parametrize("rule", ["bash=allow", "[]", "", "{"])
def test_a_rule_that_is_none_is_refused(rule: str) -> None:
    with pytest.raises(UsageError, match="opencode"):
        rules(Permissions(rules=(rule,)))


# -- how it ended


def test_a_turn_that_came_to_its_end() -> None:
    events = heard(START, tool(), finish("tool-calls"), START, text("All done."), finish())
    verdict = judge(events, before=Spend(1.0, Tokens(1, 2, 3, 4)))
    assert verdict.outcome is Outcome.COMPLETED
    assert (verdict.session, verdict.closing, verdict.turns) == (SESSION, "All done.", 2)
    assert verdict.spend == Spend(0.009, Tokens(2000, 220, 40, 10))
    assert verdict.session_spend == Spend(1.009, Tokens(2001, 222, 43, 14))


def test_a_price_it_does_not_know_is_no_price() -> None:
    assert judge(heard(START, finish(cost=0))).spend.dollars is None


def test_its_own_words_to_the_model_are_not_the_agents_last() -> None:
    assert judge(heard(START, text("Done."), text("Continue.", synthetic=True), finish())).closing == "Done."


ERRORS = [
    ("401", error(statusCode=401, isRetryable=False), Outcome.AUTH),
    ("403", error(statusCode=403), Outcome.AUTH),
    ("402", error(statusCode=402), Outcome.BILLING),
    ("404", error(statusCode=404), Outcome.MISCONFIGURED),
    ("429", error(statusCode=429, isRetryable=True), Outcome.LIMIT),
    ("500", error(statusCode=500), Outcome.OVERLOADED),
    ("529", error(statusCode=529), Outcome.OVERLOADED),
    ("400", error(statusCode=400), Outcome.CRASHED),
    ("no answer", error(isRetryable=True), Outcome.NETWORK),
    ("no status", error(), Outcome.CRASHED),
    ("no key", error("ProviderAuthError", providerID="anthropic"), Outcome.AUTH),
    ("too long", error("ContextOverflowError"), Outcome.PROMPT_TOO_LONG),
    ("a command or a model it does not have", error("UnknownError", statusCode=429), Outcome.CRASHED),
    ("next year's", error("UsageLimitError"), Outcome.CRASHED),
]


@pytest.mark.parametrize(("last", "outcome"), [row[1:] for row in ERRORS], ids=[row[0] for row in ERRORS])
def test_a_failure_is_told_apart_by_its_name_and_status(last: Json, outcome: Outcome) -> None:
    for ending in (EXIT_1, EXIT_0, STALL):
        verdict = judge(heard(START, finish("tool-calls"), last), ending)
        assert (verdict.outcome, verdict.message) == (outcome, "the very message")


def test_a_limit_says_when_it_opens() -> None:
    def at(after: Any) -> Any:
        return judge(heard(error(statusCode=429, responseHeaders={"retry-after": after})), EXIT_1).limit

    assert at("60") == UsageLimit("api", 1_794_788_473.265)
    for strange in ("Mon, 16 Nov 2026 00:21:36 GMT", "-1", "", "٣", "9" * 30, 60, None):
        assert at(strange) == UsageLimit("api")


def test_an_error_it_went_on_from_is_forgotten() -> None:
    assert judge(heard(error("ContextOverflowError"), START, text("Done."), finish())).outcome is Outcome.COMPLETED


def test_a_turn_that_a_refused_tool_ended() -> None:
    verdict = judge(heard(START, tool("error", error="The user rejected permission."), finish("tool-calls")))
    assert verdict.outcome is Outcome.PERMISSION_DENIED
    assert verdict.denials == ("bash  git status",)


def test_a_turn_that_broke_off() -> None:
    assert judge(heard(START, tool(), finish("tool-calls"))).outcome is Outcome.CRASHED
    assert judge(heard(START, finish("length"))).outcome is Outcome.CRASHED
    assert judge(heard(START, text("Done."))).outcome is Outcome.CRASHED
    assert judge(heard(START, tool("error"), finish("tool-calls")), STALL).outcome is Outcome.STALLED


def test_silence_is_judged_by_what_ended_it() -> None:
    assert judge(heard(START), STALL).outcome is Outcome.STALLED
    missing = judge([Event(0.0, ERROR, "\x1b[91m\x1b[1mError: \x1b[0mSession not found")], EXIT_1)
    assert (missing.outcome, missing.message) == (Outcome.CRASHED, "Error: Session not found")


def test_completed_work_stands_and_a_cancelled_call_does_not() -> None:
    done = heard(START, finish())
    assert judge(done, ProcessEnding(attempt_files.TIME_LIMIT)).outcome is Outcome.COMPLETED
    assert judge(done, ProcessEnding(attempt_files.CANCEL)).outcome is Outcome.CANCELLED


# -- what was only said

PLACES = {
    "its last words": lambda quote: heard(START, text(quote)),
    "a tool's input and output": lambda quote: heard(
        START, tool(input={"command": quote}, output=quote, metadata={"output": quote, "statusCode": 429})
    ),
    "a tool's failure": lambda quote: heard(START, tool("error", error=quote, name="APIError")),
    "an error without a status": lambda quote: heard(error("UnknownError", message=quote), START),
    "an error's body": lambda quote: heard(START, error(statusCode=400, responseBody=quote, message=quote), START),
    "a bare line": lambda quote: [Event(0.0, TEXT, quote)],
    "an event of a new kind": lambda quote: heard(
        event("limit", error={"name": "APIError", "data": {"statusCode": 429}})
    ),
}


def test_a_limit_that_is_quoted_parks_nobody() -> None:
    does_not_park(OPENCODE, PLACES, [START, text("Done."), finish()])


# -- following it


def test_it_can_be_followed() -> None:
    events = heard(
        START, tool(), tool("error", error="denied"), text("One.\nTwo."), finish(), error(statusCode=401)
    )
    assert [line for one in events for line in OPENCODE.format_event(one)] == [
        *("bash  git status", "bash  git status", "  failed: denied", "One.", "Two."),
        "completed: $0.00 for the last step",
        "failed: APIError 401 the very message",
    ]


SAMPLES = [START, tool(), tool("error"), text("x"), finish(), finish("tool-calls"), *(row[1] for row in ERRORS)]


@given(streams(SAMPLES), ENDINGS, SPENDS)
def test_no_stream_of_events_is_too_strange(events: list[Event], ending: ProcessEnding, before: Spend) -> None:
    stands(OPENCODE, events, ending, before)
