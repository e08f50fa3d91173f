"""Claude Code: `claude -p` with a stream of JSON events. Measured with 2.1.325."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
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
    SkillGuard,
    Spend,
    Tokens,
    UsageLimit,
)
from .command_rules import normalize_commands, user_rules
from .event_parsing import (
    EventAccumulator,
    as_count,
    as_line,
    as_list,
    as_number,
    as_str,
    format_failure,
    format_plain_event,
    format_prose,
    format_time,
    format_tool_call,
    get_dict,
    outcome_for_status,
    summarize_input,
)
from .shim import attempt_files

# Readable lines for the live view.

MAX_LINE_LENGTH = 300
MAX_BLOCKS = 50


def format_claude_event(event: Event) -> list[str]:
    return [line[:MAX_LINE_LENGTH] for line in _format_event(event)]


def _format_event(event: Event) -> list[str]:
    if event.kind != JSON or not isinstance(event.data, dict):
        return format_plain_event(event)
    data = event.data
    match data.get("type"), data.get("subtype"):
        case "system", "init":
            return [_format_init(data)]
        case "system", "api_retry":
            return [_format_retry(data)]
        case "assistant" | "user", _:
            indent = "" if data.get("parent_tool_use_id") is None else "  "  # a subagent's
            return [indent + line for line in _format_blocks(data)]
        case "rate_limit_event", _:
            return _format_limit(get_dict(data, "rate_limit_info"))
        case "result", _:
            return [_format_result(data)]
    return []


def _format_init(data: dict[str, Any]) -> str:
    version, model = (as_line(data.get(key), 60) for key in ("claude_code_version", "model"))
    return f"Claude Code {version}  {model}  session {as_line(data.get('session_id'), 60)}"


def _format_retry(data: dict[str, Any]) -> str:
    what = f"{as_count(data.get('error_status')) or 'no answer'} {as_line(data.get('error'), 60)}"
    wait = (as_number(data.get("retry_delay_ms")) or 0.0) / 1000
    return f"retry {as_count(data.get('attempt'))} of {as_count(data.get('max_retries'))} in {wait:.1f} s: {what}"


def _format_blocks(data: dict[str, Any]) -> list[str]:
    found: list[str] = []
    for block in map(get_dict, as_list(get_dict(data, "message").get("content"))[:MAX_BLOCKS]):
        match block.get("type"):
            case "text" if data.get("type") == "assistant":
                found += format_prose(as_str(block.get("text")))
            case "tool_use":
                found.append(format_tool_call(block.get("name"), get_dict(block, "input")))
            case "tool_result" if block.get("is_error") is True:
                found.append(format_failure(_tool_result_text(block.get("content"))))
    return found


def _tool_result_text(content: object) -> str:
    """The text of a tool's result, which is a string or a list of blocks."""
    if isinstance(content, str):
        return content
    return next((text for block in as_list(content) if (text := as_str(get_dict(block).get("text")))), "")


def _format_limit(info: dict[str, Any]) -> list[str]:
    status = info.get("status")
    if status not in ("rejected", "allowed_warning"):
        return []
    kind, used = as_line(info.get("rateLimitType"), 60), as_number(info.get("utilization"))
    word = "limit reached" if status == "rejected" else "limit near"
    share = "" if used is None else f", {used:.0%} used"
    resets = format_time(info.get("resetsAt"))
    return [f"{word}: {kind or 'unknown'}{share}{f', resets {resets}' if resets else ''}"]


def _format_result(data: dict[str, Any]) -> str:
    reason = as_line(data.get("terminal_reason"), 60) or as_line(data.get("subtype"), 60) or "ended"
    word = f"failed ({reason})" if data.get("is_error") is not False else reason
    turns, seconds = as_count(data.get("num_turns")), (as_number(data.get("duration_ms")) or 0.0) / 1000
    cost = as_number(data.get("total_cost_usd"))
    dollars = "" if cost is None else f", ${cost:.2f} so far"
    return f"{word}: {turns} {'turn' if turns == 1 else 'turns'}{dollars}, {seconds:.0f} s"


# The verdict, from structured fields only. A limit message quoted in an answer, a file or a command's output has
# no effect.

_USAGE_KEY = "model_usage_since_last_result"
_MAX_RESULTS = 1000
_MAX_DOLLARS = 1_000_000.0

