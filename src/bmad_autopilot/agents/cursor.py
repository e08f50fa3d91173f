"""Cursor: `cursor-agent -p`. Written from its documentation and never measured: it needs its cloud."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.errors import UsageError
from . import judging
from .events import JSON, Event
from .hearing import Hearing
from .judging import clip, listing, mapping, number, plain_lines, string
from .outcomes import Outcome, Spend, Verdict
from .protocol import Call, Ending, Request
from .telling import MAX_LINE, prose, tool

PROGRAM = "cursor-agent"
MAX_ARGUMENT = 120_000  # bytes; the system takes 128 kB


@dataclass(frozen=True)
class Cursor:
    name: str = "cursor"
    program: str = PROGRAM
    variables: tuple[str, ...] = ("CURSOR_API_KEY", "CURSOR_CONFIG_DIR")

    def call(self, request: Request) -> Call:
        """`--force`: without it a headless Cursor only proposes its edits. It takes no allowed or denied commands
        on its command line; what `.cursor/cli.json` denies stays denied, and a sandbox around it is the only other
        fence. The prompt is an argument, as nothing is said of stdin."""
        if len(request.prompt.encode("utf-8", "surrogateescape")) > MAX_ARGUMENT:
            raise UsageError("the prompt is too long for Cursor", expected=f"at most {MAX_ARGUMENT} bytes")
        argv = [PROGRAM, "-p", "--output-format", "stream-json", "--force"]
        if request.model:
            argv += ["--model", request.model]
        if request.resume:
            argv += ["--resume", request.resume]
        return Call((*argv, request.prompt))

    def judge(self, events: Iterable[Event], ending: Ending, before: Spend) -> Verdict:
        return _Heard.of(events).verdict(ending, before)

    def lines(self, event: Event) -> list[str]:
        if event.kind != JSON or not isinstance(event.data, dict):
            return plain_lines(event)
        data = event.data
        match data.get("type"), data.get("subtype"):
            case "system", "init":
                return [f"Cursor  {clip(data.get('model'), 60)}  session {clip(data.get('session_id'), 60)}"]
            case "assistant", _:
                return prose(_text(data))
            case "tool_call", "started":
                return [_call(mapping(data, "tool_call"))]
            case "result", _:
                seconds = (number(data.get("duration_ms")) or 0.0) / 1000
                word = "completed" if _succeeded(data) else f"failed ({clip(data.get('subtype'), 60)})"
                return [f"{word}: {seconds:.0f} s"]
        return []


CURSOR = Cursor()


@dataclass
class _Heard(Hearing):
    """Everything that matters of one call's events, taken in one by one."""

    session: str | None = None
    model: str | None = None
    result: dict[str, Any] = field(default_factory=dict)
    closing: str = ""

    def take(self, data: dict[str, Any]) -> None:
        self.session = judging.session(data.get("session_id")) or self.session
        match data.get("type"):
            case "system":
                self.model = clip(data.get("model"), 100) or self.model
            case "assistant":
                self.closing = _text(data) or self.closing
            case "result":
                self.result = data

    def verdict(self, ending: Ending, before: Spend) -> Verdict:
        return replace(
            self._outcome(ending),
            session=self.session,
            session_spend=before,
            closing=(string(self.result.get("result")) or self.closing)[: judging.MAX_CLOSING],
            model=self.model,
        )

    def _outcome(self, ending: Ending) -> Verdict:
        """A failure is told on standard error alone, in a sentence: a crash with a message, never a limit."""
        if ending.by in judging.OVERRULING or not self.result:
            return judging.by_ending(ending, self.stderr)
        if _succeeded(self.result):
            return Verdict(Outcome.COMPLETED)
        return Verdict(Outcome.CRASHED, clip(self.result.get("result")) or clip(judging.first_line(self.stderr)))


def _succeeded(result: dict[str, Any]) -> bool:
    return result.get("subtype") == "success" and result.get("is_error") is False


def _text(data: dict[str, Any]) -> str:
    blocks = [mapping(block) for block in listing(mapping(data, "message").get("content"))]
    return "\n".join(string(block.get("text")) for block in blocks if block.get("type") == "text")


def _call(given: dict[str, Any]) -> str:
    """`{"shellToolCall": {"args": {"command": …}}}`."""
    name = next(iter(given), "")
    return tool(name.removesuffix("ToolCall")[:MAX_LINE], mapping(given, name, "args"))
