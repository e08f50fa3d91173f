"""How Claude Code is called."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.adapter import (
    ERROR,
    JSON,
    NOTE,
    REACTIONS,
    TEXT,
    Agent,
    AgentRequest,
    Event,
    Outcome,
    Permissions,
    ProcessEnding,
    Reaction,
    SkillGuard,
    Spend,
    Tokens,
    UsageLimit,
)
from bmad_autopilot.agents.claude import CLAUDE
from bmad_autopilot.agents.event_parsing import MAX_CLOSING, MAX_LISTED, MAX_MESSAGE
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.core.errors import UsageError
from tests.support.claude_events import (
    EXIT_0,
    EXIT_1,
    RESETS_AT,
    SESSION,
    Json,
    api_error,
    assistant_text,
    events_of,
    init,
    judge,
    limit,
    message,
    result,
    tool_result,
    tool_use,
    usage,
)

REQUEST = AgentRequest("/bmad-dev-story 1-1\n\nThe contract.", SESSION, "/somewhere/tree", skill="bmad-dev-story")


def after(argv: tuple[str, ...], option: str) -> list[str]:
    """The words an option takes."""
    rest = argv[argv.index(option) + 1 :]
    return list(rest[: next((at for at, word in enumerate(rest) if word.startswith("--")), len(rest))])


def test_it_is_an_agent() -> None:
    agent: Agent = CLAUDE
    assert (agent.name, agent.program) == ("claude", "claude")


def test_a_new_conversation() -> None:
    call = CLAUDE.call(REQUEST)
    assert call.argv[:5] == ("claude", "-p", "--output-format", "stream-json", "--verbose")
    assert after(call.argv, "--permission-mode") == ["acceptEdits"]
    assert after(call.argv, "--session-id") == [SESSION]
    assert not {"--resume", "--model", "--max-budget-usd"} & set(call.argv)


def test_the_prompt_goes_in_on_stdin_and_nowhere_else() -> None:
    call = CLAUDE.call(REQUEST)
    assert call.stdin == REQUEST.prompt
    assert not any("contract" in word for word in call.argv)


def test_a_resumed_conversation_does_not_name_a_new_one() -> None:
    argv = CLAUDE.call(REQUEST._replace(resume="earlier")).argv
    assert after(argv, "--resume") == ["earlier"]
    assert "--session-id" not in argv


@pytest.mark.parametrize(("dollars", "word"), [(2.5, "2.5000"), (0.0, "0.0001"), (0.000001, "0.0001")])
def test_model_and_budget(dollars: float, word: str) -> None:
    argv = CLAUDE.call(REQUEST._replace(model="opus", max_dollars=dollars)).argv
    assert after(argv, "--model") == ["opus"]
    assert after(argv, "--max-budget-usd") == [word]


def test_commands_become_rules() -> None:
    permissions = Permissions(("git commit", " npm test "), denied=("git push",), rules=("Bash(make:*)",))
    argv = CLAUDE.call(REQUEST._replace(permissions=permissions)).argv
    assert {"Bash(git commit:*)", "Bash(npm test:*)", "Bash(make:*)"} <= set(after(argv, "--allowedTools"))
    assert "Bash(git push:*)" in after(argv, "--disallowedTools")


def test_a_script_is_allowed_with_quotes_and_without() -> None:
    permissions = Permissions(("uv run /p/_bmad/scripts/x.py", "./gradlew"))
    argv = CLAUDE.call(REQUEST._replace(permissions=permissions)).argv
    assert after(argv, "--allowedTools")[-3:] == [
        "Bash(uv run /p/_bmad/scripts/x.py:*)",
        'Bash(uv run "/p/_bmad/scripts/x.py":*)',
        "Bash(./gradlew:*)",
    ]


def test_what_a_skill_needs_is_allowed_and_no_more() -> None:
    argv = CLAUDE.call(REQUEST).argv
    assert after(argv, "--allowedTools") == ["Read(~/.claude/skills/**)", "WebSearch"]


@pytest.mark.parametrize("rule", ["WebFetch", "WebFetch(domain:example.com)"])
def test_a_rule_of_the_users_opens_what_is_withheld(rule: str) -> None:
    assert "WebFetch" in after(CLAUDE.call(REQUEST).argv, "--disallowedTools")
    argv = CLAUDE.call(REQUEST._replace(permissions=Permissions(rules=(rule,)))).argv
    assert "WebFetch" not in after(argv, "--disallowedTools")
    assert "EnterWorktree" in after(argv, "--disallowedTools")
    assert rule in after(argv, "--allowedTools")


def test_bypass_still_denies_what_is_denied() -> None:
    argv = CLAUDE.call(REQUEST._replace(permissions=Permissions(bypass=True, denied=("git push",)))).argv
    assert after(argv, "--permission-mode") == ["bypassPermissions"]
    assert "Bash(git push:*)" in after(argv, "--disallowedTools")


@pytest.mark.parametrize("command", ["x:*),Bash(rm", "a\nb", "", "  ", "echo $(id)", "a,b", "a\x00b"])
def test_a_command_that_would_be_another_rule(command: str) -> None:
    for permissions in (Permissions(commands=(command,)), Permissions(denied=(command,))):
        with pytest.raises(UsageError, match="as a permission"):
            CLAUDE.call(REQUEST._replace(permissions=permissions))


@pytest.mark.parametrize("rule", ["--dangerously-skip-permissions", " -p", "", "Bash(a)\nBash(b)"])
def test_a_rule_that_would_be_an_option(rule: str) -> None:
    with pytest.raises(UsageError, match="no rule of Claude Code"):
        CLAUDE.call(REQUEST._replace(permissions=Permissions(rules=(rule,))))


@given(st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4), st.lists(st.text(), max_size=4))
def test_no_permission_ever_becomes_an_option(commands: list[str], denied: list[str], rules: list[str]) -> None:
    try:
        call = CLAUDE.call(REQUEST._replace(permissions=Permissions(tuple(commands), tuple(denied), tuple(rules))))
    except UsageError:
        return
    options = {word for word in call.argv if word.startswith("-")}
    known = {word for word in CLAUDE.call(REQUEST).argv if word.startswith("-")}
    assert options == known


def test_the_guard_looks_where_skills_and_commands_are_listed() -> None:
    guard = CLAUDE.call(REQUEST).guard
    assert guard == SkillGuard(
        {"type": "system", "subtype": "init"}, ("skills", "slash_commands"), "bmad-dev-story"
    )
    assert CLAUDE.call(REQUEST._replace(skill=None)).guard is None


def test_nothing_runs_in_the_background() -> None:
    assert CLAUDE.call(REQUEST).environment["CLAUDE_CODE_DISABLE_BACKGROUND_TASKS"] == "1"


@pytest.mark.parametrize(
    "name",
    ["CLAUDE_CODE_SESSION_ID", "CLAUDE_CODE_MESSAGING_TOKEN", "CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "AWS_KEY"],
)
def test_a_call_from_inside_claude_code_hands_nothing_of_the_outer_one_down(name: str) -> None:
    for known in CLAUDE.variables:
        assert not (name.startswith(known[:-1]) if known.endswith("*") else name == known)


# What Claude Code's events come to: structured fields decide, and nothing that was only said.

AGENT_TASK = {"task_id": "a1", "task_type": "local_agent"}
SERVER_TASK = {"task_id": "b1", "task_type": "local_bash"}


def tasks(*running: Json) -> Json:
    return {"type": "system", "subtype": "background_tasks_changed", "tasks": list(running)}


def stopped(**more: Any) -> Json:
    return result("", subtype="error_during_execution", is_error=True, terminal_reason="aborted_tools", **more)


# -- the table: what was measured, row by row

API_ERRORS = [
    ("401", api_error(401), "authentication_failed", Outcome.AUTH),
    ("403", api_error(403), "authentication_failed", Outcome.AUTH),
    ("401 alone", api_error(401), "", Outcome.AUTH),
    ("not logged in", api_error(None), "authentication_failed", Outcome.AUTH),
    ("another organisation", api_error(None), "oauth_org_not_allowed", Outcome.AUTH),
    ("credit", api_error(400), "billing_error", Outcome.BILLING),
    ("billing in the API's words", api_error(400, api_error_type="billing_error"), "unknown", Outcome.BILLING),
    ("402", api_error(402), "", Outcome.BILLING),
    ("model", api_error(404), "model_not_found", Outcome.MISCONFIGURED),
    ("gateway without such a path", api_error(404), "", Outcome.MISCONFIGURED),
    ("429", api_error(429), "rate_limit", Outcome.LIMIT),
    ("529", api_error(529), "server_error", Outcome.OVERLOADED),
    ("500", api_error(500), "server_error", Outcome.OVERLOADED),
    ("503 alone", api_error(503), "", Outcome.OVERLOADED),
    ("dropped", api_error(None, api_error="connection_failed"), "server_error", Outcome.NETWORK),
    ("dropped, an older version", api_error(None), "server_error", Outcome.NETWORK),
    ("400", api_error(400), "unknown", Outcome.CRASHED),
    ("413", api_error(413), "", Outcome.PROMPT_TOO_LONG),
    (
        "too long",
        api_error(400) | {"terminal_reason": "prompt_too_long"},
        "invalid_request",
        Outcome.PROMPT_TOO_LONG,
    ),
    ("unknown", api_error(None), "an error of next year", Outcome.CRASHED),
]


@pytest.mark.parametrize(
    ("last", "error", "outcome"), [row[1:] for row in API_ERRORS], ids=[r[0] for r in API_ERRORS]
)
def test_an_api_error(last: Json, error: str, outcome: Outcome) -> None:
    verdict = judge(events_of(init(), assistant_text("API Error", error=error), last), EXIT_1)
    assert (verdict.outcome, verdict.message) == (outcome, "API Error")


@pytest.mark.parametrize(
    ("last", "outcome"),
    [
        (result(), Outcome.COMPLETED),
        (result(terminal_reason=None), Outcome.COMPLETED),
        (result(is_error=True), Outcome.CRASHED),
        (result(is_error="false"), Outcome.CRASHED),
        ({k: v for k, v in result().items() if k != "is_error"}, Outcome.CRASHED),
        (result(terminal_reason="a reason of next year"), Outcome.CRASHED),
        (result(subtype="error_max_turns", is_error=True, terminal_reason="max_turns"), Outcome.MAX_TURNS),
        (result(subtype="error_max_turns", is_error=True, terminal_reason=None), Outcome.MAX_TURNS),
        (
            result(subtype="error_max_budget_usd", is_error=True, terminal_reason="budget_exhausted"),
            Outcome.BUDGET,
        ),
        (stopped(), Outcome.CRASHED),
    ],
)
def test_a_result(last: Json, outcome: Outcome) -> None:
    assert judge(events_of(init(), assistant_text("Working."), last)).outcome is outcome


def test_an_exit_code_of_one_does_not_spoil_a_success() -> None:
    assert judge(events_of(init(), result()), EXIT_1).outcome is Outcome.COMPLETED


def test_what_a_good_call_tells() -> None:
    verdict = judge(events_of(init(), assistant_text("Done."), result("Done.\nAll of it.")))
    assert (verdict.session, verdict.model, verdict.version) == (SESSION, "claude-opus-5-5", "2.1.325")
    assert (verdict.turns, verdict.closing) == (3, "Done.\nAll of it.")


@pytest.mark.parametrize("session", ["-p", "--resume", "a b", "../x", "", 7, None, "x" * 200])
def test_a_session_that_could_be_taken_for_an_option_is_none(session: object) -> None:
    assert judge(events_of(init(session_id=session))).session is None


# -- denials


def denied(tool: str, **given: Any) -> Json:
    return {"tool_name": tool, "tool_use_id": "toolu_1", "tool_input": given}


def test_a_refused_tool_is_no_success() -> None:
    denials = [denied("Bash", command="git push"), denied("Read", file_path="/etc/hostname"), denied("Odd")]
    verdict = judge(events_of(init(), result(permission_denials=denials)))
    assert verdict.outcome is Outcome.PERMISSION_DENIED
    assert verdict.denials == ("Bash: git push", "Read: /etc/hostname", "Odd")
    assert verdict.message == "refused: Bash: git push"


def test_the_same_refusal_is_listed_once_and_many_are_bounded() -> None:
    many = [denied("Bash", command=f"x {number // 2}") for number in range(200)]
    verdict = judge(events_of(init(), result(permission_denials=many)))
    assert verdict.denials == tuple(f"Bash: x {number}" for number in range(MAX_LISTED))


def test_a_failed_call_with_refusals_failed_first_of_all() -> None:
    last = api_error(529, permission_denials=[denied("Bash", command="git push")])
    verdict = judge(events_of(init(), last), EXIT_1)
    assert (verdict.outcome, verdict.denials) == (Outcome.OVERLOADED, ("Bash: git push",))


# -- endings

BY_ENDING = [
    (attempt_files.TIME_LIMIT, Outcome.TIMED_OUT),
    (attempt_files.STALL, Outcome.STALLED),
    (attempt_files.CANCEL, Outcome.CANCELLED),
    (attempt_files.GUARD, Outcome.SKILL_MISSING),
    (attempt_files.NO_START, Outcome.MISCONFIGURED),
    (attempt_files.LOST, Outcome.LOST),
    (attempt_files.SIGNAL, Outcome.CRASHED),
    (attempt_files.EXIT, Outcome.CRASHED),
]


@pytest.mark.parametrize(("by", "outcome"), BY_ENDING)
@pytest.mark.parametrize("last", [[], [stopped()]], ids=["no result", "interrupted"])
def test_without_a_word_on_how_it_went_the_ending_decides(by: str, outcome: Outcome, last: list[Json]) -> None:
    verdict = judge(events_of(init(), assistant_text("Working."), *last), ProcessEnding(by, signal=9))
    assert verdict.outcome is outcome
    assert verdict.session == SESSION


@pytest.mark.parametrize(
    "by",
    [attempt_files.TIME_LIMIT, attempt_files.STALL, attempt_files.SIGNAL, attempt_files.LOST, attempt_files.EXIT],
)
def test_work_that_has_landed_stands_however_the_process_ended(by: str) -> None:
    assert judge(events_of(init(), result()), ProcessEnding(by, signal=9)).outcome is Outcome.COMPLETED


@pytest.mark.parametrize(
    ("by", "outcome"), [(attempt_files.CANCEL, Outcome.CANCELLED), (attempt_files.GUARD, Outcome.SKILL_MISSING)]
)
def test_a_cancelled_or_guarded_call_is_no_success(by: str, outcome: Outcome) -> None:
    assert judge(events_of(init(), result()), ProcessEnding(by)).outcome is outcome


def test_a_refusal_is_told_even_if_the_process_then_hung() -> None:
    events = events_of(init(), assistant_text("x", error="authentication_failed"), api_error(401))
    assert judge(events, ProcessEnding(attempt_files.STALL, signal=9)).outcome is Outcome.AUTH


def test_a_result_while_subagents_work_is_not_the_last_word() -> None:
    events = events_of(init(), tasks(AGENT_TASK), result("They are at it."))
    assert judge(events, ProcessEnding(attempt_files.STALL, signal=9)).outcome is Outcome.STALLED
    assert judge(events, EXIT_1).outcome is Outcome.CRASHED
    assert judge([*events, *events_of(tasks(), result("Done."))], EXIT_0).outcome is Outcome.COMPLETED


def test_a_server_left_running_does_not_spoil_the_work() -> None:
    events = events_of(init(), tasks(SERVER_TASK), result())
    assert judge(events, ProcessEnding(attempt_files.STALL, signal=9)).outcome is Outcome.COMPLETED


def test_of_several_results_the_last_counts() -> None:
    assert judge(events_of(result(), api_error(401)), EXIT_1).outcome is Outcome.AUTH
    assert judge(events_of(api_error(529), result())).outcome is Outcome.COMPLETED


# -- standard error, where there is nothing else


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("error: unknown option '--no-such'", Outcome.CRASHED),
        ("Error: Invalid session ID. Must be a valid UUID.", Outcome.CRASHED),
        ("--dangerously-skip-permissions cannot be used with root/sudo privileges", Outcome.CRASHED),
        (f"Error: Session ID {SESSION} is already in use.", Outcome.CRASHED),
        (f"No conversation found with session ID: {SESSION}", Outcome.CRASHED),
        ("429 rate_limit_error", Outcome.CRASHED),
    ],
)
def test_a_call_without_a_single_event(line: str, outcome: Outcome) -> None:
    verdict = judge([Event(0.1, ERROR, line)], EXIT_1)
    assert (verdict.outcome, verdict.message) == (outcome, line)


@pytest.mark.parametrize(
    ("status", "outcome"), [(401, Outcome.AUTH), (429, Outcome.LIMIT), (529, Outcome.OVERLOADED)]
)
def test_what_it_tried_to_get_past_until_it_was_stopped_is_the_answer(status: int, outcome: Outcome) -> None:
    retry = {"type": "system", "subtype": "api_retry", "attempt": 4, "error_status": status}
    verdict = judge([Event(0.1, JSON, retry)], ProcessEnding("time-limit", None, 9))
    assert verdict.outcome is outcome
    after: dict[str, object] = {"type": "assistant", "message": {"content": []}, "parent_tool_use_id": None}
    again = judge([Event(0.1, JSON, retry), Event(0.2, JSON, after)], ProcessEnding("time-limit", None, 9))
    assert again.outcome is Outcome.TIMED_OUT, "it had come through since"


def test_standard_error_is_not_read_once_there_are_events() -> None:
    events = [*events_of(init()), Event(0.1, ERROR, "error: unknown option '--no-such'")]
    assert judge(events, EXIT_1).outcome is Outcome.CRASHED


def test_an_error_of_the_clients_own_is_the_message() -> None:
    last = result("", subtype="error_during_execution", is_error=True, errors=["No conversation found"])
    assert judge(events_of(last | {"terminal_reason": None}), EXIT_1).message == "No conversation found"


# -- limits that are there

FAILED = assistant_text("You've hit your limit", error="rate_limit")


@pytest.mark.parametrize(
    "kind", ["five_hour", "seven_day", "seven_day_opus", "seven_day_sonnet", "overage", "new"]
)
@pytest.mark.parametrize(
    "last", [[api_error(429)], [api_error(None)], [api_error(429, api_error="usage_limit_reached")], []]
)
def test_a_usage_limit_is_parked_until_its_reset(kind: str, last: list[Json]) -> None:
    verdict = judge(events_of(init(), limit(kind=kind), FAILED, *last), EXIT_1)
    assert verdict.outcome is Outcome.LIMIT
    assert verdict.limit == UsageLimit(kind, RESETS_AT)
    assert REACTIONS[verdict.outcome] is Reaction.PARK


@pytest.mark.parametrize("resets_at", [None, "9pm", True, -1, 0, float("inf"), 1e300, [], RESETS_AT * 1000])
def test_a_reset_that_is_no_time_is_not_guessed(resets_at: object) -> None:
    verdict = judge(events_of(init(), limit(resets_at=resets_at), FAILED, api_error(429)), EXIT_1)
    assert verdict.limit == UsageLimit("five_hour", None)


@pytest.mark.parametrize("kind", [None, 7, "", {}])
def test_a_limit_without_a_name(kind: object) -> None:
    verdict = judge(events_of(init(), limit(kind=kind), FAILED, api_error(429)), EXIT_1)
    assert verdict.limit == UsageLimit("unknown", RESETS_AT)


@pytest.mark.parametrize(
    ("error", "last"),
    [
        ("rate_limit", api_error(429)),
        ("", api_error(429)),
        ("rate_limit", api_error(None)),
        ("", api_error(None, api_error="usage_limit_reached")),
        ("", api_error(None, api_error_type="rate_limit_error")),
    ],
)
def test_the_limit_of_an_api_key(error: str, last: Json) -> None:
    verdict = judge(events_of(init(), assistant_text("x", error=error), last), EXIT_1)
    assert (verdict.outcome, verdict.limit) == (Outcome.LIMIT, UsageLimit("api"))


@pytest.mark.parametrize(
    "by", [attempt_files.EXIT, attempt_files.STALL, attempt_files.TIME_LIMIT, attempt_files.LOST]
)
def test_a_refusal_that_was_the_last_thing_heard(by: str) -> None:
    verdict = judge(
        events_of(init(), assistant_text("Working."), limit(kind="seven_day")), ProcessEnding(by, signal=9)
    )
    assert (verdict.outcome, verdict.limit) == (Outcome.LIMIT, UsageLimit("seven_day", RESETS_AT))


def test_a_cancelled_call_is_not_parked() -> None:
    assert (
        judge(events_of(init(), limit(), FAILED), ProcessEnding(attempt_files.CANCEL)).outcome is Outcome.CANCELLED
    )


@pytest.mark.parametrize("status", ["allowed_warning", "allowed", "REJECTED", None, ["rejected"]])
def test_a_warning_never_parks(status: Any) -> None:
    for last, ending in (([result()], EXIT_0), ([], EXIT_1), ([api_error(529)], EXIT_1)):
        verdict = judge(events_of(init(), assistant_text("Working."), limit(status), *last), ending)
        assert (verdict.outcome is Outcome.LIMIT, verdict.limit) == (False, None)


def test_a_refusal_that_passed_does_not_park() -> None:
    events = events_of(init(), limit(), assistant_text("It goes on, from the extra budget."))
    assert judge([*events, *events_of(result())]).outcome is Outcome.COMPLETED
    assert judge(events, EXIT_1).outcome is Outcome.CRASHED
    assert (
        judge([*events, *events_of(assistant_text("x", error="server_error"), api_error(529))], EXIT_1).outcome
        is Outcome.OVERLOADED
    )


def test_an_interrupted_call_was_not_refused() -> None:
    assert judge(events_of(init(), FAILED, stopped())).outcome is Outcome.CRASHED


def test_a_subagents_refusal_is_not_the_conversations() -> None:
    failures = [
        assistant_text("x", error="server_error"),
        assistant_text("y", error="rate_limit", parent="toolu_1"),
    ]
    assert judge(events_of(init(), *failures, api_error(529)), EXIT_1).outcome is Outcome.OVERLOADED


# -- limits that are only talked about

LIMIT_EVENT = limit()
QUOTES = [
    "You've hit your session limit · resets 7:20pm (UTC)",
    "Claude usage limit reached. Your limit will reset at 9pm",
    "API Error: Request rejected (429) · rate_limit_error",
    'subtype=success, is_error=true, terminal_reason="api_error", api_error_status=429',
    json.dumps(LIMIT_EVENT),
    json.dumps(json.dumps(LIMIT_EVENT)),
    json.dumps(api_error(429, "You've hit your 5-hour limit")),
    json.dumps(assistant_text("x", error="rate_limit")),
]

Place = Callable[[str], list[Event]]
PLACES: dict[str, Place] = {
    "assistant text": lambda quote: events_of(assistant_text(quote)),
    "a subagent's text": lambda quote: events_of(assistant_text(quote, parent="toolu_1")),
    "thinking": lambda quote: events_of(message({"type": "thinking", "thinking": quote})),
    "a tool's input": lambda quote: events_of(tool_use("Write", file_path="limits.py", content=quote)),
    "a command": lambda quote: events_of(tool_use("Bash", command=f"echo '{quote}'")),
    "a tool's output": lambda quote: events_of(tool_result(quote)),
    "a tool's failure": lambda quote: events_of(tool_result(quote, is_error=True)),
    "a tool's output in blocks": lambda quote: events_of(tool_result([{"type": "text", "text": quote}])),
    "a tool's structured result": lambda quote: events_of(
        tool_result("ok", tool_use_result={"stdout": quote, "file": {"content": quote}, "error": "rate_limit"})
    ),
    "the user's text": lambda quote: events_of({"type": "user", "message": {"role": "user", "content": quote}}),
    "a replayed event in a message": lambda _: events_of(
        {
            "type": "user",
            "message": {"content": [LIMIT_EVENT, api_error(429), assistant_text("x", error="rate_limit")]},
        }
    ),
    "an informational event": lambda quote: events_of(
        {"type": "system", "subtype": "informational", "message": quote, "error": "rate_limit"}
    ),
    "a subagent's notification": lambda quote: events_of(
        {"type": "system", "subtype": "task_notification", "status": "rejected", "summary": quote}
    ),
    "a retry": lambda quote: events_of(
        {"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 429, "error": quote}
    ),
    "the first event": lambda quote: events_of(init(cwd=quote, skills=[quote], model=quote)),
    "an unknown event": lambda quote: events_of(
        {"type": "new", "rate_limit_info": {"status": "rejected"}, "text": quote}
    ),
    "standard error": lambda quote: [Event(0.0, ERROR, quote)],
    "a bare line": lambda quote: [Event(0.0, TEXT, quote)],
    "the shim's note": lambda quote: [Event(0.0, NOTE, quote)],
}
TRANSCRIPTS = [(place, quote) for place in PLACES for quote in QUOTES]


@pytest.mark.parametrize("place", PLACES)
def test_no_transcript_that_quotes_a_limit_parks(place: str) -> None:
    assert len(TRANSCRIPTS) > 50
    for quote in QUOTES:
        said = [*events_of(init()), *PLACES[place](quote)]
        good = judge([*said, *events_of(assistant_text(quote), result(quote, structured_output={"error": quote}))])
        assert (good.outcome, good.limit) == (Outcome.COMPLETED, None), quote
        for last in ([], [stopped(errors=[quote])], [api_error(529, quote)], [result(quote, is_error=True)]):
            bad = judge([*said, *events_of(*last)], EXIT_1)
            assert bad.limit is None, (quote, last)
            assert REACTIONS[bad.outcome] is not Reaction.PARK, (quote, last)


def test_a_transcript_of_quotes_alone_is_a_crash() -> None:
    said = [event for place, quote in TRANSCRIPTS for event in PLACES[place](quote) if event.kind != JSON]
    assert len(said) > 20
    assert judge(said, EXIT_1).outcome is Outcome.CRASHED


# -- money


def test_a_first_call() -> None:
    last = result(total_cost_usd=0.018, modelUsage=usage(0.018), model_usage_since_last_result=usage(0.018))
    verdict = judge(events_of(init(), last))
    assert verdict.spend == verdict.session_spend == Spend(0.018, Tokens(1000, 100, 7, 3))


def test_a_resumed_call_counts_its_own_part() -> None:
    last = result(total_cost_usd=0.03, modelUsage=usage(0.03, 3000), model_usage_since_last_result=usage(0.01))
    verdict = judge(events_of(init(), last), before=Spend(0.02))
    assert verdict.spend == Spend(0.01, Tokens(1000, 100, 7, 3))
    assert verdict.session_spend == Spend(0.03, Tokens(3000, 100, 7, 3))


def test_an_older_version_gives_only_the_whole() -> None:
    tokens = {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": 2,
        "cache_creation_input_tokens": 1,
    }
    verdict = judge(events_of(init(), result(total_cost_usd=0.75, usage=tokens)), before=Spend(0.5))
    assert verdict.spend == Spend(0.25, Tokens(10, 5, 2, 1))


def test_a_resumed_call_that_was_refused_cost_nothing() -> None:
    last = api_error(401, total_cost_usd=0.5, model_usage_since_last_result={})
    assert judge(events_of(init(), last), EXIT_1).spend == Spend(0.0)


def test_models_and_several_results_are_added_up() -> None:
    both = {**usage(0.25), **usage(0.5, model="claude-haiku")}
    results = [
        result(model_usage_since_last_result=both, num_turns=2),
        result(model_usage_since_last_result=usage(0.25)),
    ]
    verdict = judge(events_of(init(), *results))
    assert verdict.spend == Spend(1.0, Tokens(3000, 300, 21, 9))
    assert verdict.turns == 5


def test_without_a_result_nothing_is_known_of_the_money() -> None:
    assert judge(events_of(init(), assistant_text("x")), EXIT_1).spend == Spend(None)


@pytest.mark.parametrize("cost", [-1.0, 1e300, True, "1", float("nan")])
def test_a_sum_nobody_can_have_spent_is_not_added(cost: object) -> None:
    strange = {"a": {"costUSD": cost}, "b": {"costUSD": 0.5}}
    verdict = judge(events_of(init(), result(total_cost_usd=cost, model_usage_since_last_result=strange)))
    assert (verdict.spend.dollars, verdict.session_spend.dollars) == (0.5, None)


def test_before_is_never_more_than_the_whole() -> None:
    assert judge(events_of(init(), result(total_cost_usd=0.1)), before=Spend(5.0)).spend.dollars == 0.0


# -- whatever it prints

WORDS = st.sampled_from(
    "type subtype system init assistant user result success is_error terminal_reason completed api_error error "
    "api_error_status rate_limit_event rate_limit_info status rejected resetsAt rateLimitType message content "
    "tool_use tool_result text input name session_id permission_denials tool_name tool_input total_cost_usd "
    "modelUsage model_usage_since_last_result costUSD inputTokens usage input_tokens errors tasks task_type "
    "background_tasks_changed parent_tool_use_id num_turns model claude_code_version api_retry".split()
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS | st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)
GOOD = [
    init(),
    assistant_text("Working."),
    tool_use("Bash", command="npm test"),
    tool_result("fine", is_error=True),
    limit(),
    limit("allowed_warning", utilization=0.9),
    tasks(AGENT_TASK),
    api_error(429),
    stopped(errors=["x"]),
    result(permission_denials=[denied("Bash", command="x")], modelUsage=usage(0.1), usage={"input_tokens": 1}),
    {"type": "system", "subtype": "api_retry", "attempt": 1, "retry_delay_ms": 5, "error_status": 529},
]


@st.composite
def mutants(draw: st.DrawFn) -> Any:
    """A good event with one part, at any depth, put in another's place."""
    data: Any = json.loads(json.dumps(draw(st.sampled_from(GOOD))))
    part: Any = data
    while True:
        keys = list(part) if isinstance(part, dict) else list(range(len(part)))
        key = draw(st.sampled_from(keys))
        inner = part[key]
        if not (isinstance(inner, dict | list) and inner) or draw(st.booleans()):
            part[key] = draw(VALUES)
            return data
        part = inner


