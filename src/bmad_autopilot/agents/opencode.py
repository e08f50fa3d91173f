"""opencode: `opencode run --format json`. Measured with 1.18.33."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

from ..core.errors import UsageError
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
from .command_rules import normalize_commands
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

# The verdict. An error does not always end the call: after a 529 opencode retries silently forever, after an
# overflow it continues. So the last event decides, and the stall limit ends a silent call.

_OUTCOME_BY_NAME = {
    "ProviderAuthError": Outcome.AUTH,
    "ContextOverflowError": Outcome.PROMPT_TOO_LONG,
}


@dataclass
class OpencodeEvents(EventAccumulator):
    """Accumulates what a verdict needs from one call's events."""

    session: str | None = None
    stop_reason: str = ""  # why the last step ended
    error: dict[str, Any] = field(default_factory=dict)  # if it was the last event
    error_at: float = 0.0
    refused_tool: str = ""  # the last tool, if it did not run
    closing: str = ""
    dollars: float = 0.0
    tokens: Tokens = field(default_factory=Tokens)
    steps: int = 0

    def add_json(self, data: dict[str, Any]) -> None:
        part = get_dict(data, "part")
        self.session = event_parsing.as_session_id(data.get("sessionID")) or self.session
        match data.get("type"):
            case "step_start":
                self.stop_reason, self.error, self.refused_tool = "", {}, ""
            case "text" if part.get("synthetic") is not True:  # synthetic: opencode's own message to the model
                self.closing = as_str(part.get("text"))
            case "tool_use":
                state = get_dict(part, "state")
                call = format_tool_call(part.get("tool"), get_dict(state, "input"))
                self.refused_tool = call if state.get("status") == "error" else ""
            case "step_finish":
                self._add_step(part)
            case "error":
                self.error = get_dict(data, "error")
                self.error_at = (as_number(data.get("timestamp")) or 0.0) / 1000

    def _add_step(self, part: dict[str, Any]) -> None:
        self.stop_reason = as_str(part.get("reason"))
        self.steps += 1
        self.dollars += max(0.0, as_number(part.get("cost")) or 0.0)
        used = get_dict(part, "tokens")
        self.tokens = Tokens(
            input=self.tokens.input + as_count(used.get("input")),
            output=self.tokens.output + as_count(used.get("output")) + as_count(used.get("reasoning")),
            cache_read=self.tokens.cache_read + as_count(get_dict(used, "cache").get("read")),
            cache_write=self.tokens.cache_write + as_count(get_dict(used, "cache").get("write")),
        )

    # -- verdict

    def verdict(self, ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        # It also reports 0 if it does not know the price.
        spend = Spend(self.dollars or None, self.tokens)
        verdict = self._outcome(ending)
        return replace(
            verdict,
            session=self.session,
            spend=spend,
            session_spend=event_parsing.add_spend(prior_spend, spend),
            turns=self.steps or None,
            denials=(self.refused_tool,) if verdict.outcome is Outcome.PERMISSION_DENIED else (),
            closing=self.closing[: event_parsing.MAX_CLOSING],
        )

    def _outcome(self, ending: ProcessEnding) -> AttemptVerdict:
        if ending.cause in event_parsing.DECISIVE_ENDINGS:
            return event_parsing.verdict_from_ending(ending, self.stderr)
        if self.error:
            return self._failed_verdict()
        if self.stop_reason == "stop":
            return AttemptVerdict(Outcome.COMPLETED)
        if self.stop_reason and (ending.cause, ending.code) == (attempt_files.EXIT, 0):
            return self._ended_early()
        return event_parsing.verdict_from_ending(ending, self.stderr)

    def _ended_early(self) -> AttemptVerdict:
        """opencode exits by itself after a tool call only if the tool needed approval."""
        if self.stop_reason == "tool-calls" and self.refused_tool:
            return AttemptVerdict(Outcome.PERMISSION_DENIED, as_line(f"refused: {self.refused_tool}"))
        return AttemptVerdict(Outcome.CRASHED, as_line(f"ended its turn early: {self.stop_reason}"))

    def _failed_verdict(self) -> AttemptVerdict:
        name, data = as_str(self.error.get("name")), get_dict(self.error, "data")
        message = as_line(data.get("message")) or as_line(name) or "failed without a word"
        status = as_number(data.get("statusCode"))
        if name in _OUTCOME_BY_NAME:
            return AttemptVerdict(_OUTCOME_BY_NAME[name], message)
        if name != "APIError":
            return AttemptVerdict(Outcome.CRASHED, message)
        if status is None:
            return AttemptVerdict(Outcome.NETWORK if data.get("isRetryable") is True else Outcome.CRASHED, message)
        outcome = outcome_for_status(status)
        headers = get_dict(data, "responseHeaders")
        limit = UsageLimit("api", self._resets_at(headers)) if outcome is Outcome.LIMIT else None
        return AttemptVerdict(outcome, message, limit=limit)

    def _resets_at(self, headers: dict[str, Any]) -> float | None:
        """`retry-after`, in seconds from the error's time; these APIs do not use its other form, a date."""
        after = as_str(headers.get("retry-after")).strip()
        if not (after.isascii() and after.isdigit() and len(after) < 8 and self.error_at):
            return None
        return self.error_at + int(after)


PROGRAM = "opencode"

# A skill or command is passed by option; a slash name in the prompt would reach the model as plain text.
_COMMAND = re.compile(r"--command (\w[\w.:/-]*)(?:\s(.*))?", re.DOTALL)


@dataclass(frozen=True)
class Opencode:
    name: str = "opencode"
    program: str = PROGRAM
    # Includes the provider's key, for users who do not store it with `opencode auth login`.
    variables: tuple[str, ...] = (
        *("OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT", "OPENCODE_API_KEY"),
        *("OPENCODE_DISABLE_*", "OPENCODE_ENABLE_*", "ANTHROPIC_*", "OPENAI_*", "AZURE_*", "OPENROUTER_API_KEY"),
        *("GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"),
    )

    def call(self, request: AgentRequest) -> AgentCommand:
        """opencode chooses the conversation's id itself. Standard input is the message, or the arguments of
        `--command`; unlike an argument it is not quoted, and may be longer than 128 kB."""
        argv = [PROGRAM, "run", "--format", "json"]
        if request.permissions.bypass:
            argv.append("--auto")
        if request.model:
            argv += ["-m", request.model]
        if request.resume:
            argv += ["-s", request.resume]
        prompt = request.prompt
        if command := _COMMAND.fullmatch(prompt):
            argv += ["--command", command[1]]
            prompt = command[2] or ""
        return AgentCommand(tuple(argv), prompt, {"OPENCODE_PERMISSION": json.dumps(_rules(request.permissions))})

    def judge(self, events: Iterable[Event], ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        return OpencodeEvents.of(events).verdict(ending, prior_spend)

    def format_event(self, event: Event) -> list[str]:
        if event.kind != JSON or not isinstance(event.data, dict):
            return format_plain_event(event)
        part = get_dict(event.data, "part")
        match event.data.get("type"):
            case "text":
                return format_prose(as_str(part.get("text")))
            case "tool_use":
                state = get_dict(part, "state")
                lines = [format_tool_call(part.get("tool"), get_dict(state, "input"))]
                return [*lines, format_failure(state.get("error"))] if state.get("status") == "error" else lines
            case "error":
                return [f"failed: {_format_error(get_dict(event.data, 'error'))}"]
            case "step_finish" if part.get("reason") == "stop":
                cost = as_number(part.get("cost"))
                return [f"completed{f': ${cost:.2f} for the last step' if cost else ''}"]
        return []


OPENCODE = Opencode()


def _rules(permissions: Permissions) -> dict[str, Any]:
    """opencode allows everything by default. The last matching rule wins, so denials come last. They use `deny`,
    not `ask`: without a user, a question is refused and ends the turn, while a denial does not."""
    rules: dict[str, Any] = {}
    if not permissions.bypass:
        known = _patterns(normalize_commands("opencode", permissions.commands), "allow")
        rules = {"bash": {"*": "deny", **known}, "external_directory": "deny"}
    for rule in permissions.rules:
        rules = _merge(rules, _parse_rule(rule))
    denied = _patterns(normalize_commands("opencode", permissions.denied), "deny")
    if denied:
        shell = rules.get("bash", {})
        rules["bash"] = {**(shell if isinstance(shell, dict) else {"*": shell}), **denied}
    return rules


def _patterns(commands: Iterable[str], action: str) -> dict[str, str]:
    return {pattern: action for command in commands for pattern in (command, f"{command} *")}


def _parse_rule(rule: str) -> dict[str, Any]:
    """`{"bash": {"make *": "allow"}, "webfetch": "deny"}`, as in opencode.json under `permission`."""
    try:
        found = json.loads(rule)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError("this is no rule of opencode's", found=rule, expected='JSON such as {"webfetch": "deny"}')
    return found


def _merge(rules: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    both = {key: {**rules[key], **more[key]} for key in more if _are_dicts(rules.get(key), more[key])}
    return {**rules, **more, **both}


def _are_dicts(*values: object) -> bool:
    return all(isinstance(value, dict) for value in values)


def _format_error(error: dict[str, Any]) -> str:
    data = get_dict(error, "data")
    status = as_number(data.get("statusCode"))
    code = f" {status:.0f}" if status is not None else ""
    return f"{as_line(error.get('name'), 40)}{code} {as_line(data.get('message'), MAX_LINE)}"
