"""Gemini CLI: headless, with a stream of JSON events. Measured with 0.61.0."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from . import event_parsing
from .adapter import (
    JSON,
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
from .command_rules import covers, normalize_commands, user_rules
from .event_parsing import (
    MAX_LINE,
    EventAccumulator,
    as_count,
    as_line,
    as_number,
    as_str,
    format_failure,
    format_plain_event,
    format_prose,
    format_tool_call,
    get_dict,
    outcome_for_status,
)
from .shim import attempt_files

# The verdict. Gemini's result describes an error only in a sentence, but its exit code is the error's number. For
# an HTTP status the system keeps the lower eight bits: 401 becomes 145.

_MAX_CALLS = 10_000
_STDERR_NOISE = ("Warning:", "[STARTUP]", "Ripgrep is not available")  # on stderr before any relevant message

# Gemini's own exit codes, with or without a result event.
_OUTCOME_BY_CODE = {
    41: Outcome.AUTH,  # no sign-in method is configured
    52: Outcome.MISCONFIGURED,  # a settings file cannot be read
    53: Outcome.MAX_TURNS,
}
_STATUSES = {status % 256: status for status in (*range(400, 432), *range(500, 512), 529)}


@dataclass
class GeminiEvents(EventAccumulator):
    """Accumulates what a verdict needs from one call's events."""

    session: str | None = None
    model: str | None = None
    result: dict[str, Any] = field(default_factory=dict)
    tool_calls: dict[str, str] = field(default_factory=dict)  # tool call id → its description
    denials: list[str] = field(default_factory=list)
    closing: str = ""

    def add_json(self, data: dict[str, Any]) -> None:
        match data.get("type"):
            case "init":
                self.session = event_parsing.as_session_id(data.get("session_id"))
                self.model = as_line(data.get("model"), 100) or None
            case "message" if data.get("role") == "assistant":
                self.closing = (self.closing + as_str(data.get("content")))[: event_parsing.MAX_CLOSING]
            case "tool_use":
                self.closing = ""  # messages come in pieces; only what follows the last tool is the last message
                if len(self.tool_calls) < _MAX_CALLS:
                    self.tool_calls[as_str(data.get("tool_id"))] = format_tool_call(
                        data.get("tool_name"), get_dict(data, "parameters")
                    )
            case "tool_result" if get_dict(data, "error").get("type") == "policy_violation":
                self.denials.append(self.tool_calls.get(as_str(data.get("tool_id")), "a tool"))
            case "result":
                self.result = data

    # -- verdict

    def verdict(self, ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        stats = get_dict(self.result, "stats")
        spend = Spend(None, _tokens(stats))
        return replace(
            self._outcome(ending),
            session=self.session,
            spend=spend,
            session_spend=event_parsing.add_spend(prior_spend, spend),
            denials=tuple(dict.fromkeys(self.denials))[: event_parsing.MAX_LISTED],
            closing=self.closing,
            model=self.model,
        )

    def _outcome(self, ending: ProcessEnding) -> AttemptVerdict:
        stderr = [line for line in self.stderr if not line.startswith(_STDERR_NOISE)]
        if ending.cause in event_parsing.DECISIVE_ENDINGS:
            return event_parsing.verdict_from_ending(ending, stderr)
        if self.result.get("status") == "success":
            if self.denials:
                return AttemptVerdict(Outcome.PERMISSION_DENIED, as_line(f"refused: {self.denials[0]}"))
            return AttemptVerdict(Outcome.COMPLETED)
        outcome = self._outcome_for_code(ending)
        if outcome is None:
            return event_parsing.verdict_from_ending(ending, stderr)
        message = as_line(get_dict(self.result, "error").get("message")) or as_line(
            event_parsing.first_nonempty_line(stderr)
        )
        return AttemptVerdict(outcome, message, limit=UsageLimit("api") if outcome is Outcome.LIMIT else None)

    def _outcome_for_code(self, ending: ProcessEnding) -> Outcome | None:
        """None if the exit code is not one of Gemini's."""
        if ending.cause != attempt_files.EXIT or ending.code is None:
            return Outcome.CRASHED if self.result else None
        if ending.code in _OUTCOME_BY_CODE:
            return _OUTCOME_BY_CODE[ending.code]
        if not self.result:
            return None
        return outcome_for_status(_STATUSES.get(ending.code))


def _tokens(stats: dict[str, Any]) -> Tokens:
    """The tokens of this call only, even if it was resumed; `input` excludes what came from the cache."""
    return Tokens(
        input=as_count(stats.get("input")),
        output=as_count(stats.get("output_tokens")),
        cache_read=as_count(stats.get("cached")),
    )


PROGRAM = "gemini"


@dataclass(frozen=True)
class Gemini:
    name: str = "gemini"
    program: str = PROGRAM
    variables: tuple[str, ...] = (
        *("GEMINI_API_KEY", "GEMINI_MODEL", "GEMINI_CLI_HOME", "GOOGLE_API_KEY", "GOOGLE_CLOUD_*"),
        *("GOOGLE_GENAI_*", "GOOGLE_GEMINI_BASE_URL", "GOOGLE_VERTEX_BASE_URL", "GOOGLE_APPLICATION_CREDENTIALS"),
    )

    def call(self, request: AgentRequest) -> AgentCommand:
        """Without a terminal Gemini runs headless and reads the prompt from stdin. Without `--skip-trust` it
        ignores the project's skills and settings in a work tree that was never opened before."""
        argv = [PROGRAM, "-o", "stream-json", "--skip-trust"]
        # Gemini refuses a session id that exists.
        argv += ["--resume", request.resume] if request.resume else ["--session-id", request.session]
        if request.model:
            argv += ["-m", request.model]
        return AgentCommand((*argv, *_approval_options(request.permissions)), request.prompt)

    def judge(self, events: Iterable[Event], ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        return GeminiEvents.of(events).verdict(ending, prior_spend)

    def format_event(self, event: Event) -> list[str]:
        if event.kind != JSON or not isinstance(event.data, dict):
            return format_plain_event(event)
        data = event.data
        match data.get("type"):
            case "init":
                return [f"Gemini  {as_line(data.get('model'), 60)}  session {as_line(data.get('session_id'), 60)}"]
            case "message" if data.get("role") == "assistant":
                return format_prose(as_str(data.get("content")))
            case "tool_use":
                return [format_tool_call(data.get("tool_name"), get_dict(data, "parameters"))]
            case "tool_result" if data.get("status") == "error":
                return [format_failure(get_dict(data, "error").get("message"))]
            case "error":
                return [f"trouble: {as_line(data.get('message'), MAX_LINE)}"]
            case "result":
                return [_format_result(data)]
        return []


GEMINI = Gemini()


def _approval_options(permissions: Permissions) -> list[str]:
    """Allow edits and the named shell commands; Gemini denies the rest, because no user is present to approve. Its
    command line cannot deny a part of what is allowed (only a policy file can). So `npm` is dropped if
    `npm publish` is denied, while `npm test` stays; the user's own rules may add it again. A full bypass has no
    exceptions."""
    if permissions.bypass:
        return ["-y"]
    denied = normalize_commands("Gemini", permissions.denied)
    named = normalize_commands("Gemini", permissions.commands)
    kept = [one for one in named if not any(covers(one, other) or covers(other, one) for other in denied)]
    rules = [*(f"run_shell_command({command})" for command in kept), *user_rules("Gemini", permissions.rules)]
    return ["--approval-mode", "auto_edit", *(f"--allowed-tools={rule}" for rule in rules)]


def _format_result(data: dict[str, object]) -> str:
    stats = get_dict(data, "stats")
    if data.get("status") != "success":
        return f"failed: {as_line(get_dict(data, 'error').get('message'), MAX_LINE)}"
    seconds = (as_number(stats.get("duration_ms")) or 0.0) / 1000
    return f"completed: {as_count(stats.get('total_tokens'))} tokens, {seconds:.0f} s"