EVENTS = st.builds(
    Event,
    st.floats(0, 100),
    st.sampled_from([JSON, JSON, JSON, TEXT, ERROR, NOTE]),
    mutants() | st.sampled_from(GOOD) | st.dictionaries(WORDS, VALUES, max_size=6) | st.text(max_size=20),
)
ENDINGS = st.builds(
    ProcessEnding,
    st.sampled_from([by for by, _ in BY_ENDING]),
    st.none() | st.integers(-1, 255),
    st.none() | st.integers(0, 64),
    st.text(max_size=10),
)


@given(st.lists(EVENTS, max_size=8), ENDINGS, st.none() | st.floats(0, 100))
def test_no_stream_of_events_is_too_strange(
    events: list[Event], ending: ProcessEnding, dollars: float | None
) -> None:
    verdict = CLAUDE.judge(iter(events), ending, Spend(dollars))
    assert isinstance(verdict.outcome, Outcome)
    assert len(verdict.message) <= MAX_MESSAGE
    assert verdict.message.isprintable()
    assert len(verdict.closing) <= MAX_CLOSING
    assert (verdict.limit is not None) is (verdict.outcome is Outcome.LIMIT)
    assert verdict.spend.dollars is None or 0 <= verdict.spend.dollars < float("inf")
    json.dumps([verdict.denials, verdict.session, verdict.model], allow_nan=False)


