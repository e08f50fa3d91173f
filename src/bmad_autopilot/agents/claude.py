"""Claude Code: `claude -p` with a stream of JSON events. Measured with 2.1.325."""

from collections.abc import Iterable
from dataclasses import dataclass

from ..core.errors import UsageError
from .claude_lines import lines_of
from .claude_verdict import Heard
from .command_rules import own_rules, plain
from .events import Event
from .outcomes import Spend, Verdict
from .protocol import Call, Ending, Guard, Permissions, Request

_CLIENT = "Claude Code"

_INIT = {"type": "system", "subtype": "init"}

# What a BMAD skill needs beyond acceptEdits (which brings edits in the work tree, reading commands, other skills
# and subagents): its own files where it is installed for the user, and create-story's web research.
_NEEDED = ("Read(~/.claude/skills/**)", "WebSearch")

# Not offered, unless the user's rules name them. A tool that is offered and then refused spoils a whole call.
_WITHHELD = (
    "EnterWorktree",  # allowed without asking, and the work lands in another work tree
    *("ScheduleWakeup", "CronCreate", "Monitor"),  # `claude -p` gives its result, then waits for them
    *("WebFetch", "Workflow"),  # refused under acceptEdits
)

_ENVIRONMENT = {
    # Else a subagent runs in the background, each that ends gives a further result, and a development server
    # keeps the call alive for ever.
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    # A command over its time (two minutes by default) is then killed instead of put in the background.
    "BASH_DEFAULT_TIMEOUT_MS": "600000",
}

# By name, because a call from inside Claude Code has CLAUDE_CODE_SESSION_ID, a messaging socket and its token.
_VARIABLES = (
    *("ANTHROPIC_*", "CLAUDE_CONFIG_DIR", "CLAUDE_CODE_OAUTH_TOKEN", "CLAUDE_CODE_API_KEY_HELPER_TTL_MS"),
    *("CLAUDE_CODE_USE_*", "CLAUDE_CODE_SKIP_*", "CLAUDE_CODE_MAX_*", "CLAUDE_CODE_DISABLE_*"),
    *("CLAUDE_CODE_CLIENT_*", "CLAUDE_CODE_SUBAGENT_MODEL", "CLAUDE_CODE_EFFORT_LEVEL"),
    *("AWS_REGION", "AWS_BEARER_TOKEN_BEDROCK", "CLOUD_ML_REGION", "VERTEX_REGION_*"),
    *("API_TIMEOUT_MS", "BASH_MAX_*", "MAX_THINKING_TOKENS", "MAX_MCP_OUTPUT_TOKENS", "MCP_*"),
    *("DISABLE_TELEMETRY", "DISABLE_ERROR_REPORTING", "DISABLE_AUTOUPDATER", "DISABLE_PROMPT_CACHING"),
)


@dataclass(frozen=True)
class Claude:
    name: str = "claude"
    program: str = "claude"
    variables: tuple[str, ...] = _VARIABLES

    def call(self, request: Request) -> Call:
        """The prompt goes in on stdin: a skill expands from there too, and one argument holds 128 kB at most."""
        mode = "bypassPermissions" if request.permissions.bypass else "acceptEdits"
        argv = [self.program, "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", mode]
        # A session id that is in use is refused before the first event, so a resumed call names it once.
        argv += ["--resume", request.resume] if request.resume else ["--session-id", request.session]
        if request.model:
            argv += ["--model", request.model]
        if request.max_dollars is not None:
            argv += ["--max-budget-usd", f"{max(request.max_dollars, 0.0001):.4f}"]  # of this call alone
        if request.scratch:
            argv += ["--add-dir", request.scratch]  # writing there is else refused
        argv += ["--allowedTools", *_allowed(request.permissions)]
        argv += ["--disallowedTools", *_denied(request.permissions)]
        guard = Guard(_INIT, ("skills", "slash_commands"), request.skill) if request.skill else None
        return Call(tuple(argv), request.prompt, _ENVIRONMENT, guard)

    def judge(self, events: Iterable[Event], ending: Ending, before: Spend) -> Verdict:
        return Heard.of(events).verdict(ending, before)

    def lines(self, event: Event) -> list[str]:
        return lines_of(event)


CLAUDE = Claude()


def _allowed(permissions: Permissions) -> list[str]:
    return [*_NEEDED, *_of_commands(permissions.commands), *_own(permissions.rules)]


def _denied(permissions: Permissions) -> list[str]:
    named = {rule.partition("(")[0].strip() for rule in permissions.rules}
    return [*(tool for tool in _WITHHELD if tool not in named), *_of_commands(permissions.denied)]


def _of_commands(commands: tuple[str, ...]) -> list[str]:
    """`git commit` → `Bash(git commit:*)`, which also covers it behind a `cd`, a variable and before a pipe."""
    return [f"Bash({form}:*)" for command in plain(_CLIENT, commands) for form in _forms(command)]


def _forms(command: str) -> tuple[str, ...]:
    """Rules are compared letter by letter, and BMAD's skills name their scripts with quotes and without."""
    start, space, last = command.rpartition(" ")
    return (command, f'{start} "{last}"') if space and "/" in last and '"' not in last else (command,)


def _own(rules: tuple[str, ...]) -> list[str]:
    found = own_rules(_CLIENT, rules)
    for rule in found:
        if rule.startswith("-"):  # it would be taken for the next option
            raise UsageError(f"this is no rule of {_CLIENT}'s", found=rule, expected="such as `Bash(make:*)`")
    return found