_OUTCOME_BY_REASON = {
    "error_max_turns": Outcome.MAX_TURNS,
    "max_turns": Outcome.MAX_TURNS,
    "error_max_budget_usd": Outcome.BUDGET,
    "budget_exhausted": Outcome.BUDGET,
    "prompt_too_long": Outcome.PROMPT_TOO_LONG,
}
# The client's names for API errors (`error` of its last message), then the API's own.
_OUTCOME_BY_ERROR = {
    "billing_error": Outcome.BILLING,  # comes with a 400, like many other errors
    "authentication_failed": Outcome.AUTH,  # also without a status: the user is not logged in
    "oauth_org_not_allowed": Outcome.AUTH,
    "rate_limit": Outcome.LIMIT,
    "model_not_found": Outcome.MISCONFIGURED,
    "authentication_error": Outcome.AUTH,
    "permission_error": Outcome.AUTH,
    "rate_limit_error": Outcome.LIMIT,
    "overloaded_error": Outcome.OVERLOADED,
    "usage_limit_reached": Outcome.LIMIT,
    "connection_failed": Outcome.NETWORK,
}


@dataclass
class ClaudeEvents(EventAccumulator):
    """Accumulates what a verdict needs from one call's events."""

    init: dict[str, Any] = field(default_factory=dict)
    results: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""  # of the conversation's last message
    rejected: dict[str, Any] = field(default_factory=dict)  # the last limit rejection, until a message succeeds
    has_running_subagents: bool = False  # subagents are still running in the background
    session: str | None = None
    retry_status: object = None  # the HTTP status that the client is currently retrying

    def add_json(self, data: dict[str, Any]) -> None:
        self.session = event_parsing.as_session_id(data.get("session_id")) or self.session
        match data.get("type"), data.get("subtype"):
            case "system", "init":
                self.init = data
            case "system", "background_tasks_changed":
                self.has_running_subagents = any(_is_subagent(task) for task in as_list(data.get("tasks")))
            case "system", "api_retry":
                self.retry_status = data.get("error_status")
            case "assistant", _:
                self.retry_status = None
                self._add_message(data)
            case "rate_limit_event", _:
                self._add_limit(get_dict(data, "rate_limit_info"))
            case "result", _:
                self.results[_MAX_RESULTS - 1 :] = [data]

    def _add_message(self, data: dict[str, Any]) -> None:
        error = as_str(data.get("error"))
        if data.get("parent_tool_use_id") is None:
            self.error = error
        if not error:
            self.rejected = {}

    def _add_limit(self, info: dict[str, Any]) -> None:
        if info.get("status") == "rejected":
            self.rejected = info

    # -- verdict

    def verdict(self, ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        verdict = self._outcome(ending)
        last = self.results[-1] if self.results else {}
        return replace(
            verdict,
            session=self.session,
            spend=self._spend(prior_spend),
            session_spend=_session_spend(last),
            turns=sum(as_count(result.get("num_turns")) for result in self.results) if self.results else None,
            denials=self._denials(),
            closing=as_str(last.get("result"))[: event_parsing.MAX_CLOSING],
            model=as_line(self.init.get("model"), 100) or None,
            version=as_line(self.init.get("claude_code_version"), 100) or None,
        )

    def _outcome(self, ending: ProcessEnding) -> AttemptVerdict:
        if ending.cause in event_parsing.DECISIVE_ENDINGS:
            return event_parsing.verdict_from_ending(ending, self.stderr)
        if not self.results:
            return self._without_result(ending)
        last = self.results[-1]
        if _succeeded(last):
            return self._success(ending)
        outcome = _failure_outcome(last, self.error)
        if outcome is Outcome.LIMIT:
            return AttemptVerdict(outcome, _message(last), limit=self._limit())
        if outcome is Outcome.CRASHED and ending.cause != attempt_files.EXIT:
            return event_parsing.verdict_from_ending(
                ending, self.stderr
            )  # its last event only says that it was interrupted
        return AttemptVerdict(outcome, _message(last) or as_line(event_parsing.first_nonempty_line(self.stderr)))

    def _success(self, ending: ProcessEnding) -> AttemptVerdict:
        """A success result counts however the process ended afterwards, unless subagents were still running: then
        the result was not final."""
        if self.has_running_subagents and (ending.cause != attempt_files.EXIT or ending.code != 0):
            return event_parsing.verdict_from_ending(ending, self.stderr)
        denials = self._denials()
        if denials:
            return AttemptVerdict(Outcome.PERMISSION_DENIED, as_line(f"refused: {denials[0]}"))
        return AttemptVerdict(Outcome.COMPLETED)

    def _without_result(self, ending: ProcessEnding) -> AttemptVerdict:
        if self.rejected:
            return AttemptVerdict(Outcome.LIMIT, "refused by a usage limit", limit=self._limit())
        verdict = event_parsing.verdict_from_ending(ending, self.stderr)
        if self.retry_status is not None and verdict.outcome in (Outcome.TIMED_OUT, Outcome.STALLED):
            # The client retried until it was stopped, so the retried status is the real cause.
            outcome = outcome_for_status(self.retry_status)
            message = f"the API answered {as_line(str(self.retry_status), 20)} until it was stopped"
            return AttemptVerdict(outcome, message, limit=UsageLimit("api") if outcome is Outcome.LIMIT else None)
        return verdict

    def _limit(self) -> UsageLimit:
        if not self.rejected:
            return UsageLimit("api")  # the API key's own limit, which resets within minutes and does not say when
        resets_at = as_number(self.rejected.get("resetsAt"))
        known = resets_at is not None and 0 < resets_at < event_parsing.MAX_TIMESTAMP
        return UsageLimit(
            as_line(self.rejected.get("rateLimitType"), 60) or "unknown", resets_at if known else None
        )

    def _denials(self) -> tuple[str, ...]:
        found = [_denial(one) for result in self.results for one in as_list(result.get("permission_denials"))]
        return tuple(dict.fromkeys(text for text in found if text))[: event_parsing.MAX_LISTED]

    def _spend(self, prior_spend: Spend) -> Spend:
        """`total_cost_usd` includes the resumed conversation; the usage since the last result does not."""
        if any(_USAGE_KEY in result for result in self.results):
            return _sum(_usage(get_dict(result, _USAGE_KEY)) for result in self.results)
        last = self.results[-1] if self.results else {}
        total = _dollars(last.get("total_cost_usd"))
        dollars = None if total is None else max(0.0, total - (prior_spend.dollars or 0.0))
        return replace(_sum(Spend(0.0, _tokens(get_dict(one, "usage"))) for one in self.results), dollars=dollars)


def _succeeded(result: dict[str, Any]) -> bool:
    """A refused call also has the subtype "success", and an interrupted one exits with 0."""
    reason = result.get("terminal_reason")  # absent in older versions and after one of the client's own commands
    return result.get("subtype") == "success" and result.get("is_error") is False and reason in (None, "completed")


def _failure_outcome(result: dict[str, Any], error: str) -> Outcome:
    reason = as_str(result.get("terminal_reason"))
    for word in (as_str(result.get("subtype")), reason):
        if word in _OUTCOME_BY_REASON:
            return _OUTCOME_BY_REASON[word]
    if reason not in ("", "api_error"):
        return Outcome.CRASHED
    for word in (error, as_str(result.get("api_error")), as_str(result.get("api_error_type"))):
        if word in _OUTCOME_BY_ERROR:
            return _OUTCOME_BY_ERROR[word]
    status = result.get("api_error_status")
    return Outcome.NETWORK if status is None and error == "server_error" else outcome_for_status(status)


def _message(result: dict[str, Any]) -> str:
    return as_line(result.get("result")) or as_line(
        event_parsing.first_nonempty_line(map(as_str, as_list(result.get("errors"))))
    )


def _denial(denial: object) -> str:
    """`Bash: git push origin main`."""
    tool = as_line(get_dict(denial).get("tool_name"), 60)
    return f"{tool}: {what}" if tool and (what := summarize_input(get_dict(denial, "tool_input"))) else tool


def _is_subagent(task: object) -> bool:
    """A background command, such as a development server, is not a subagent."""
    return isinstance(task, dict) and task.get("task_type") != "local_bash"


def _session_spend(result: dict[str, Any]) -> Spend:
    return replace(_usage(get_dict(result, "modelUsage")), dollars=_dollars(result.get("total_cost_usd")))


def _usage(models: dict[str, Any]) -> Spend:
    """The sum over all models, including those of subagents."""
    parts = [get_dict(part) for part in models.values()]
    return _sum(Spend(_dollars(part.get("costUSD")), _model_tokens(part)) for part in parts)


def _dollars(value: object) -> float | None:
    found = as_number(value)
    return found if found is not None and 0 <= found < _MAX_DOLLARS else None


def _sum(spends: Iterable[Spend]) -> Spend:
    return reduce(event_parsing.add_spend, spends, Spend(0.0))


def _model_tokens(part: dict[str, Any]) -> Tokens:
    names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    return Tokens(*(as_count(part.get(name)) for name in names))


def _tokens(usage: dict[str, Any]) -> Tokens:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Tokens(*(as_count(usage.get(name)) for name in names))


_CLIENT = "Claude Code"

_INIT = {"type": "system", "subtype": "init"}

# What BMAD skills need beyond acceptEdits (which allows edits in the work tree, reading commands, other skills and
# subagents): their own files if installed in the user's home, and web search for create-story.
_ALWAYS_ALLOWED = ("Read(~/.claude/skills/**)", "WebSearch")

# Not offered unless the user's rules name them. A tool that is offered and then refused ruins the whole call.
_WITHHELD = (
    "EnterWorktree",  # allowed without approval, and moves the work to another work tree
    *("ScheduleWakeup", "CronCreate", "Monitor"),  # `claude -p` prints its result, then waits for them
    *("WebFetch", "Workflow"),  # refused under acceptEdits
)

_ENVIRONMENT = {
    # Otherwise subagents run in the background, each of them ends with a further result, and a development
    # server keeps the call alive forever.
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    # A command over its timeout (two minutes by default) is then killed instead of moved to the background.
    "BASH_DEFAULT_TIMEOUT_MS": "600000",
}

# Listed by name: inside Claude Code the environment has CLAUDE_CODE_SESSION_ID, a messaging socket and its token.
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

    def call(self, request: AgentRequest) -> AgentCommand:
        """The prompt is passed on stdin: skills expand there too, and a single argument is limited to 128 kB."""
        mode = "bypassPermissions" if request.permissions.bypass else "acceptEdits"
        argv = [self.program, "-p", "--output-format", "stream-json", "--verbose", "--permission-mode", mode]
        # The client refuses a session id that is in use before the first event: a resumed call gives it only once.
        argv += ["--resume", request.resume] if request.resume else ["--session-id", request.session]
        if request.model:
            argv += ["--model", request.model]
        if request.max_dollars is not None:
            argv += ["--max-budget-usd", f"{max(request.max_dollars, 0.0001):.4f}"]  # for this call only
        if request.scratch:
            argv += ["--add-dir", request.scratch]  # without it, writing there is refused
        argv += ["--allowedTools", *_allowed(request.permissions)]
        argv += ["--disallowedTools", *_denied(request.permissions)]
        guard = SkillGuard(_INIT, ("skills", "slash_commands"), request.skill) if request.skill else None
        return AgentCommand(tuple(argv), request.prompt, _ENVIRONMENT, guard)

    def judge(self, events: Iterable[Event], ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        return ClaudeEvents.of(events).verdict(ending, prior_spend)

    def format_event(self, event: Event) -> list[str]:
        return format_claude_event(event)


CLAUDE = Claude()


def _allowed(permissions: Permissions) -> list[str]:
    return [*_ALWAYS_ALLOWED, *_bash_rules(permissions.commands), *_checked_rules(permissions.rules)]


def _denied(permissions: Permissions) -> list[str]:
    named = {rule.partition("(")[0].strip() for rule in permissions.rules}
    return [*(tool for tool in _WITHHELD if tool not in named), *_bash_rules(permissions.denied)]


def _bash_rules(commands: tuple[str, ...]) -> list[str]:
    """`git commit` → `Bash(git commit:*)`, which also matches after a `cd` or a variable and before a pipe."""
    return [f"Bash({form}:*)" for command in normalize_commands(_CLIENT, commands) for form in _spellings(command)]


def _spellings(command: str) -> tuple[str, ...]:
    """Rules are compared literally, and BMAD's skills write script paths both with and without quotes."""
    start, space, last = command.rpartition(" ")
    return (command, f'{start} "{last}"') if space and "/" in last and '"' not in last else (command,)


def _checked_rules(rules: tuple[str, ...]) -> list[str]:
    found = user_rules(_CLIENT, rules)
    for rule in found:
        if rule.startswith("-"):  # the client would parse it as an option
            raise UsageError(f"this is no rule of {_CLIENT}'s", found=rule, expected="such as `Bash(make:*)`")
    return found
