"""Copilot CLI: headless, with a stream of JSON events. Measured with 1.0.102."""

from collections.abc import Iterable
from dataclasses import dataclass

from .command_rules import own_rules, plain
from .copilot_verdict import Heard
from .events import JSON, Event
from .judging import clip, count, mapping, number, plain_lines, string
from .outcomes import Spend, Verdict
from .protocol import Call, Ending, Permissions, Request
from .telling import MAX_LINE, failed, prose, tool

PROGRAM = "copilot"

# Of these it tells the subcommands apart and matches `npm test`; of any other program it knows the name alone.
_SUBCOMMANDS = frozenset(
    "bundle cargo composer dotnet gh git go gradle gradlew mix mvn npm pip pnpm poetry yarn".split()
)


@dataclass(frozen=True)
class Copilot:
    name: str = "copilot"
    program: str = PROGRAM
    # COPILOT_GITHUB_TOKEN is among them: GH_TOKEN and GITHUB_TOKEN, which it would also take, are ours.
    variables: tuple[str, ...] = (
        *("COPILOT_GITHUB_TOKEN", "COPILOT_HOME", "COPILOT_MODEL", "COPILOT_OFFLINE", "COPILOT_PROVIDER_*"),
        *("COPILOT_GH_HOST", "COPILOT_CUSTOM_INSTRUCTIONS_DIRS"),
    )

    def call(self, request: Request) -> Call:
        """Without a terminal it is headless by itself, and the prompt goes in on stdin. `--trust-folder` cannot
        be given together with a session's name, and the project's skills are there without it."""
        argv = [PROGRAM, "--output-format=json", "--no-ask-user"]
        argv.append(f"--resume={request.resume}" if request.resume else f"--session-id={request.session}")
        if request.model:
            argv.append(f"--model={request.model}")
        # An update in the middle of a night's work would be another client.
        return Call((*argv, *_tools(request.permissions)), request.prompt, {"COPILOT_AUTO_UPDATE": "false"})

    def judge(self, events: Iterable[Event], ending: Ending, before: Spend) -> Verdict:
        return Heard.of(events).verdict(ending, before)

    def lines(self, event: Event) -> list[str]:
        if event.kind != JSON or not isinstance(event.data, dict):
            return plain_lines(event)
        data = mapping(event.data, "data")
        match event.data.get("type"):
            case "assistant.message":
                return prose(string(data.get("content")))
            case "tool.execution_start":
                return [tool(data.get("toolName"), mapping(data, "arguments"))]
            case "tool.execution_complete" if data.get("success") is False:
                return [failed(mapping(data, "error").get("message"))]
            case "assistant.turn_retry":
                return [f"retry: {clip(data.get('reason'), MAX_LINE)}"]
            case "session.error":
                return [f"failed: {clip(data.get('message'), MAX_LINE)}"]
            case "result":
                return [_result(event.data)]
        return []


COPILOT = Copilot()


def _tools(permissions: Permissions) -> list[str]:
    """A rule longer than what Copilot tells apart never fits. So `make check` allows all of make, which runs the
    project's own code in any case, but `git branch --list` does not allow `git branch`: commands that only read
    pass by themselves. `uv publish` cannot be denied without uv, and is not. What can be is, also by a bypass."""
    exact = [command for command in plain("Copilot", permissions.denied) if _stem(command) == command]
    denied = [f"--deny-tool=shell({command}:*)" for command in exact]
    if permissions.bypass:
        return ["--allow-all-tools", *denied]
    named = [(command, _stem(command)) for command in plain("Copilot", permissions.commands)]
    stems = [stem for command, stem in named if stem == command or not stem.startswith("git ")]
    rules = ("write", *(f"shell({stem}:*)" for stem in stems), *own_rules("Copilot", permissions.rules))
    return [*(f"--allow-tool={rule}" for rule in dict.fromkeys(rules)), *denied]


def _stem(command: str) -> str:
    """`npm run lint` → `npm run`, `make check` → `make`."""
    words = command.split()
    return " ".join(words[: 2 if words[0] in _SUBCOMMANDS else 1])


def _result(data: dict[str, object]) -> str:
    usage = mapping(data, "usage")
    code, seconds = data.get("exitCode"), (number(usage.get("sessionDurationMs")) or 0.0) / 1000
    word = "completed" if code == 0 else f"failed (exit code {clip(str(code), 20)})"
    return f"{word}: {count(usage.get('premiumRequests'))} premium requests, {seconds:.0f} s"
