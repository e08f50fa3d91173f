"""Codex: how it is called, and what its events and its record come to. The events are those of 0.166.0."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.adapter import (
    ERROR,
    SESSION_LOG,
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
from bmad_autopilot.agents.codex import CODEX, MAX_TAIL, append_session_log
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

THREAD = "01a1e1b5-e059-7862-8bba-985432cb1f0d"
REQUEST = AgentRequest("$bmad-dev-story 1-1\n\nThe contract.", "0b5e", "/w")

STARTED: Json = {"type": "thread.started", "thread_id": THREAD}
TURN: Json = {"type": "turn.started"}
COMMAND: Json = {
    "type": "item.completed",
    "item": {
        "id": "item_1",
        "type": "command_execution",
        "command": "npm test",
        "exit_code": 0,
        "status": "completed",
    },
}
CHANGE: Json = {
    "type": "item.completed",
    "item": {"id": "item_2", "type": "file_change", "changes": [{"path": "/w/z.py", "kind": "add"}]},
}
REMARK: Json = {"type": "item.completed", "item": {"type": "error", "message": "Model metadata not found."}}
RETRY: Json = {"type": "error", "message": "Reconnecting... waiting for network (Connection failed)"}


def message(text: str) -> Json:
    return {"type": "item.completed", "item": {"id": "item_3", "type": "agent_message", "text": text}}


def completed(times: int = 1) -> Json:
    usage = {"input_tokens": 100, "cached_input_tokens": 40, "output_tokens": 10}
    return {"type": "turn.completed", "usage": {name: number * times for name, number in usage.items()}}


def failed(text: str = "it failed") -> Json:
    return {"type": "turn.failed", "error": {"message": text}}


def recorded(info: Any, **window: Any) -> list[Event]:
    limits = {
        "primary": {"used_percent": 12.0, "window_minutes": 300, "resets_at": 1},
        "secondary": None,
        **window,
    }
    tokens = {"type": "token_count", "info": None, "rate_limits": limits}
    ended = {"type": "task_complete", "error": {"message": "it failed", "codex_error_info": info}}
    return [Event(0.0, SESSION_LOG, tokens), Event(0.0, SESSION_LOG, ended)]


def judge(events: list[Event], ending: ProcessEnding = EXIT_0, before: Spend | None = None) -> AttemptVerdict:
    return CODEX.judge(events, ending, before or Spend())


# -- the call


def test_it_is_an_agent() -> None:
    agent: Agent = CODEX
    assert (agent.name, agent.program) == ("codex", "codex")
    assert {"CODEX_HOME", "OPENAI_*"} <= set(agent.variables)


def test_a_new_conversation() -> None:
    call = CODEX.call(REQUEST)
    assert call.argv == ("codex", "exec", "--json", "-s", "workspace-write", "-")
    assert call.stdin == REQUEST.prompt


def test_a_resumed_one_with_a_model_and_a_rule_of_the_users() -> None:
    rule = "sandbox_workspace_write.network_access=true"
    asked = REQUEST._replace(resume=THREAD, model="gpt-5", permissions=Permissions(rules=(rule,)))
    assert CODEX.call(asked).argv[3:] == (
        *("-s", "workspace-write", "-m", "gpt-5", "-c", rule),
        *("resume", THREAD, "-"),
    )


def test_a_bypass_opens_the_sandbox() -> None:
    argv = CODEX.call(REQUEST._replace(permissions=Permissions(bypass=True))).argv
    assert argv[argv.index("-s") + 1] == "danger-full-access"


def test_a_rule_of_two_lines_is_refused() -> None:
    with pytest.raises(UsageError):
        CODEX.call(REQUEST._replace(permissions=Permissions(rules=("a=1\nb=2",))))


# -- how it ended


def test_a_completed_turn() -> None:
    verdict = judge(heard(STARTED, REMARK, TURN, COMMAND, message("All done."), completed()))
    assert verdict.outcome is Outcome.COMPLETED
    assert (verdict.session, verdict.closing) == (THREAD, "All done.")
    assert verdict.spend == verdict.session_spend == Spend(None, Tokens(60, 10, 40, 0))


def test_a_resumed_conversation_counts_its_tokens_once() -> None:
    first = judge(heard(STARTED, TURN, completed()))
    second = judge(heard(STARTED, TURN, completed(3)), before=first.session_spend)
    assert second.spend.tokens == Tokens(120, 20, 80, 0)
    assert second.session_spend.tokens == Tokens(180, 30, 120, 0)


def test_a_failed_resume_has_spent_nothing_that_is_known() -> None:
    before = Spend(None, Tokens(60, 10, 40, 0))
    verdict = judge(heard(STARTED, TURN, failed()), EXIT_1, before)
    assert (verdict.spend.tokens, verdict.session_spend) == (Tokens(), before)


def test_its_record_knows_the_tokens_of_a_turn_that_was_cut_short() -> None:
    used = {"type": "token_count", "info": {"total_token_usage": {"input_tokens": 500, "output_tokens": 7}}}
    verdict = judge([*heard(STARTED, TURN), Event(0.0, SESSION_LOG, used)], STALL)
    assert verdict.outcome is Outcome.STALLED
    assert verdict.spend.tokens == Tokens(500, 7, 0, 0)


def test_exit_0_without_a_completed_turn_is_no_success() -> None:
    assert judge(heard(STARTED, TURN, message("Done."))).outcome is Outcome.CRASHED
    assert judge([]).outcome is Outcome.CRASHED


def test_a_turn_begun_after_a_completed_one_is_not_completed() -> None:
    assert judge(heard(STARTED, TURN, completed(), TURN), STALL).outcome is Outcome.STALLED


@pytest.mark.parametrize(
    "by", [attempt_files.STALL, attempt_files.TIME_LIMIT, attempt_files.SIGNAL, attempt_files.LOST]
)
def test_work_that_was_completed_stands(by: str) -> None:
    assert judge(heard(STARTED, TURN, completed()), ProcessEnding(by)).outcome is Outcome.COMPLETED


def test_a_cancelled_call_is_cancelled() -> None:
    assert (
        judge(heard(STARTED, TURN, completed()), ProcessEnding(attempt_files.CANCEL)).outcome is Outcome.CANCELLED
    )


def test_a_declined_command_is_told() -> None:
    declined = {
        "type": "item.completed",
        "item": {"type": "command_execution", "command": "git push", "status": "declined"},
    }
    verdict = judge(heard(STARTED, TURN, declined, completed()))
    assert verdict.outcome is Outcome.PERMISSION_DENIED
    assert verdict.denials == ("command_execution git push",)


KINDS = [
    ("unauthorized", Outcome.AUTH),
    ({"http_connection_failed": {"http_status_code": 401}}, Outcome.AUTH),
    ({"http_connection_failed": {"http_status_code": 403}}, Outcome.AUTH),
    ({"http_connection_failed": {"http_status_code": 402}}, Outcome.BILLING),
    ({"http_connection_failed": {"http_status_code": 529}}, Outcome.OVERLOADED),
    ({"response_too_many_failed_attempts": {"http_status_code": 429}}, Outcome.LIMIT),
    ({"response_stream_disconnected": {"http_status_code": None}}, Outcome.NETWORK),
    ({"http_connection_failed": {}}, Outcome.NETWORK),
    ("usage_limit_exceeded", Outcome.LIMIT),
    ("rate_limit_exceeded", Outcome.LIMIT),
    ("internal_server_error", Outcome.OVERLOADED),
    ("server_overloaded", Outcome.OVERLOADED),
    ("context_window_exceeded", Outcome.PROMPT_TOO_LONG),
    ("session_budget_exceeded", Outcome.BUDGET),
    ("model_not_found", Outcome.MISCONFIGURED),
    ("other", Outcome.CRASHED),
    ("a kind of next year", Outcome.CRASHED),
    (None, Outcome.CRASHED),
    ([], Outcome.CRASHED),
    ({}, Outcome.CRASHED),
]


@pytest.mark.parametrize(("info", "outcome"), KINDS, ids=[str(kind[0]) for kind in KINDS])
def test_a_failure_is_told_apart_by_its_record(info: Any, outcome: Outcome) -> None:
    events = heard(STARTED, TURN, RETRY, failed("the very message"))
    verdict = judge([*events, *recorded(info)], EXIT_1)
    assert (verdict.outcome, verdict.message) == (outcome, "the very message")


@pytest.mark.parametrize("info", [kind[0] for kind in KINDS], ids=[str(kind[0]) for kind in KINDS])
def test_without_a_record_every_failure_is_a_crash(info: Any) -> None:
    verdict = judge(heard(STARTED, TURN, failed(f"unexpected status 401: {info}")), EXIT_1)
    assert (verdict.outcome, verdict.limit) == (Outcome.CRASHED, None)


def test_a_record_that_is_only_printed_is_none() -> None:
    printed = heard(*(event.data for event in recorded("usage_limit_exceeded")))
    verdict = judge([*heard(STARTED, TURN), *printed, *heard(failed())], EXIT_1)
    assert (verdict.outcome, verdict.limit) == (Outcome.CRASHED, None)


def test_a_record_does_not_overrule_a_completed_turn() -> None:
    events = [*heard(STARTED, TURN, completed()), *recorded("usage_limit_exceeded")]
    assert judge(events).outcome is Outcome.COMPLETED


def test_a_usage_limit_opens_when_its_last_window_does() -> None:
    shut = {"used_percent": 100.0, "window_minutes": 300, "resets_at": 1_794_791_818}
    week = {"used_percent": 101.5, "window_minutes": 10_080, "resets_at": 1_795_000_000}
    failure = heard(STARTED, TURN, failed())
    one = judge([*failure, *recorded("usage_limit_exceeded", primary=shut)], EXIT_1)
    assert one.limit == UsageLimit("primary", 1_794_791_818)
    both = judge([*failure, *recorded("usage_limit_exceeded", primary=shut, secondary=week)], EXIT_1)
    assert both.limit == UsageLimit("secondary", 1_795_000_000)


def test_a_limit_without_a_full_window_has_no_time() -> None:
    failure = heard(STARTED, TURN, failed())
    assert judge([*failure, *recorded("usage_limit_exceeded")], EXIT_1).limit == UsageLimit("usage_limit_exceeded")
    too_many = {"response_too_many_failed_attempts": {"http_status_code": 429}}
    assert judge([*failure, *recorded(too_many)], EXIT_1).limit == UsageLimit("api")


def test_an_option_it_does_not_know() -> None:
    wrong = [Event(0.0, ERROR, "error: unexpected argument '--nope' found")]
    assert judge(wrong, ProcessEnding(attempt_files.EXIT, 2)).outcome is Outcome.MISCONFIGURED
    assert judge(wrong, EXIT_1).outcome is Outcome.CRASHED


def test_a_stall_says_what_it_was_waiting_for() -> None:
    verdict = judge(heard(STARTED, TURN, RETRY, RETRY), STALL)
    assert verdict.outcome is Outcome.STALLED
    assert "waiting for network" in verdict.message


# -- what was only said

PLACES = {
    "its last words": lambda quote: heard(STARTED, TURN, message(quote)),
    "a command": lambda quote: heard(
        STARTED, {**COMMAND, "item": {**COMMAND["item"], "command": quote, "aggregated_output": quote}}
    ),
    "a remark": lambda quote: heard(
        STARTED, {"type": "item.completed", "item": {"type": "error", "message": quote}}
    ),
    "a retry": lambda quote: heard(STARTED, TURN, {"type": "error", "message": quote}),
    "a failure in words": lambda quote: heard(STARTED, TURN, failed(quote)),
    "a bare line": lambda quote: [Event(0.0, TEXT, quote)],
    "an event of a new kind": lambda quote: heard({"type": "limit", "codex_error_info": "usage_limit_exceeded"}),
    "its record of something else": lambda quote: [
        Event(0.0, SESSION_LOG, {"type": "task_complete", "error": {"message": quote}}),
        *heard(STARTED, TURN, failed(quote)),
    ],
}


def test_a_limit_that_is_quoted_parks_nobody() -> None:
    does_not_park(CODEX, PLACES, [TURN, message("Done."), completed()])


# -- following it


def test_it_can_be_followed() -> None:
    started = {"type": "item.started", "item": {"type": "command_execution", "command": "npm test"}}
    broken = {"type": "item.completed", "item": {"type": "command_execution", "exit_code": 1, "status": "failed"}}
    events = heard(STARTED, TURN, REMARK, started, broken, CHANGE, message("One.\n\nTwo."), RETRY, completed())
    assert [line for event in events for line in CODEX.format_event(event)] == [
        f"Codex  thread {THREAD}",
        "command  npm test",
        "  failed: exit code 1",
        "add  /w/z.py",
        "One.",
        "Two.",
        "trouble: Reconnecting... waiting for network (Connection failed)",
        "completed: 100 tokens in, 10 out so far",
    ]
    assert CODEX.format_event(heard(failed("no key"))[0]) == ["failed: no key"]
    assert CODEX.format_event(Event(0.0, ERROR, "a warning")) == ["[error] a warning"]


SAMPLES = [
    *(STARTED, TURN, COMMAND, CHANGE, REMARK, RETRY, message("x"), completed(), failed()),
    *(event.data for info, _ in KINDS for event in recorded(info)),
]


@given(streams(SAMPLES), ENDINGS, SPENDS)
def test_no_stream_of_events_is_too_strange(events: list[Event], ending: ProcessEnding, before: Spend) -> None:
    stands(CODEX, events, ending, before)


# Codex's own record is found by its thread, read from its end, and never trusted to be there.

EVENTS = heard(
    {"type": "thread.started", "thread_id": THREAD},
    {"type": "turn.failed", "error": {"message": "You've hit your usage limit."}},
)
NOON = 1_794_830_400.0  # 2026-11-16T12:00:00Z


def line(payload: Any, at: str = "2026-11-16T12:00:01.500Z", kind: str = "event_msg") -> str:
    return json.dumps({"timestamp": at, "type": kind, "payload": payload}) + "\n"


def limits(resets_at: int) -> dict[str, Any]:
    primary = {"used_percent": 100.0, "window_minutes": 300, "resets_at": resets_at}
    return {"type": "token_count", "info": None, "rate_limits": {"primary": primary}}


def ended(info: Any) -> dict[str, Any]:
    return {"type": "task_complete", "error": {"message": "x", "codex_error_info": info}}


def write(home: Path, text: str, thread: str = THREAD, day: str = "2026/11/16") -> Path:
    folder = home / "sessions" / day
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"rollout-2026-11-16T11-59-00-{thread}.jsonl"
    path.write_text(text)
    return path


def read(home: Path, since: float = NOON) -> list[Any]:
    found = list(append_session_log(EVENTS, since, {"CODEX_HOME": str(home)}))
    assert found[: len(EVENTS)] == EVENTS
    assert all(event.kind == SESSION_LOG for event in found[len(EVENTS) :])
    return [event.data for event in found[len(EVENTS) :]]


def test_the_record_gives_a_limit_its_kind_and_its_time(tmp_path: Path) -> None:
    write(tmp_path, line(limits(1_794_840_000)) + line(ended("usage_limit_exceeded")))
    verdict = CODEX.judge(append_session_log(EVENTS, NOON, {"CODEX_HOME": str(tmp_path)}), EXIT_1, Spend())
    assert (verdict.outcome, verdict.limit) == (Outcome.LIMIT, UsageLimit("primary", 1_794_840_000))


def test_what_an_earlier_attempt_left_does_not_count(tmp_path: Path) -> None:
    write(tmp_path, line(ended("usage_limit_exceeded"), at="2026-11-16T11:59:59.999Z"))
    assert read(tmp_path) == []


def test_the_record_is_in_the_home_folder_unless_told_otherwise(tmp_path: Path) -> None:
    write(tmp_path / ".codex", line(ended("unauthorized")))
    found = list(append_session_log(EVENTS, NOON, {"HOME": str(tmp_path)}))
    assert found[-1] == Event(0.0, SESSION_LOG, ended("unauthorized"))


def test_the_days_before_are_looked_through(tmp_path: Path) -> None:
    write(tmp_path, line(ended("unauthorized")), day="2025/02/28")
    write(tmp_path, line(ended("other")), thread="01a1e1b5-0000-7862-8bba-985432cb1f0d")
    assert read(tmp_path) == [ended("unauthorized")]


def test_only_what_tells_how_it_went_is_taken(tmp_path: Path) -> None:
    quoted = {"type": "message", "content": [{"text": json.dumps(ended("usage_limit_exceeded"))}]}
    pretended = line(ended("usage_limit_exceeded"), kind="response_item")
    write(tmp_path, line(quoted, kind="response_item") + pretended + line({"type": "agent_message"}))
    assert read(tmp_path) == []


def test_a_long_record_is_read_from_its_end(tmp_path: Path) -> None:
    filler = line({"type": "agent_message", "text": "x" * 1000})
    write(tmp_path, line(ended("other")) + filler * (MAX_TAIL // len(filler) + 2) + line(ended("unauthorized")))
    assert read(tmp_path) == [ended("unauthorized")]


def test_a_broken_record_is_no_error(tmp_path: Path) -> None:
    write(
        tmp_path, "{\n[]\n\xff\n" + "[" * 100_000 + "\n" + line(None) + line(ended("other"), at="yesterday") + "{"
    )
    assert read(tmp_path) == []


def test_no_record_is_no_error(tmp_path: Path) -> None:
    assert read(tmp_path / "nowhere") == []
    write(tmp_path, "").unlink()
    assert read(tmp_path) == []


def test_a_thread_that_is_no_name_is_never_a_path(tmp_path: Path) -> None:
    write(tmp_path, line(ended("unauthorized")), thread="x")
    for name in ("x", "../x", "*", "", None, 7):
        events = heard({"type": "thread.started", "thread_id": name})
        assert list(append_session_log(events, NOON, {"CODEX_HOME": str(tmp_path)})) == events


@given(st.lists(st.binary(max_size=60) | st.just(line(ended("other")).encode()), max_size=6))
def test_no_file_is_too_strange(tmp_path_factory: Any, parts: list[bytes]) -> None:
    home = tmp_path_factory.mktemp("codex")
    write(home, "").write_bytes(b"\n".join(parts))
    assert all(payload == ended("other") for payload in read(home))
