"""Codex: `codex exec --json`. Measured with 0.166.0."""

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from . import event_parsing
from .adapter import (
    JSON,
    SESSION_LOG,
    AgentCommand,
    AgentRequest,
    AttemptVerdict,
    Event,
    Outcome,
    ProcessEnding,
    Spend,
    Tokens,
    UsageLimit,
)
from .command_rules import user_rules
from .event_parsing import (
    MAX_LINE,
    EventAccumulator,
    as_count,
    as_line,
    as_list,
    as_number,
    as_str,
    format_failure,
    format_plain_event,
    format_prose,
    get_dict,
    outcome_for_status,
)
from .shim import attempt_files
from .shim.attempt_files import SAFE_OPEN

# Codex's session log in CODEX_HOME, the only source for the kind of a failure. It is read after the call has
# ended; behind a launcher it is on another machine and cannot be read.

MAX_TAIL = 1024 * 1024  # the last lines tell how a turn ended
MAX_ENTRIES = 2000  # of one folder
MAX_DAYS = 400

_THREAD = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_LOGGED_TYPES = ("task_complete", "token_count")


def append_session_log(events: Iterable[Event], since: float, environment: Mapping[str, str]) -> Iterator[Event]:
    """Yield the events of an ended call, then the session log's entries for their thread from `since` (seconds
    since 1970) on. A missing log is never an error."""
    thread = ""
    for event in events:
        if event.kind == JSON and get_dict(event.data).get("type") == "thread.started":
            thread = as_str(event.data.get("thread_id"))
        yield event
    path = _find_log(_sessions(environment), thread) if _THREAD.fullmatch(thread) else None
    for payload in _payloads(_read_tail(path), since) if path else ():
        yield Event(0.0, SESSION_LOG, payload)


def _sessions(environment: Mapping[str, str]) -> str:
    home = environment.get("CODEX_HOME") or os.path.join(environment.get("HOME", "/"), ".codex")
    return os.path.join(home, "sessions")


def _find_log(sessions: str, thread: str) -> str | None:
    """`2026/11/16/rollout-2026-11-16T00-17-29-THREAD.jsonl`, under the day the conversation began."""
    days = (
        f"{sessions}/{year}/{month}/{day}"
        for year in _newest(sessions)
        for month in _newest(f"{sessions}/{year}")
        for day in _newest(f"{sessions}/{year}/{month}")
    )
    for _, folder in zip(range(MAX_DAYS), days, strict=False):
        for name in _newest(folder):
            if name.startswith("rollout-") and name.endswith(f"-{thread}.jsonl"):
                return f"{folder}/{name}"
    return None


def _newest(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False)]
    except OSError:
        return []
    return sorted(names, reverse=True)


def _read_tail(path: str) -> list[bytes]:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | SAFE_OPEN), "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - MAX_TAIL))
            return file.read(MAX_TAIL).split(b"\n")
    except OSError:
        return []


def _payloads(lines: list[bytes], since: float) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            continue
        payload = get_dict(record, "payload")
        is_event = get_dict(record).get("type") == "event_msg" and payload.get("type") in _LOGGED_TYPES
        if is_event and _timestamp(as_str(record.get("timestamp"))) >= since:
            yield payload


def _timestamp(text: str) -> float:
    """Parse `2026-11-16T00:16:57.809Z`; 0 if it is not a time."""
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0


# The verdict. `codex exec --json` reports every failure, from a wrong key to a usage limit, as a sentence only.
# The session log has the kind (`codex_error_info`), the status, and the time when a limit resets.

_USAGE_ERROR = 2  # the exit code of its option parser

_OUTCOME_BY_KIND = {
    "usage_limit_exceeded": Outcome.LIMIT,  # a plan's window or an API key's quota: Codex does not say which
    "rate_limit_exceeded": Outcome.LIMIT,
    "server_overloaded": Outcome.OVERLOADED,
    "internal_server_error": Outcome.OVERLOADED,
    "unauthorized": Outcome.AUTH,
    "context_window_exceeded": Outcome.PROMPT_TOO_LONG,
    "session_budget_exceeded": Outcome.BUDGET,
    "model_not_found": Outcome.MISCONFIGURED,
    "too_many_denials": Outcome.PERMISSION_DENIED,
}
# For these kinds the HTTP status decides; without one, the server did not answer.
_HTTP_KINDS = (
    *("http_connection_failed", "response_stream_connection_failed"),
    *("response_stream_disconnected", "response_too_many_failed_attempts"),
)


