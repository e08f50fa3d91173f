"""What Claude Code's events come to: structured fields decide, and nothing that was only said."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.agents.claude import CLAUDE
from bmad_autopilot.agents.events import ERROR, JSON, NOTE, TEXT, Event
from bmad_autopilot.agents.judging import MAX_CLOSING, MAX_LISTED, MAX_MESSAGE
from bmad_autopilot.agents.outcomes import REACTIONS, Limit, Outcome, Reaction, Spend, Tokens
from bmad_autopilot.agents.protocol import Ending
from bmad_autopilot.agents.shim import endings
from tests.agents.claude_events import (
    EXIT_0,
    EXIT_1,
    RESETS_AT,
    SESSION,
    Json,
    answers,
    heard,
    init,
    judge,
    limit,
    message,
    refused,
    result,
    says,
    usage,
    uses,
)

AGENT_TASK = {"task_id": "a1", "task_type": "local_agent"}
SERVER_TASK = {"task_id": "b1", "task_type": "local_bash"}


def tasks(*running: Json) -> Json:
    return {"type": "system", "subtype": "background_tasks_changed", "tasks": list(running)}


def stopped(**more: Any) -> Json:
    return result("", subtype="error_during_execution", is_error=True, terminal_reason="aborted_tools", **more)


# -- the table: what was measured, row by row

API_ERRORS = [
    ("401", refused(401), "authentication_failed", Outcome.AUTH),
    ("403", refused(403), "authentication_failed", Outcome.AUTH),
    ("401 alone", refused(401), "", Outcome.AUTH),
    ("not logged in", refused(None), "authentication_failed", Outcome.AUTH),
    ("another organisation", refused(None), "oauth_org_not_allowed", Outcome.AUTH),
    ("credit", refused(400), "billing_error", Outcome.BILLING),
    ("billing in the API's words", refused(400, api_error_type="billing_error"), "unknown", Outcome.BILLING),
    ("402", refused(402), "", Outcome.BILLING),
    ("model", refused(404), "model_not_found", Outcome.MISCONFIGURED),
    ("gateway without such a path", refused(404), "", Outcome.MISCONFIGURED),
    ("429", refused(429), "rate_limit", Outcome.LIMIT),
    ("529", refused(529), "server_error", Outcome.OVERLOADED),
    ("500", refused(500), "server_error", Outcome.OVERLOADED),
    ("503 alone", refused(503), "", Outcome.OVERLOADED),
    ("dropped", refused(None, api_error="connection_failed"), "server_error", Outcome.NETWORK),
    ("dropped, an older version", refused(None), "server_error", Outcome.NETWORK),
    ("400", refused(400), "unknown", Outcome.CRASHED),
    ("413", refused(413), "", Outcome.PROMPT_TOO_LONG),
    (
        "too long",
        refused(400) | {"terminal_reason": "prompt_too_long"},
        "invalid_request",
        Outcome.PROMPT_TOO_LONG,
    ),
    ("unknown", refused(None), "an error of next year", Outcome.CRASHED),
]


@pytest.mark.parametrize(
    ("last", "error", "outcome"), [row[1:] for row in API_ERRORS], ids=[r[0] for r in API_ERRORS]
)
def test_an_api_error(last: Json, error: str, outcome: Outcome) -> None:
    verdict = judge(heard(init(), says("API Error", error=error), last), EXIT_1)
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
    assert judge(heard(init(), says("Working."), last)).outcome is outcome


def test_an_exit_code_of_one_does_not_spoil_a_success() -> None:
    assert judge(heard(init(), result()), EXIT_1).outcome is Outcome.COMPLETED


def test_what_a_good_call_tells() -> None:
    verdict = judge(heard(init(), says("Done."), result("Done.\nAll of it.")))
    assert (verdict.session, verdict.model, verdict.version) == (SESSION, "claude-opus-5-5", "2.1.325")
    assert (verdict.turns, verdict.closing) == (3, "Done.\nAll of it.")


@pytest.mark.parametrize("session", ["-p", "--resume", "a b", "../x", "", 7, None, "x" * 200])
def test_a_session_that_could_be_taken_for_an_option_is_none(session: object) -> None:
    assert judge(heard(init(session_id=session))).session is None


# -- denials


def denied(tool: str, **given: Any) -> Json:
    return {"tool_name": tool, "tool_use_id": "toolu_1", "tool_input": given}


def test_a_refused_tool_is_no_success() -> None:
    denials = [denied("Bash", command="git push"), denied("Read", file_path="/etc/hostname"), denied("Odd")]
    verdict = judge(heard(init(), result(permission_denials=denials)))
    assert verdict.outcome is Outcome.PERMISSION_DENIED
    assert verdict.denials == ("Bash: git push", "Read: /etc/hostname", "Odd")
    assert verdict.message == "refused: Bash: git push"


def test_the_same_refusal_is_listed_once_and_many_are_bounded() -> None:
    many = [denied("Bash", command=f"x {number // 2}") for number in range(200)]
    verdict = judge(heard(init(), result(permission_denials=many)))
    assert verdict.denials == tuple(f"Bash: x {number}" for number in range(MAX_LISTED))


def test_a_failed_call_with_refusals_failed_first_of_all() -> None:
    last = refused(529, permission_denials=[denied("Bash", command="git push")])
    verdict = judge(heard(init(), last), EXIT_1)
    assert (verdict.outcome, verdict.denials) == (Outcome.OVERLOADED, ("Bash: git push",))


# -- endings

BY_ENDING = [
    (endings.TIME_LIMIT, Outcome.TIMED_OUT),
    (endings.STALL, Outcome.STALLED),
    (endings.CANCEL, Outcome.CANCELLED),
    (endings.GUARD, Outcome.SKILL_MISSING),
    (endings.NO_START, Outcome.MISCONFIGURED),
    (endings.LOST, Outcome.LOST),
    (endings.SIGNAL, Outcome.CRASHED),
    (endings.EXIT, Outcome.CRASHED),
]


@pytest.mark.parametrize(("by", "outcome"), BY_ENDING)
@pytest.mark.parametrize("last", [[], [stopped()]], ids=["no result", "interrupted"])
def test_without_a_word_on_how_it_went_the_ending_decides(by: str, outcome: Outcome, last: list[Json]) -> None:
    verdict = judge(heard(init(), says("Working."), *last), Ending(by, signal=9))
    assert verdict.outcome is outcome
    assert verdict.session == SESSION


@pytest.mark.parametrize("by", [endings.TIME_LIMIT, endings.STALL, endings.SIGNAL, endings.LOST, endings.EXIT])
def test_work_that_has_landed_stands_however_the_process_ended(by: str) -> None:
    assert judge(heard(init(), result()), Ending(by, signal=9)).outcome is Outcome.COMPLETED


@pytest.mark.parametrize(
    ("by", "outcome"), [(endings.CANCEL, Outcome.CANCELLED), (endings.GUARD, Outcome.SKILL_MISSING)]
)
def test_a_cancelled_or_guarded_call_is_no_success(by: str, outcome: Outcome) -> None:
    assert judge(heard(init(), result()), Ending(by)).outcome is outcome


def test_a_refusal_is_told_even_if_the_process_then_hung() -> None:
    events = heard(init(), says("x", error="authentication_failed"), refused(401))
    assert judge(events, Ending(endings.STALL, signal=9)).outcome is Outcome.AUTH


def test_a_result_while_subagents_work_is_not_the_last_word() -> None:
    events = heard(init(), tasks(AGENT_TASK), result("They are at it."))
    assert judge(events, Ending(endings.STALL, signal=9)).outcome is Outcome.STALLED
    assert judge(events, EXIT_1).outcome is Outcome.CRASHED
    assert judge([*events, *heard(tasks(), result("Done."))], EXIT_0).outcome is Outcome.COMPLETED


def test_a_server_left_running_does_not_spoil_the_work() -> None:
    events = heard(init(), tasks(SERVER_TASK), result())
    assert judge(events, Ending(endings.STALL, signal=9)).outcome is Outcome.COMPLETED


def test_of_several_results_the_last_counts() -> None:
    assert judge(heard(result(), refused(401)), EXIT_1).outcome is Outcome.AUTH
    assert judge(heard(refused(529), result())).outcome is Outcome.COMPLETED


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
    verdict = judge([Event(0.1, JSON, retry)], Ending("time-limit", None, 9))
    assert verdict.outcome is outcome
    after: dict[str, object] = {"type": "assistant", "message": {"content": []}, "parent_tool_use_id": None}
    again = judge([Event(0.1, JSON, retry), Event(0.2, JSON, after)], Ending("time-limit", None, 9))
    assert again.outcome is Outcome.TIMED_OUT, "it had come through since"


def test_standard_error_is_not_read_once_there_are_events() -> None:
    events = [*heard(init()), Event(0.1, ERROR, "error: unknown option '--no-such'")]
    assert judge(events, EXIT_1).outcome is Outcome.CRASHED


def test_an_error_of_the_clients_own_is_the_message() -> None:
    last = result("", subtype="error_during_execution", is_error=True, errors=["No conversation found"])
    assert judge(heard(last | {"terminal_reason": None}), EXIT_1).message == "No conversation found"


# -- limits that are there

FAILED = says("You've hit your limit", error="rate_limit")


@pytest.mark.parametrize(
    "kind", ["five_hour", "seven_day", "seven_day_opus", "seven_day_sonnet", "overage", "new"]
)
@pytest.mark.parametrize(
    "last", [[refused(429)], [refused(None)], [refused(429, api_error="usage_limit_reached")], []]
)
def test_a_usage_limit_is_parked_until_its_reset(kind: str, last: list[Json]) -> None:
    verdict = judge(heard(init(), limit(kind=kind), FAILED, *last), EXIT_1)
    assert verdict.outcome is Outcome.LIMIT
    assert verdict.limit == Limit(kind, RESETS_AT)
    assert REACTIONS[verdict.outcome] is Reaction.PARK


@pytest.mark.parametrize("resets_at", [None, "9pm", True, -1, 0, float("inf"), 1e300, [], RESETS_AT * 1000])
def test_a_reset_that_is_no_time_is_not_guessed(resets_at: object) -> None:
    verdict = judge(heard(init(), limit(resets_at=resets_at), FAILED, refused(429)), EXIT_1)
    assert verdict.limit == Limit("five_hour", None)


@pytest.mark.parametrize("kind", [None, 7, "", {}])
def test_a_limit_without_a_name(kind: object) -> None:
    verdict = judge(heard(init(), limit(kind=kind), FAILED, refused(429)), EXIT_1)
    assert verdict.limit == Limit("unknown", RESETS_AT)


@pytest.mark.parametrize(
    ("error", "last"),
    [
        ("rate_limit", refused(429)),
        ("", refused(429)),
        ("rate_limit", refused(None)),
        ("", refused(None, api_error="usage_limit_reached")),
        ("", refused(None, api_error_type="rate_limit_error")),
    ],
)
def test_the_limit_of_an_api_key(error: str, last: Json) -> None:
    verdict = judge(heard(init(), says("x", error=error), last), EXIT_1)
    assert (verdict.outcome, verdict.limit) == (Outcome.LIMIT, Limit("api"))


@pytest.mark.parametrize("by", [endings.EXIT, endings.STALL, endings.TIME_LIMIT, endings.LOST])
def test_a_refusal_that_was_the_last_thing_heard(by: str) -> None:
    verdict = judge(heard(init(), says("Working."), limit(kind="seven_day")), Ending(by, signal=9))
    assert (verdict.outcome, verdict.limit) == (Outcome.LIMIT, Limit("seven_day", RESETS_AT))


def test_a_cancelled_call_is_not_parked() -> None:
    assert judge(heard(init(), limit(), FAILED), Ending(endings.CANCEL)).outcome is Outcome.CANCELLED


@pytest.mark.parametrize("status", ["allowed_warning", "allowed", "REJECTED", None, ["rejected"]])
def test_a_warning_never_parks(status: Any) -> None:
    for last, ending in (([result()], EXIT_0), ([], EXIT_1), ([refused(529)], EXIT_1)):
        verdict = judge(heard(init(), says("Working."), limit(status), *last), ending)
        assert (verdict.outcome is Outcome.LIMIT, verdict.limit) == (False, None)


def test_a_refusal_that_passed_does_not_park() -> None:
    events = heard(init(), limit(), says("It goes on, from the extra budget."))
    assert judge([*events, *heard(result())]).outcome is Outcome.COMPLETED
    assert judge(events, EXIT_1).outcome is Outcome.CRASHED
    assert (
        judge([*events, *heard(says("x", error="server_error"), refused(529))], EXIT_1).outcome
        is Outcome.OVERLOADED
    )


def test_an_interrupted_call_was_not_refused() -> None:
    assert judge(heard(init(), FAILED, stopped())).outcome is Outcome.CRASHED


def test_a_subagents_refusal_is_not_the_conversations() -> None:
    failures = [says("x", error="server_error"), says("y", error="rate_limit", parent="toolu_1")]
    assert judge(heard(init(), *failures, refused(529)), EXIT_1).outcome is Outcome.OVERLOADED


# -- limits that are only talked about

LIMIT_EVENT = limit()
QUOTES = [
    "You've hit your session limit · resets 7:20pm (UTC)",
    "Claude usage limit reached. Your limit will reset at 9pm",
    "API Error: Request rejected (429) · rate_limit_error",
    'subtype=success, is_error=true, terminal_reason="api_error", api_error_status=429',
    json.dumps(LIMIT_EVENT),
    json.dumps(json.dumps(LIMIT_EVENT)),
    json.dumps(refused(429, "You've hit your 5-hour limit")),
    json.dumps(says("x", error="rate_limit")),
]

Place = Callable[[str], list[Event]]
PLACES: dict[str, Place] = {
    "assistant text": lambda quote: heard(says(quote)),
    "a subagent's text": lambda quote: heard(says(quote, parent="toolu_1")),
    "thinking": lambda quote: heard(message({"type": "thinking", "thinking": quote})),
    "a tool's input": lambda quote: heard(uses("Write", file_path="limits.py", content=quote)),
    "a command": lambda quote: heard(uses("Bash", command=f"echo '{quote}'")),
    "a tool's output": lambda quote: heard(answers(quote)),
    "a tool's failure": lambda quote: heard(answers(quote, is_error=True)),
    "a tool's output in blocks": lambda quote: heard(answers([{"type": "text", "text": quote}])),
    "a tool's structured result": lambda quote: heard(
        answers("ok", tool_use_result={"stdout": quote, "file": {"content": quote}, "error": "rate_limit"})
    ),
    "the user's text": lambda quote: heard({"type": "user", "message": {"role": "user", "content": quote}}),
    "a replayed event in a message": lambda _: heard(
        {"type": "user", "message": {"content": [LIMIT_EVENT, refused(429), says("x", error="rate_limit")]}}
    ),
    "an informational event": lambda quote: heard(
        {"type": "system", "subtype": "informational", "message": quote, "error": "rate_limit"}
    ),
    "a subagent's notification": lambda quote: heard(
        {"type": "system", "subtype": "task_notification", "status": "rejected", "summary": quote}
    ),
    "a retry": lambda quote: heard(
        {"type": "system", "subtype": "api_retry", "attempt": 1, "error_status": 429, "error": quote}
    ),
    "the first event": lambda quote: heard(init(cwd=quote, skills=[quote], model=quote)),
    "an unknown event": lambda quote: heard(
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
        said = [*heard(init()), *PLACES[place](quote)]
        good = judge([*said, *heard(says(quote), result(quote, structured_output={"error": quote}))])
        assert (good.outcome, good.limit) == (Outcome.COMPLETED, None), quote
        for last in ([], [stopped(errors=[quote])], [refused(529, quote)], [result(quote, is_error=True)]):
            bad = judge([*said, *heard(*last)], EXIT_1)
            assert bad.limit is None, (quote, last)
            assert REACTIONS[bad.outcome] is not Reaction.PARK, (quote, last)


def test_a_transcript_of_quotes_alone_is_a_crash() -> None:
    said = [event for place, quote in TRANSCRIPTS for event in PLACES[place](quote) if event.kind != JSON]
    assert len(said) > 20
    assert judge(said, EXIT_1).outcome is Outcome.CRASHED


# -- money


def test_a_first_call() -> None:
    last = result(total_cost_usd=0.018, modelUsage=usage(0.018), model_usage_since_last_result=usage(0.018))
    verdict = judge(heard(init(), last))
    assert verdict.spend == verdict.session_spend == Spend(0.018, Tokens(1000, 100, 7, 3))


def test_a_resumed_call_counts_its_own_part() -> None:
    last = result(total_cost_usd=0.03, modelUsage=usage(0.03, 3000), model_usage_since_last_result=usage(0.01))
    verdict = judge(heard(init(), last), before=Spend(0.02))
    assert verdict.spend == Spend(0.01, Tokens(1000, 100, 7, 3))
    assert verdict.session_spend == Spend(0.03, Tokens(3000, 100, 7, 3))


def test_an_older_version_gives_only_the_whole() -> None:
    tokens = {
        "input_tokens": 10,
        "output_tokens": 5,
        "cache_read_input_tokens": 2,
        "cache_creation_input_tokens": 1,
    }
    verdict = judge(heard(init(), result(total_cost_usd=0.75, usage=tokens)), before=Spend(0.5))
    assert verdict.spend == Spend(0.25, Tokens(10, 5, 2, 1))


def test_a_resumed_call_that_was_refused_cost_nothing() -> None:
    last = refused(401, total_cost_usd=0.5, model_usage_since_last_result={})
    assert judge(heard(init(), last), EXIT_1).spend == Spend(0.0)


def test_models_and_several_results_are_added_up() -> None:
    both = {**usage(0.25), **usage(0.5, model="claude-haiku")}
    results = [
        result(model_usage_since_last_result=both, num_turns=2),
        result(model_usage_since_last_result=usage(0.25)),
    ]
    verdict = judge(heard(init(), *results))
    assert verdict.spend == Spend(1.0, Tokens(3000, 300, 21, 9))
    assert verdict.turns == 5


def test_without_a_result_nothing_is_known_of_the_money() -> None:
    assert judge(heard(init(), says("x")), EXIT_1).spend == Spend(None)


@pytest.mark.parametrize("cost", [-1.0, 1e300, True, "1", float("nan")])
def test_a_sum_nobody_can_have_spent_is_not_added(cost: object) -> None:
    strange = {"a": {"costUSD": cost}, "b": {"costUSD": 0.5}}
    verdict = judge(heard(init(), result(total_cost_usd=cost, model_usage_since_last_result=strange)))
    assert (verdict.spend.dollars, verdict.session_spend.dollars) == (0.5, None)


def test_before_is_never_more_than_the_whole() -> None:
    assert judge(heard(init(), result(total_cost_usd=0.1)), before=Spend(5.0)).spend.dollars == 0.0


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
    says("Working."),
    uses("Bash", command="npm test"),
    answers("fine", is_error=True),
    limit(),
    limit("allowed_warning", utilization=0.9),
    tasks(AGENT_TASK),
    refused(429),
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
    Ending,
    st.sampled_from([by for by, _ in BY_ENDING]),
    st.none() | st.integers(-1, 255),
    st.none() | st.integers(0, 64),
    st.text(max_size=10),
)


@given(st.lists(EVENTS, max_size=8), ENDINGS, st.none() | st.floats(0, 100))
def test_no_stream_of_events_is_too_strange(events: list[Event], ending: Ending, dollars: float | None) -> None:
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
    for line in CLAUDE.lines(event):
        assert len(line) <= 300
        assert line.isprintable()


@given(st.lists(mutants(), min_size=1, max_size=5), st.sampled_from(sorted(PLACES)))
def test_no_event_parks_by_being_quoted(quoted: list[Any], place: str) -> None:
    quote = "\n".join(json.dumps(one) for one in quoted)
    verdict = judge([*heard(init()), *PLACES[place](quote)], EXIT_1)
    assert verdict.limit is None
