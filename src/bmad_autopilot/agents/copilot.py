"""Copilot CLI: headless, with a stream of JSON events. Measured with 1.0.102."""

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
    UsageLimit,
)
from .command_rules import normalize_commands, user_rules
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

# The verdict. Copilot counts premium requests, and reports neither money nor tokens.

_MAX_CALLS = 10_000

_OUTCOME_BY_TYPE = {
    "authentication": Outcome.AUTH,
    "authorization": Outcome.AUTH,
    "quota": Outcome.LIMIT,
    "rate_limit": Outcome.LIMIT,
    "context_limit": Outcome.PROMPT_TOO_LONG,
}


@dataclass
class CopilotEvents(EventAccumulator):
    """Accumulates what a verdict needs from one call's events."""

    session: str | None = None
    model: str | None = None
    result: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] = field(default_factory=dict)  # of the last turn
    is_idle: bool = False  # the agent has ended its turn
    tool_calls: dict[str, str] = field(default_factory=dict)  # tool call id → its description
    denials: list[str] = field(default_factory=list)
    closing: str = ""
    turns: int = 0

    def add_json(self, data: dict[str, Any]) -> None:
        payload = get_dict(data, "data")
        match data.get("type"):
            case "assistant.turn_start":
                self.is_idle, self.error, self.turns = False, {}, self.turns + 1
            case "assistant.message":
                self.closing = as_str(payload.get("content")) or self.closing
                self.model = as_line(payload.get("model"), 100) or self.model
            case "assistant.idle":
                self.is_idle = True
            case "tool.execution_start" if len(self.tool_calls) < _MAX_CALLS:
                self.tool_calls[as_str(payload.get("toolCallId"))] = format_tool_call(
                    payload.get("toolName"), get_dict(payload, "arguments")
                )
            case "tool.execution_complete" if get_dict(payload, "error").get("code") == "denied":
                self.denials.append(self.tool_calls.get(as_str(payload.get("toolCallId")), "a tool"))
            case "session.error":
                self.error = payload
            case "result":
                self.result = data
                self.session = event_parsing.as_session_id(data.get("sessionId"))

    # -- verdict

    def verdict(self, ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        return replace(
            self._outcome(ending),
            session=self.session,
            session_spend=prior_spend,
            turns=self.turns or None,
            denials=tuple(dict.fromkeys(self.denials))[: event_parsing.MAX_LISTED],
            closing=self.closing[: event_parsing.MAX_CLOSING],
            model=self.model,
        )

    def _outcome(self, ending: ProcessEnding) -> AttemptVerdict:
        if ending.cause in event_parsing.DECISIVE_ENDINGS:
            return event_parsing.verdict_from_ending(ending, self.stderr)
        if self.error:
            return self._failed_verdict()
        if self._has_succeeded():
            if self.denials:
                return AttemptVerdict(Outcome.PERMISSION_DENIED, as_line(f"refused: {self.denials[0]}"))
            return AttemptVerdict(Outcome.COMPLETED)
        return event_parsing.verdict_from_ending(ending, self.stderr)

    def _has_succeeded(self) -> bool:
        """Copilot prints no result while one of its background commands is still running, but its turn is over
        nevertheless."""
        if self.result:
            return as_number(self.result.get("exitCode")) == 0
        return self.is_idle

    def _failed_verdict(self) -> AttemptVerdict:
        kind = as_str(self.error.get("errorType"))
        outcome = _OUTCOME_BY_TYPE.get(kind) or outcome_for_status(self.error.get("statusCode"))
        message = as_line(self.error.get("message")) or as_line(kind) or "failed without a word"
        return AttemptVerdict(
            outcome, message, limit=UsageLimit(as_line(kind, 60) or "api") if outcome is Outcome.LIMIT else None
        )


PROGRAM = "copilot"

# For these programs Copilot matches subcommands such as `npm test`; for all others it only matches the name.
_SUBCOMMANDS = frozenset(
    "bundle cargo composer dotnet gh git go gradle gradlew mix mvn npm pip pnpm poetry yarn".split()
)


@dataclass(frozen=True)
class Copilot:
    name: str = "copilot"
    program: str = PROGRAM
    # COPILOT_GITHUB_TOKEN is included. It would also accept GH_TOKEN and GITHUB_TOKEN, but those are ours.
    variables: tuple[str, ...] = (
        *("COPILOT_GITHUB_TOKEN", "COPILOT_HOME", "COPILOT_MODEL", "COPILOT_OFFLINE", "COPILOT_PROVIDER_*"),
        *("COPILOT_GH_HOST", "COPILOT_CUSTOM_INSTRUCTIONS_DIRS"),
    )

    def call(self, request: AgentRequest) -> AgentCommand:
        """Without a terminal Copilot runs headless and reads the prompt from stdin. `--trust-folder` cannot be
        combined with a session id, and the project's skills are available without it."""
        argv = [PROGRAM, "--output-format=json", "--no-ask-user"]
        argv.append(f"--resume={request.resume}" if request.resume else f"--session-id={request.session}")
        if request.model:
            argv.append(f"--model={request.model}")
        # An update during an unattended run would replace the client.
        return AgentCommand(
            (*argv, *_tool_rules(request.permissions)), request.prompt, {"COPILOT_AUTO_UPDATE": "false"}
        )

    def judge(self, events: Iterable[Event], ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        return CopilotEvents.of(events).verdict(ending, prior_spend)

    def format_event(self, event: Event) -> list[str]:
        if event.kind != JSON or not isinstance(event.data, dict):
            return format_plain_event(event)
        data = get_dict(event.data, "data")
        match event.data.get("type"):
            case "assistant.message":
                return format_prose(as_str(data.get("content")))
            case "tool.execution_start":
                return [format_tool_call(data.get("toolName"), get_dict(data, "arguments"))]
            case "tool.execution_complete" if data.get("success") is False:
                return [format_failure(get_dict(data, "error").get("message"))]
            case "assistant.turn_retry":
                return [f"retry: {as_line(data.get('reason'), MAX_LINE)}"]
            case "session.error":
                return [f"failed: {as_line(data.get('message'), MAX_LINE)}"]
            case "result":
                return [_format_result(event.data)]
        return []


COPILOT = Copilot()


def _tool_rules(permissions: Permissions) -> list[str]:
    """A rule with more words than Copilot compares never matches. So `make check` allows all of make, which runs
    the project's own code anyway, but `git branch --list` does not allow `git branch`: read-only commands pass
    without a rule. `uv publish` cannot be denied without denying uv, and is not. Exact denials also apply under a
    bypass."""
    exact = [command for command in normalize_commands("Copilot", permissions.denied) if _stem(command) == command]
    denied = [f"--deny-tool=shell({command}:*)" for command in exact]
    if permissions.bypass:
        return ["--allow-all-tools", *denied]
    named = [(command, _stem(command)) for command in normalize_commands("Copilot", permissions.commands)]
    stems = [stem for command, stem in named if stem == command or not stem.startswith("git ")]
    rules = ("write", *(f"shell({stem}:*)" for stem in stems), *user_rules("Copilot", permissions.rules))
    return [*(f"--allow-tool={rule}" for rule in dict.fromkeys(rules)), *denied]


def _stem(command: str) -> str:
    """`npm run lint` → `npm run`, `make check` → `make`."""
    words = command.split()
    return " ".join(words[: 2 if words[0] in _SUBCOMMANDS else 1])


def _format_result(data: dict[str, object]) -> str:
    usage = get_dict(data, "usage")
    code, seconds = data.get("exitCode"), (as_number(usage.get("sessionDurationMs")) or 0.0) / 1000
    word = "completed" if code == 0 else f"failed (exit code {as_line(str(code), 20)})"
    return f"{word}: {as_count(usage.get('premiumRequests'))} premium requests, {seconds:.0f} s"
