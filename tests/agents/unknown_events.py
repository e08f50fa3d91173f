"""What every adapter must stand: events nobody has seen before, and limits that are only quoted."""

import json
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

from bmad_autopilot.agents.adapter import (
    ERROR,
    JSON,
    NOTE,
    REACTIONS,
    SESSION_LOG,
    TEXT,
    Agent,
    AttemptVerdict,
    Event,
    Outcome,
    ProcessEnding,
    Reaction,
    Spend,
    Tokens,
)
from bmad_autopilot.agents.event_parsing import MAX_CLOSING, MAX_LISTED, MAX_MESSAGE
from bmad_autopilot.agents.shim import attempt_files

Json = dict[str, Any]

EXIT_0 = ProcessEnding(attempt_files.EXIT, 0)
EXIT_1 = ProcessEnding(attempt_files.EXIT, 1)
STALL = ProcessEnding(attempt_files.STALL, None, 15)

QUOTES = (
    "You've hit your usage limit. Upgrade to Pro or try again at 1:16 AM.",
    "You've hit your 5-hour limit · resets 9:27pm (UTC)",
    "exceeded retry limit, last status: 429 Too Many Requests",
    "unexpected status 401 Unauthorized: invalid_api_key",
    "Quota exceeded. Check your plan and billing details.",
    '{"type":"error","error":{"name":"APIError","data":{"statusCode":429,"isRetryable":false}}}',
    '{"type":"session.error","data":{"errorType":"rate_limit","statusCode":429}}',
    '{"type":"task_complete","error":{"codex_error_info":"usage_limit_exceeded"}}',
    "RESOURCE_EXHAUSTED: [API Error: You exceeded your current quota (status 429)]",
    "rate_limit_exceeded",
)


def heard(*data: Json) -> list[Event]:
    return [Event(float(at), JSON, one) for at, one in enumerate(data)]


def said(line: str) -> list[Event]:
    return [Event(0.0, ERROR, line)]


def does_not_park(agent: Agent, places: dict[str, Callable[[str], list[Event]]], good: Sequence[Json]) -> None:
    """Each quote in each place, alone, before a good end and before none."""
    for place, put in places.items():
        for quote in QUOTES:
            for events, ending in (
                (put(quote), EXIT_1),
                ([*put(quote), *said(quote)], EXIT_1),
                (put(quote), STALL),
                ([*put(quote), *heard(*good)], EXIT_0),
            ):
                verdict = agent.judge(events, ending, Spend())
                assert verdict.limit is None, (place, quote)
                assert REACTIONS[verdict.outcome] not in (Reaction.PARK, Reaction.STOP), (place, quote)
            assert agent.judge([*put(quote), *heard(*good)], EXIT_0, Spend()).outcome is Outcome.COMPLETED, place


VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["stop", "success", "error", "declined", "APIError", "denied", 429, 401, 10**400])
    | st.lists(st.integers(), max_size=2)
    | st.dictionaries(st.text(max_size=8), st.integers(), max_size=2)
)


@st.composite
def mutants(draw: st.DrawFn, samples: Sequence[Json]) -> Json:
    """A real event with some of its parts replaced, removed or made up."""
    event = deepcopy(draw(st.sampled_from(list(samples))))
    for _ in range(draw(st.integers(0, 3))):
        part: Any = event
        while True:
            key = draw(st.sampled_from([*part, "type", "data"]) if isinstance(part, dict) else st.just("type"))
            inner = part.get(key)
            if isinstance(inner, dict) and inner and draw(st.booleans()):
                part = inner
                continue
            break
        if draw(st.booleans()):
            part[key] = draw(VALUES)
        else:
            part.pop(key, None)
    return event


def streams(samples: Sequence[Json]) -> st.SearchStrategy[list[Event]]:
    lines = st.sampled_from([TEXT, ERROR, NOTE]).flatmap(
        lambda kind: st.builds(Event, st.just(0.0), st.just(kind), st.text(max_size=40) | st.sampled_from(QUOTES))
    )
    objects = st.builds(Event, st.just(0.0), st.sampled_from([JSON, JSON, SESSION_LOG]), mutants(samples))
    return st.lists(objects | lines, max_size=8)


ENDINGS = st.builds(
    ProcessEnding,
    st.sampled_from(["exit", "time-limit", "stall", "cancel", "signal", "guard", "no-start", "lost", "something"]),
    st.none() | st.integers(0, 255),
    st.none() | st.sampled_from([2, 9, 15, 99]),
    st.text(max_size=10),
)
SPENDS = st.builds(
    Spend,
    st.none() | st.floats(0, 100),
    st.builds(Tokens, *[st.integers(0, 10**6)] * 4),
)


def stands(agent: Agent, events: list[Event], ending: ProcessEnding, before: Spend) -> AttemptVerdict:
    verdict = agent.judge(iter(events), ending, before)
    assert isinstance(verdict.outcome, Outcome)
    assert len(verdict.message) <= MAX_MESSAGE
    assert verdict.message.isprintable()
    assert len(verdict.closing) <= MAX_CLOSING
    assert len(verdict.denials) <= MAX_LISTED
    assert (verdict.limit is not None) is (verdict.outcome is Outcome.LIMIT)
    json.dumps([verdict.denials, verdict.session, verdict.model, verdict.spend.dollars], allow_nan=False)
    for tokens in (verdict.spend.tokens, verdict.session_spend.tokens):
        assert min(tokens.input, tokens.output, tokens.cache_read, tokens.cache_write) >= 0
    if ending.cause == attempt_files.CANCEL:
        assert verdict.outcome is Outcome.CANCELLED
    for event in events:
        for line in agent.format_event(event):
            assert line.isprintable()
            assert len(line) <= MAX_MESSAGE + 20
    return verdict
