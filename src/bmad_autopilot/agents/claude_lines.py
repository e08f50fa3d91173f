"""Claude Code's events as a person would want to follow them."""

from typing import Any

from .events import JSON, Event
from .judging import clip, count, listing, mapping, moment, number, plain_lines, string
from .telling import failed, prose, tool

MAX_WHOLE = 300
MAX_BLOCKS = 50


def lines_of(event: Event) -> list[str]:
    return [line[:MAX_WHOLE] for line in _lines(event)]


def _lines(event: Event) -> list[str]:
    if event.kind != JSON or not isinstance(event.data, dict):
        return plain_lines(event)
    data = event.data
    match data.get("type"), data.get("subtype"):
        case "system", "init":
            return [_init(data)]
        case "system", "api_retry":
            return [_retry(data)]
        case "assistant" | "user", _:
            indent = "" if data.get("parent_tool_use_id") is None else "  "  # a subagent's
            return [indent + line for line in _blocks(data)]
        case "rate_limit_event", _:
            return _limit(mapping(data, "rate_limit_info"))
        case "result", _:
            return [_result(data)]
    return []


def _init(data: dict[str, Any]) -> str:
    version, model = (clip(data.get(key), 60) for key in ("claude_code_version", "model"))
    return f"Claude Code {version}  {model}  session {clip(data.get('session_id'), 60)}"


def _retry(data: dict[str, Any]) -> str:
    what = f"{count(data.get('error_status')) or 'no answer'} {clip(data.get('error'), 60)}"
    wait = (number(data.get("retry_delay_ms")) or 0.0) / 1000
    return f"retry {count(data.get('attempt'))} of {count(data.get('max_retries'))} in {wait:.1f} s: {what}"


def _blocks(data: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for block in map(mapping, listing(mapping(data, "message").get("content"))[:MAX_BLOCKS]):
        match block.get("type"):
            case "text" if data.get("type") == "assistant":
                found += prose(string(block.get("text")))
            case "tool_use":
                found.append(tool(block.get("name"), mapping(block, "input")))
            case "tool_result" if block.get("is_error") is True:
                found.append(failed(_said(block.get("content"))))
    return found


def _said(content: object) -> str:
    """By a tool: a text, or a list of blocks."""
    if isinstance(content, str):
        return content
    return next((text for block in listing(content) if (text := string(mapping(block).get("text")))), "")


def _limit(info: dict[str, Any]) -> list[str]:
    status = info.get("status")
    if status not in ("rejected", "allowed_warning"):
        return []
    kind, used = clip(info.get("rateLimitType"), 60), number(info.get("utilization"))
    word = "limit reached" if status == "rejected" else "limit near"
    share = "" if used is None else f", {used:.0%} used"
    resets = moment(info.get("resetsAt"))
    return [f"{word}: {kind or 'unknown'}{share}{f', resets {resets}' if resets else ''}"]


def _result(data: dict[str, Any]) -> str:
    reason = clip(data.get("terminal_reason"), 60) or clip(data.get("subtype"), 60) or "ended"
    word = f"failed ({reason})" if data.get("is_error") is not False else reason
    turns, seconds = count(data.get("num_turns")), (number(data.get("duration_ms")) or 0.0) / 1000
    cost = number(data.get("total_cost_usd"))
    dollars = "" if cost is None else f", ${cost:.2f} so far"
    return f"{word}: {turns} {'turn' if turns == 1 else 'turns'}{dollars}, {seconds:.0f} s"