@given(EVENTS)
def test_no_event_is_too_strange_to_be_shown(event: Event) -> None:
    for line in CLAUDE.format_event(event):
        assert len(line) <= 300
        assert line.isprintable()


@given(st.lists(mutants(), min_size=1, max_size=5), st.sampled_from(sorted(PLACES)))
def test_no_event_parks_by_being_quoted(quoted: list[Any], place: str) -> None:
    quote = "\n".join(json.dumps(one) for one in quoted)
    verdict = judge([*events_of(init()), *PLACES[place](quote)], EXIT_1)
    assert verdict.limit is None


# Claude Code's events as lines to follow.

RETRY = {"attempt": 1, "max_retries": 10, "retry_delay_ms": 564, "error_status": 529, "error": "overloaded"}


def lines(data: Json) -> list[str]:
    return CLAUDE.format_event(Event(0.0, JSON, data))


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (assistant_text("One.\n\nTwo."), ["One.", "Two."]),
        (tool_use("Bash", command="npm test", description="Run"), ["Bash  npm test"]),
        (tool_use("Edit", file_path="src/a.py", old_string="x"), ["Edit  src/a.py"]),
        (tool_use("Skill", skill="bmad-dev-story"), ["Skill  bmad-dev-story"]),
        (tool_use("Agent", description="review", prompt="…"), ["Agent  review"]),
        (tool_use("Odd"), ["Odd"]),
        (tool_use("Bash", command="cat <<EOF\nx\nEOF"), ["Bash  cat <<EOF x EOF"]),
        (message({"type": "thinking", "thinking": "hm"}), []),
        (assistant_text("inner", parent="toolu_1"), ["  inner"]),
        (tool_result("fine"), []),
        (tool_result("Exit code 1\nAssertionError", is_error=True), ["  failed: Exit code 1 AssertionError"]),
        (tool_result([{"type": "text", "text": "no"}], is_error=True), ["  failed: no"]),
        ({"type": "system", "subtype": "api_retry", **RETRY}, ["retry 1 of 10 in 0.6 s: 529 overloaded"]),
        (limit(), ["limit reached: five_hour, resets 2026-11-16 02:22 UTC"]),
        (limit("allowed_warning", utilization=0.92, resets_at=None), ["limit near: five_hour, 92% used"]),
        (limit("allowed"), []),
        (result(), ["completed: 3 turns, $0.02 so far, 9 s"]),
        (result(num_turns=1, total_cost_usd=None), ["completed: 1 turn, 9 s"]),
        (api_error(401), ["failed (api_error): 3 turns, $0.02 so far, 9 s"]),
        ({"type": "system", "subtype": "task_started"}, []),
        ({"type": "something new"}, []),
    ],
)
def test_an_event(data: Json, expected: list[str]) -> None:
    assert lines(data) == expected