@dataclass
class CodexEvents(EventAccumulator):
    """Accumulates what a verdict needs from one call's events."""

    session: str | None = None
    completed: bool = False
    failure: str | None = None  # the message of the last failed turn
    last_error: str = ""  # the last error that it announced to retry
    closing: str = ""
    usage: dict[str, Any] = field(default_factory=dict)  # of the whole conversation
    denials: list[str] = field(default_factory=list)
    session_error: dict[str, Any] = field(default_factory=dict)  # the error of the last turn in the session log
    rate_limits: dict[str, Any] = field(default_factory=dict)  # its usage limits, as last reported
    has_events: bool = False

    def add_event(self, event: Event) -> None:
        super().add_event(event)
        if event.kind == SESSION_LOG and isinstance(event.data, dict):
            self._add_log_entry(event.data)

    def add_json(self, data: dict[str, Any]) -> None:
        self.has_events = True
        match data.get("type"):
            case "thread.started":
                self.session = event_parsing.as_session_id(data.get("thread_id"))
            case "turn.started":
                self.completed, self.failure = False, None
            case "turn.completed":
                self.completed, self.usage = True, get_dict(data, "usage")
            case "turn.failed":
                self.completed = False
                self.failure = as_str(get_dict(data, "error").get("message"))
            case "error":
                self.last_error = as_line(data.get("message"))
            case "item.completed":
                self._add_item(get_dict(data, "item"))

    def _add_item(self, item: dict[str, Any]) -> None:
        if item.get("type") == "agent_message":
            self.closing = as_str(item.get("text"))
        elif item.get("status") == "declined":
            self.denials.append(as_line(f"{as_str(item.get('type'))} {as_str(item.get('command'))}"))

    def _add_log_entry(self, data: dict[str, Any]) -> None:
        match data.get("type"):
            case "task_complete":
                self.session_error = get_dict(data, "error")
            case "token_count":
                self.usage = get_dict(data, "info", "total_token_usage") or self.usage
                self.rate_limits = get_dict(data, "rate_limits") or self.rate_limits

    # -- verdict

    def verdict(self, ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        whole = _tokens(self.usage) if self.usage else prior_spend.tokens
        return replace(
            self._outcome(ending),
            session=self.session,
            spend=Spend(None, _subtract_tokens(prior_spend.tokens, whole)),
            session_spend=Spend(None, whole),
            denials=tuple(dict.fromkeys(self.denials))[: event_parsing.MAX_LISTED],
            closing=self.closing[: event_parsing.MAX_CLOSING],
        )

    def _outcome(self, ending: ProcessEnding) -> AttemptVerdict:
        if ending.cause in event_parsing.DECISIVE_ENDINGS:
            return event_parsing.verdict_from_ending(ending, self.stderr)
        if self.completed:
            if self.denials:
                return AttemptVerdict(Outcome.PERMISSION_DENIED, as_line(f"refused: {self.denials[0]}"))
            return AttemptVerdict(Outcome.COMPLETED)
        if self.failure is not None:
            return self._failed_verdict()
        return self._without_turn_end(ending)

    def _failed_verdict(self) -> AttemptVerdict:
        outcome, kind = _classify_error(self.session_error.get("codex_error_info"))
        limit = self._limit(kind) if outcome is Outcome.LIMIT else None
        return AttemptVerdict(outcome, as_line(self.failure) or "the turn failed", limit=limit)

    def _limit(self, kind: str) -> UsageLimit:
        """The exhausted window that resets last; Codex calls the two windows primary and secondary."""
        shut = [
            (as_number(window.get("resets_at")) or 0.0, name)
            for name in ("primary", "secondary")
            if (as_number((window := get_dict(self.rate_limits, name)).get("used_percent")) or 0.0) >= 100
        ]
        if kind != "usage_limit_exceeded" or not shut:
            return UsageLimit(kind)
        resets_at, name = max(shut)
        return UsageLimit(name, resets_at or None)

    def _without_turn_end(self, ending: ProcessEnding) -> AttemptVerdict:
        verdict = event_parsing.verdict_from_ending(ending, self.stderr)
        if not self.has_events and ending.cause == attempt_files.EXIT and ending.code == _USAGE_ERROR:
            return replace(verdict, outcome=Outcome.MISCONFIGURED)
        # Without a network Codex reconnects forever, and reports it.
        if verdict.outcome is Outcome.STALLED and self.last_error:
            return replace(verdict, message=as_line(f"{verdict.message}: {self.last_error}"))
        return verdict


def _classify_error(info: object) -> tuple[Outcome, str]:
    """`"usage_limit_exceeded"`, or `{"http_connection_failed": {"http_status_code": 401}}`."""
    name = info if isinstance(info, str) else next(iter(get_dict(info)), "")
    if name in _HTTP_KINDS:
        status = get_dict(info, name).get("http_status_code")
        return (Outcome.NETWORK, name) if status is None else (outcome_for_status(status), "api")
    return _OUTCOME_BY_KIND.get(name, Outcome.CRASHED), name


def _tokens(usage: dict[str, Any]) -> Tokens:
    """`input_tokens` includes what was read from the cache."""
    cached = as_count(usage.get("cached_input_tokens"))
    return Tokens(
        input=max(0, as_count(usage.get("input_tokens")) - cached),
        output=as_count(usage.get("output_tokens")),
        cache_read=cached,
        cache_write=as_count(usage.get("cache_write_input_tokens")),
    )


def _subtract_tokens(before: Tokens, whole: Tokens) -> Tokens:
    """The tokens of this call: Codex counts a resumed conversation from its beginning."""
    return Tokens(
        input=max(0, whole.input - before.input),
        output=max(0, whole.output - before.output),
        cache_read=max(0, whole.cache_read - before.cache_read),
        cache_write=max(0, whole.cache_write - before.cache_write),
    )


PROGRAM = "codex"


@dataclass(frozen=True)
class Codex:
    name: str = "codex"
    program: str = PROGRAM
    variables: tuple[str, ...] = ("CODEX_HOME", "CODEX_API_KEY", "OPENAI_*", "AZURE_OPENAI_*")

    def call(self, request: AgentRequest) -> AgentCommand:
        """Codex chooses the conversation's id itself (`thread.started`), so `request.session` is not used. Its
        command line has no budget and no list of allowed commands: its sandbox is the only protection. The sandbox
        keeps `.git` read-only and blocks the network, so the orchestrator commits.

        The prompt is passed on stdin, where `$skill` expands too. A user rule is a `-c KEY=VALUE` of its
        configuration, such as `sandbox_workspace_write.network_access=true`."""
        sandbox = "danger-full-access" if request.permissions.bypass else "workspace-write"
        argv = [PROGRAM, "exec", "--json", "-s", sandbox]
        if request.model:
            argv += ["-m", request.model]
        for rule in user_rules("Codex", request.permissions.rules):
            argv += ["-c", rule]
        if request.resume:
            argv += ["resume", request.resume]
        return AgentCommand((*argv, "-"), request.prompt)

    def append_session_log(
        self, events: Iterable[Event], since: float, environment: Mapping[str, str]
    ) -> Iterable[Event]:
        return append_session_log(events, since, environment)

    def judge(self, events: Iterable[Event], ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        """`events` may end with entries of Codex's session log: only those have the kind of a failure. Without
        them every failed turn is a crash with a message."""
        return CodexEvents.of(events).verdict(ending, prior_spend)

    def format_event(self, event: Event) -> list[str]:
        if event.kind != JSON or not isinstance(event.data, dict):
            return format_plain_event(event)
        data = event.data
        match data.get("type"):
            case "thread.started":
                return [f"Codex  thread {as_line(data.get('thread_id'), 60)}"]
            case "item.started" | "item.completed":
                return _format_item(get_dict(data, "item"), done=data["type"] == "item.completed")
            case "error":
                return [f"trouble: {as_line(data.get('message'), MAX_LINE)}"]
            case "turn.failed":
                return [f"failed: {as_line(get_dict(data, 'error').get('message'), MAX_LINE)}"]
            case "turn.completed":
                usage = get_dict(data, "usage")
                read, written = as_count(usage.get("input_tokens")), as_count(usage.get("output_tokens"))
                return [f"completed: {read} tokens in, {written} out so far"]
        return []


CODEX = Codex()


def _format_item(item: dict[str, object], done: bool) -> list[str]:
    match item.get("type"):
        case "agent_message" if done:
            return format_prose(as_str(item.get("text")))
        case "command_execution":
            if not done:
                return [f"command  {as_line(item.get('command'), MAX_LINE)}"]
            return (
                [format_failure(f"exit code {item.get('exit_code')}")] if item.get("status") != "completed" else []
            )
        case "file_change" if done:
            changes = [get_dict(change) for change in as_list(item.get("changes"))]
            return [
                f"{as_line(one.get('kind'), 20)}  {as_line(one.get('path'), MAX_LINE)}" for one in changes[:20]
            ]
        case "mcp_tool_call" if not done:
            return [f"{as_line(item.get('server'), 40)}  {as_line(item.get('tool'), 60)}"]
        case "web_search" if done:
            return [f"search  {as_line(item.get('query'), MAX_LINE)}"]
    return []  # items of type error are only remarks, such as on an unknown model
