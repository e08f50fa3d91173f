"""Gemini CLI: headless, with a stream of JSON events. Measured with 0.61.0."""

from collections.abc import Iterable
from dataclasses import dataclass

from .command_rules import covers, own_rules, plain
from .events import JSON, Event
from .gemini_verdict import Heard
from .judging import clip, count, mapping, number, plain_lines, string
from .outcomes import Spend, Verdict
from .protocol import Call, Ending, Permissions, Request
from .telling import MAX_LINE, failed, prose, tool

PROGRAM = "gemini"


@dataclass(frozen=True)
class Gemini:
    name: str = "gemini"
    program: str = PROGRAM
    variables: tuple[str, ...] = (
        *("GEMINI_API_KEY", "GEMINI_MODEL", "GEMINI_CLI_HOME", "GOOGLE_API_KEY", "GOOGLE_CLOUD_*"),
        *("GOOGLE_GENAI_*", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_APPLICATION_CREDENTIALS"),
    )

    def call(self, request: Request) -> Call:
        """Without a terminal it is headless by itself, and the prompt goes in on stdin. `--skip-trust`: else the
        project's own skills and settings do not count in a work tree nobody has opened before."""
        argv = [PROGRAM, "-o", "stream-json", "--skip-trust"]
        # A session id that exists is refused.
        argv += ["--resume", request.resume] if request.resume else ["--session-id", request.session]
        if request.model:
            argv += ["-m", request.model]
        return Call((*argv, *_approval(request.permissions)), request.prompt)

    def judge(self, events: Iterable[Event], ending: Ending, before: Spend) -> Verdict:
        return Heard.of(events).verdict(ending, before)

    def lines(self, event: Event) -> list[str]:
        if event.kind != JSON or not isinstance(event.data, dict):
            return plain_lines(event)
        data = event.data
        match data.get("type"):
            case "init":
                return [f"Gemini  {clip(data.get('model'), 60)}  session {clip(data.get('session_id'), 60)}"]
            case "message" if data.get("role") == "assistant":
                return prose(string(data.get("content")))
            case "tool_use":
                return [tool(data.get("tool_name"), mapping(data, "parameters"))]
            case "tool_result" if data.get("status") == "error":
                return [failed(mapping(data, "error").get("message"))]
            case "error":
                return [f"trouble: {clip(data.get('message'), MAX_LINE)}"]
            case "result":
                return [_result(data)]
        return []


GEMINI = Gemini()


def _approval(permissions: Permissions) -> list[str]:
    """Edits pass, and of the shell what is named; the rest is denied, as nobody is there to ask. Its command line
    has no way to deny a part of what is allowed (only a policy file has). So `npm` is left out where `npm publish`
    is denied, and `npm test` stays; the user's own rules may bring it back. A full bypass knows no exception."""
    if permissions.bypass:
        return ["-y"]
    denied = plain("Gemini", permissions.denied)
    named = plain("Gemini", permissions.commands)
    kept = [one for one in named if not any(covers(one, other) or covers(other, one) for other in denied)]
    rules = [*(f"run_shell_command({command})" for command in kept), *own_rules("Gemini", permissions.rules)]
    return ["--approval-mode", "auto_edit", *(f"--allowed-tools={rule}" for rule in rules)]


def _result(data: dict[str, object]) -> str:
    stats = mapping(data, "stats")
    if data.get("status") != "success":
        return f"failed: {clip(mapping(data, 'error').get('message'), MAX_LINE)}"
    seconds = (number(stats.get("duration_ms")) or 0.0) / 1000
    return f"completed: {count(stats.get('total_tokens'))} tokens, {seconds:.0f} s"