def test_the_start_names_version_model_and_session() -> None:
    [line] = lines(init())
    assert all(part in line for part in ("2.1.325", "claude-opus-5-5", "3ebfecc5"))


@pytest.mark.parametrize(("kind", "line"), [(TEXT, "plain"), (ERROR, "[error] plain"), (NOTE, "[note] plain")])
def test_what_is_no_json(kind: str, line: str) -> None:
    assert CLAUDE.format_event(Event(0.0, kind, "plain\n")) == [line]
    assert CLAUDE.format_event(Event(0.0, kind, "\n")) == []


def test_a_long_message_is_cut() -> None:
    found = lines(assistant_text("\n".join(["x" * 1000] * 10)))
    assert len(found) == 7
    assert found[-1] == "… 4 more lines"
    assert max(map(len, found)) == 160


def test_no_number_makes_a_line_long() -> None:
    [line] = lines({"type": "system", "subtype": "api_retry", **RETRY, "retry_delay_ms": 1e308, "attempt": 1e308})
    assert len(line) == 300


def test_a_terminal_is_not_written_to_by_the_agent() -> None:
    assert "\x1b" not in "".join(
        lines(assistant_text("\x1b[2Jgone")) + lines(tool_use("Bash", command="\x1b]0;x\x07"))
    )
