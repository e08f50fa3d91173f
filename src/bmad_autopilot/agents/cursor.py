"""Cursor: `cursor-agent -p`. Written from its documentation and never measured: it needs Cursor's cloud."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.errors import UsageError
from . import event_parsing
from .adapter import JSON, AgentCommand, AgentRequest, AttemptVerdict, Event, Outcome, ProcessEnding, Spend
from .event_parsing import (
    MAX_LINE,
    EventAccumulator,
    as_line,
    as_list,
    as_number,
    as_str,
    format_plain_event,
    format_prose,
    format_tool_call,
    get_dict,
)

PROGRAM = "cursor-agent"
MAX_ARGUMENT = 120_000  # bytes; the operating system allows 128 kB


@dataclass(frozen=True)
class Cursor:
    name: str = "cursor"
    program: str = PROGRAM
    variables: tuple[str, ...] = ("CURSOR_API_KEY", "CURSOR_CONFIG_DIR")

    def call(self, request: AgentRequest) -> AgentCommand:
        """`--force`: without it a headless Cursor only proposes edits. Its command line takes no allowed or denied
        commands; denials in `.cursor/cli.json` still apply, and an outer sandbox is the only other protection. The
        prompt is an argument, because stdin is not documented."""
        if len(request.prompt.encode("utf-8", "surrogateescape")) > MAX_ARGUMENT:
            raise UsageError("the prompt is too long for Cursor", expected=f"at most {MAX_ARGUMENT} bytes")
        argv = [PROGRAM, "-p", "--output-format", "stream-json", "--force"]
        if request.model:
            argv += ["--model", request.model]
        if request.resume:
            argv += ["--resume", request.resume]
        return AgentCommand((*argv, request.prompt))

    def judge(self, events: Iterable[Event], ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        return _CursorEvents.of(events).verdict(ending, prior_spend)

    def format_event(self, event: Event) -> list[str]:
        if event.kind != JSON or not isinstance(event.data, dict):
            return format_plain_event(event)
        data = event.data
        match data.get("type"), data.get("subtype"):
            case "system", "init":
                return [f"Cursor  {as_line(data.get('model'), 60)}  session {as_line(data.get('session_id'), 60)}"]
            case "assistant", _:
                return format_prose(_message_text(data))
            case "tool_call", "started":
                return [_format_tool(get_dict(data, "tool_call"))]
            case "result", _:
                seconds = (as_number(data.get("duration_ms")) or 0.0) / 1000
                word = "completed" if _succeeded(data) else f"failed ({as_line(data.get('subtype'), 60)})"
                return [f"{word}: {seconds:.0f} s"]
        return []


CURSOR = Cursor()


@dataclass
class _CursorEvents(EventAccumulator):
    """Accumulates what a verdict needs from one call's events."""

    session: str | None = None
    model: str | None = None
    result: dict[str, Any] = field(default_factory=dict)
    closing: str = ""

    def add_json(self, data: dict[str, Any]) -> None:
        self.session = event_parsing.as_session_id(data.get("session_id")) or self.session
        match data.get("type"):
            case "system":
                self.model = as_line(data.get("model"), 100) or self.model
            case "assistant":
                self.closing = _message_text(data) or self.closing
            case "result":
                self.result = data

    def verdict(self, ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        return replace(
            self._outcome(ending),
            session=self.session,
            session_spend=prior_spend,
            closing=(as_str(self.result.get("result")) or self.closing)[: event_parsing.MAX_CLOSING],
            model=self.model,
        )

    def _outcome(self, ending: ProcessEnding) -> AttemptVerdict:
        """Cursor reports failures only as a sentence on standard error: a crash with a message, never a limit."""
        if ending.cause in event_parsing.DECISIVE_ENDINGS or not self.result:
            return event_parsing.verdict_from_ending(ending, self.stderr)
        if _succeeded(self.result):
            return AttemptVerdict(Outcome.COMPLETED)
        return AttemptVerdict(
            Outcome.CRASHED,
            as_line(self.result.get("result")) or as_line(event_parsing.first_nonempty_line(self.stderr)),
        )


def _succeeded(result: dict[str, Any]) -> bool:
    return result.get("subtype") == "success" and result.get("is_error") is False


def _message_text(data: dict[str, Any]) -> str:
    blocks = [get_dict(block) for block in as_list(get_dict(data, "message").get("content"))]
    return "\n".join(as_str(block.get("text")) for block in blocks if block.get("type") == "text")


def _format_tool(given: dict[str, Any]) -> str:
    """`{"shellToolCall": {"args": {"command": …}}}`."""
    name = next(iter(given), "")
    return format_tool_call(name.removesuffix("ToolCall")[:MAX_LINE], get_dict(given, name, "args"))
