"""What Codex's events and its own record say about how a call went.

`codex exec --json` tells a failure in a sentence alone, whether it is a wrong key or a usage limit. Its record of
the conversation has the kind (`codex_error_info`), the status, and when a limit resets."""

from dataclasses import dataclass, field, replace
from typing import Any

from . import judging
from .events import RECORD, Event
from .hearing import Hearing
from .judging import clip, count, mapping, number, string
from .outcomes import Limit, Outcome, Spend, Tokens, Verdict
from .protocol import Ending
from .refusals import by_status
from .shim import endings

_USAGE_ERROR = 2  # what its option parser ends with

_BY_KIND = {
    "usage_limit_exceeded": Outcome.LIMIT,  # a plan's window, or an API key's quota: it does not say which
    "rate_limit_exceeded": Outcome.LIMIT,
    "server_overloaded": Outcome.OVERLOADED,
    "internal_server_error": Outcome.OVERLOADED,
    "unauthorized": Outcome.AUTH,
    "context_window_exceeded": Outcome.PROMPT_TOO_LONG,
    "session_budget_exceeded": Outcome.BUDGET,
    "model_not_found": Outcome.MISCONFIGURED,
    "too_many_denials": Outcome.PERMISSION_DENIED,
}
# Of these the status tells more; without one nobody answered.
_OVER_HTTP = (
    *("http_connection_failed", "response_stream_connection_failed"),
    *("response_stream_disconnected", "response_too_many_failed_attempts"),
)


@dataclass
class Heard(Hearing):
    """Everything that matters of one call's events, taken in one by one."""

    session: str | None = None
    completed: bool = False
    failure: str | None = None  # the message of the last failed turn
    trouble: str = ""  # the last thing it said it would try again
    closing: str = ""
    usage: dict[str, Any] = field(default_factory=dict)  # of the whole conversation
    denials: list[str] = field(default_factory=list)
    recorded: dict[str, Any] = field(default_factory=dict)  # the error of the last turn in its record
    windows: dict[str, Any] = field(default_factory=dict)  # its usage limits, as it last knew them
    spoken: bool = False

    def hear(self, event: Event) -> None:
        super().hear(event)
        if event.kind == RECORD and isinstance(event.data, dict):
            self._take_record(event.data)

    def take(self, data: dict[str, Any]) -> None:
        self.spoken = True
        match data.get("type"):
            case "thread.started":
                self.session = judging.session(data.get("thread_id"))
            case "turn.started":
                self.completed, self.failure = False, None
            case "turn.completed":
                self.completed, self.usage = True, mapping(data, "usage")
            case "turn.failed":
                self.completed = False
                self.failure = string(mapping(data, "error").get("message"))
            case "error":
                self.trouble = clip(data.get("message"))
            case "item.completed":
                self._take_item(mapping(data, "item"))

    def _take_item(self, item: dict[str, Any]) -> None:
        if item.get("type") == "agent_message":
            self.closing = string(item.get("text"))
        elif item.get("status") == "declined":
            self.denials.append(clip(f"{string(item.get('type'))} {string(item.get('command'))}"))

    def _take_record(self, data: dict[str, Any]) -> None:
        match data.get("type"):
            case "task_complete":
                self.recorded = mapping(data, "error")
            case "token_count":
                self.usage = mapping(data, "info", "total_token_usage") or self.usage
                self.windows = mapping(data, "rate_limits") or self.windows

    # -- judging

    def verdict(self, ending: Ending, before: Spend) -> Verdict:
        whole = _tokens(self.usage) if self.usage else before.tokens
        return replace(
            self._outcome(ending),
            session=self.session,
            spend=Spend(None, _since(before.tokens, whole)),
            session_spend=Spend(None, whole),
            denials=tuple(dict.fromkeys(self.denials))[: judging.MAX_LISTED],
            closing=self.closing[: judging.MAX_CLOSING],
        )

    def _outcome(self, ending: Ending) -> Verdict:
        if ending.by in judging.OVERRULING:
            return judging.by_ending(ending, self.stderr)
        if self.completed:
            if self.denials:
                return Verdict(Outcome.PERMISSION_DENIED, clip(f"refused: {self.denials[0]}"))
            return Verdict(Outcome.COMPLETED)
        if self.failure is not None:
            return self._failed()
        return self._without_word(ending)

    def _failed(self) -> Verdict:
        outcome, kind = _kind(self.recorded.get("codex_error_info"))
        limit = self._limit(kind) if outcome is Outcome.LIMIT else None
        return Verdict(outcome, clip(self.failure) or "the turn failed", limit=limit)

    def _limit(self, kind: str) -> Limit:
        """The window that is used up and opens last; Codex calls them primary and secondary."""
        shut = [
            (number(window.get("resets_at")) or 0.0, name)
            for name in ("primary", "secondary")
            if (number((window := mapping(self.windows, name)).get("used_percent")) or 0.0) >= 100
        ]
        if kind != "usage_limit_exceeded" or not shut:
            return Limit(kind)
        resets_at, name = max(shut)
        return Limit(name, resets_at or None)

    def _without_word(self, ending: Ending) -> Verdict:
        verdict = judging.by_ending(ending, self.stderr)
        if not self.spoken and ending.by == endings.EXIT and ending.code == _USAGE_ERROR:
            return replace(verdict, outcome=Outcome.MISCONFIGURED)
        # Without a network it reconnects for ever, and says so.
        if verdict.outcome is Outcome.STALLED and self.trouble:
            return replace(verdict, message=clip(f"{verdict.message}: {self.trouble}"))
        return verdict


def _kind(info: object) -> tuple[Outcome, str]:
    """`"usage_limit_exceeded"`, or `{"http_connection_failed": {"http_status_code": 401}}`."""
    name = info if isinstance(info, str) else next(iter(mapping(info)), "")
    if name in _OVER_HTTP:
        status = mapping(info, name).get("http_status_code")
        return (Outcome.NETWORK, name) if status is None else (by_status(status), "api")
    return _BY_KIND.get(name, Outcome.CRASHED), name


def _tokens(usage: dict[str, Any]) -> Tokens:
    """What was read from the cache is part of `input_tokens`."""
    cached = count(usage.get("cached_input_tokens"))
    return Tokens(
        input=max(0, count(usage.get("input_tokens")) - cached),
        output=count(usage.get("output_tokens")),
        cache_read=cached,
        cache_write=count(usage.get("cache_write_input_tokens")),
    )


def _since(before: Tokens, whole: Tokens) -> Tokens:
    """Codex counts a resumed conversation from its beginning."""
    return Tokens(
        input=max(0, whole.input - before.input),
        output=max(0, whole.output - before.output),
        cache_read=max(0, whole.cache_read - before.cache_read),
        cache_write=max(0, whole.cache_write - before.cache_write),
    )
