"""opencode: `opencode run --format json`. Measured with 1.18.33."""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from ..core.errors import UsageError
from .command_rules import plain
from .events import JSON, Event
from .judging import clip, mapping, number, plain_lines, string
from .opencode_verdict import Heard
from .outcomes import Spend, Verdict
from .protocol import Call, Ending, Permissions, Request
from .telling import MAX_LINE, failed, prose, tool

PROGRAM = "opencode"

# A skill or command is an option of its own; a slash name in the prompt would reach the model as plain text.
_COMMAND = re.compile(r"--command (\w[\w.:/-]*)(?:\s(.*))?", re.DOTALL)


@dataclass(frozen=True)
class Opencode:
    name: str = "opencode"
    program: str = PROGRAM
    # The provider's own key, where it is not stored by `opencode auth login`.
    variables: tuple[str, ...] = (
        *("OPENCODE_CONFIG", "OPENCODE_CONFIG_DIR", "OPENCODE_CONFIG_CONTENT", "OPENCODE_API_KEY"),
        *("OPENCODE_DISABLE_*", "OPENCODE_ENABLE_*", "ANTHROPIC_*", "OPENAI_*", "AZURE_*", "OPENROUTER_API_KEY"),
        *("GEMINI_API_KEY", "GOOGLE_GENERATIVE_AI_API_KEY", "AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK"),
    )

    def call(self, request: Request) -> Call:
        """opencode names the conversation itself. What goes in on stdin is the message, or the arguments of
        `--command`: unlike an argument it is not put in quotes, and may be longer than 128 kB."""
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
        return Call(tuple(argv), prompt, {"OPENCODE_PERMISSION": json.dumps(_rules(request.permissions))})

    def judge(self, events: Iterable[Event], ending: Ending, before: Spend) -> Verdict:
        return Heard.of(events).verdict(ending, before)

    def lines(self, event: Event) -> list[str]:
        if event.kind != JSON or not isinstance(event.data, dict):
            return plain_lines(event)
        part = mapping(event.data, "part")
        match event.data.get("type"):
            case "text":
                return prose(string(part.get("text")))
            case "tool_use":
                state = mapping(part, "state")
                told = [tool(part.get("tool"), mapping(state, "input"))]
                return [*told, failed(state.get("error"))] if state.get("status") == "error" else told
            case "error":
                return [f"failed: {_trouble(mapping(event.data, 'error'))}"]
            case "step_finish" if part.get("reason") == "stop":
                cost = number(part.get("cost"))
                return [f"completed{f': ${cost:.2f} for the last step' if cost else ''}"]
        return []


OPENCODE = Opencode()


def _rules(permissions: Permissions) -> dict[str, Any]:
    """opencode allows everything unless told otherwise. The last rule that fits counts, so what is denied comes
    last. `deny` and not `ask`: with nobody there a question is refused and ends the turn, a denial does not."""
    rules: dict[str, Any] = {}
    if not permissions.bypass:
        known = _patterns(plain("opencode", permissions.commands), "allow")
        rules = {"bash": {"*": "deny", **known}, "external_directory": "deny"}
    for rule in permissions.rules:
        rules = _merge(rules, _own_rule(rule))
    denied = _patterns(plain("opencode", permissions.denied), "deny")
    if denied:
        shell = rules.get("bash", {})
        rules["bash"] = {**(shell if isinstance(shell, dict) else {"*": shell}), **denied}
    return rules


def _patterns(commands: Iterable[str], action: str) -> dict[str, str]:
    return {pattern: action for command in commands for pattern in (command, f"{command} *")}


def _own_rule(rule: str) -> dict[str, Any]:
    """`{"bash": {"make *": "allow"}, "webfetch": "deny"}`, as in opencode.json under `permission`."""
    try:
        found = json.loads(rule)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise UsageError("this is no rule of opencode's", found=rule, expected='JSON such as {"webfetch": "deny"}')
    return found


def _merge(rules: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    both = {key: {**rules[key], **more[key]} for key in more if _are_maps(rules.get(key), more[key])}
    return {**rules, **more, **both}


def _are_maps(*values: object) -> bool:
    return all(isinstance(value, dict) for value in values)


def _trouble(error: dict[str, Any]) -> str:
    data = mapping(error, "data")
    status = number(data.get("statusCode"))
    code = f" {status:.0f}" if status is not None else ""
    return f"{clip(error.get('name'), 40)}{code} {clip(data.get('message'), MAX_LINE)}"
