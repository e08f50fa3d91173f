"""Builders for Claude Code's events as version 2.1.325 prints them, reduced to the fields that we read."""

from collections.abc import Iterable
from typing import Any

from bmad_autopilot.agents.adapter import JSON, AttemptVerdict, Event, ProcessEnding, Spend
from bmad_autopilot.agents.claude import CLAUDE

SESSION = "3ebfecc5-da29-42bc-9fbe-33f915f26581"
RESETS_AT = 1_794_795_776

EXIT_0 = ProcessEnding("exit", 0)
EXIT_1 = ProcessEnding("exit", 1)

Json = dict[str, Any]


def events_of(*data: Json) -> list[Event]:
    return [Event(float(at), JSON, one) for at, one in enumerate(data)]


def judge(events: Iterable[Event], ending: ProcessEnding = EXIT_0, before: Spend | None = None) -> AttemptVerdict:
    return CLAUDE.judge(events, ending, before or Spend())


def init(**more: Any) -> Json:
    return {
        "type": "system",
        "subtype": "init",
        "session_id": SESSION,
        "model": "claude-opus-5-5",
        "claude_code_version": "2.1.325",
        "apiKeySource": "none",
        "skills": ["bmad-dev-story"],
        "slash_commands": ["bmad-dev-story", "clear"],
        **more,
    }


def assistant_text(text: str, error: str | None = None, parent: str | None = None) -> Json:
    return message({"type": "text", "text": text}, error=error, parent=parent)


def tool_use(tool: str, **given: Any) -> Json:
    return message({"type": "tool_use", "id": "toolu_1", "name": tool, "input": given})


def message(*content: Json, error: str | None = None, parent: str | None = None) -> Json:
    body = {"role": "assistant", "content": list(content)}
    named = {} if error is None else {"error": error}
    return {"type": "assistant", "message": body, "parent_tool_use_id": parent, "session_id": SESSION, **named}


def tool_result(content: Any, is_error: bool = False, **more: Any) -> Json:
    block = {"type": "tool_result", "tool_use_id": "toolu_1", "content": content, "is_error": is_error}
    return {"type": "user", "message": {"role": "user", "content": [block]}, "parent_tool_use_id": None, **more}


def limit(status: str = "rejected", kind: Any = "five_hour", resets_at: Any = RESETS_AT, **more: Any) -> Json:
    info = {"status": status, "rateLimitType": kind, "resetsAt": resets_at, **more}
    return {"type": "rate_limit_event", "rate_limit_info": {k: v for k, v in info.items() if v is not None}}


def result(text: str = "Done.", **more: Any) -> Json:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "terminal_reason": "completed",
        "api_error_status": None,
        "num_turns": 3,
        "result": text,
        "session_id": SESSION,
        "total_cost_usd": 0.018,
        "duration_ms": 8640,
        "permission_denials": [],
        **more,
    }


def api_error(status: int | None, text: str = "API Error", **more: Any) -> Json:
    """The result of a failed API call: subtype "success" with is_error set."""
    return result(text, is_error=True, terminal_reason="api_error", api_error_status=status, **more)


def usage(dollars: float, into: int = 1000, out: int = 100, model: str = "claude-opus-5-5") -> Json:
    tokens = {"inputTokens": into, "outputTokens": out, "cacheReadInputTokens": 7, "cacheCreationInputTokens": 3}
    return {model: {**tokens, "costUSD": dollars}}
