"""What Claude Code's events say about how a call went: structured fields alone, never a sentence.

A limit that is quoted somewhere, in an answer, a file or a command's output, means nothing here."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

from . import judging
from .hearing import Hearing
from .judging import clip, count, listing, mapping, number, string
from .outcomes import Limit, Outcome, Spend, Tokens, Verdict
from .protocol import Ending
from .refusals import by_status
from .shim import endings
from .telling import gist

_OWN = "model_usage_since_last_result"
_MAX_RESULTS = 1000
_MAX_DOLLARS = 1_000_000.0

_BY_REASON = {
    "error_max_turns": Outcome.MAX_TURNS,
    "max_turns": Outcome.MAX_TURNS,
    "error_max_budget_usd": Outcome.BUDGET,
    "budget_exhausted": Outcome.BUDGET,
    "prompt_too_long": Outcome.PROMPT_TOO_LONG,
}
# The client's words for what the API said (`error` of its last message), then the API's own.
_BY_ERROR = {
    "billing_error": Outcome.BILLING,  # comes with a 400, as many others do
    "authentication_failed": Outcome.AUTH,  # also without a status: nobody is logged in
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
class Heard(Hearing):
    """Everything that matters of one call's events, taken in one by one."""

    init: dict[str, Any] = field(default_factory=dict)
    results: list[dict[str, Any]] = field(default_factory=list)
    error: str = ""  # of the conversation's last message
    rejected: dict[str, Any] = field(default_factory=dict)  # the last refusal, until a message comes through
    pending: bool = False  # subagents still work in the background
    session: str | None = None
    retrying: object = None  # the status of the refusal it is trying to get past

    def take(self, data: dict[str, Any]) -> None:
        self.session = judging.session(data.get("session_id")) or self.session
        match data.get("type"), data.get("subtype"):
            case "system", "init":
                self.init = data
            case "system", "background_tasks_changed":
                self.pending = any(_is_subagent(task) for task in listing(data.get("tasks")))
            case "system", "api_retry":
                self.retrying = data.get("error_status")
            case "assistant", _:
                self.retrying = None
                self._take_message(data)
            case "rate_limit_event", _:
                self._take_limit(mapping(data, "rate_limit_info"))
            case "result", _:
                self.results[_MAX_RESULTS - 1 :] = [data]

    def _take_message(self, data: dict[str, Any]) -> None:
        error = string(data.get("error"))
        if data.get("parent_tool_use_id") is None:
            self.error = error
        if not error:
            self.rejected = {}

    def _take_limit(self, info: dict[str, Any]) -> None:
        if info.get("status") == "rejected":
            self.rejected = info

    # -- judging

    def verdict(self, ending: Ending, before: Spend) -> Verdict:
        verdict = self._outcome(ending)
        last = self.results[-1] if self.results else {}
        return replace(
            verdict,
            session=self.session,
            spend=self._spend(before),
            session_spend=_session_spend(last),
            turns=sum(count(result.get("num_turns")) for result in self.results) if self.results else None,
            denials=self._denials(),
            closing=string(last.get("result"))[: judging.MAX_CLOSING],
            model=clip(self.init.get("model"), 100) or None,
            version=clip(self.init.get("claude_code_version"), 100) or None,
        )

    def _outcome(self, ending: Ending) -> Verdict:
        if ending.by in judging.OVERRULING:
            return judging.by_ending(ending, self.stderr)
        if not self.results:
            return self._without_result(ending)
        last = self.results[-1]
        if _succeeded(last):
            return self._success(ending)
        outcome = _failure(last, self.error)
        if outcome is Outcome.LIMIT:
            return Verdict(outcome, _message(last), limit=self._limit())
        if outcome is Outcome.CRASHED and ending.by != endings.EXIT:
            return judging.by_ending(ending, self.stderr)  # its last word was that it was interrupted
        return Verdict(outcome, _message(last) or clip(judging.first_line(self.stderr)))

    def _success(self, ending: Ending) -> Verdict:
        """Work that has landed stands, however the process went on to end. What it says while its subagents still
        work is not yet its end."""
        if self.pending and (ending.by != endings.EXIT or ending.code != 0):
            return judging.by_ending(ending, self.stderr)
        denials = self._denials()
        if denials:
            return Verdict(Outcome.PERMISSION_DENIED, clip(f"refused: {denials[0]}"))
        return Verdict(Outcome.COMPLETED)

    def _without_result(self, ending: Ending) -> Verdict:
        if self.rejected:
            return Verdict(Outcome.LIMIT, "refused by a usage limit", limit=self._limit())
        verdict = judging.by_ending(ending, self.stderr)
        if self.retrying is not None and verdict.outcome in (Outcome.TIMED_OUT, Outcome.STALLED):
            # It tried again and again until it was stopped: what held it up is the answer.
            outcome = by_status(self.retrying)
            message = f"the API answered {clip(str(self.retrying), 20)} until it was stopped"
            return Verdict(outcome, message, limit=Limit("api") if outcome is Outcome.LIMIT else None)
        return verdict

    def _limit(self) -> Limit:
        if not self.rejected:
            return Limit("api")  # an API key's own; it resets within minutes and does not say when
        resets_at = number(self.rejected.get("resetsAt"))
        known = resets_at is not None and 0 < resets_at < judging.LATEST
        return Limit(clip(self.rejected.get("rateLimitType"), 60) or "unknown", resets_at if known else None)

    def _denials(self) -> tuple[str, ...]:
        found = [_denial(one) for result in self.results for one in listing(result.get("permission_denials"))]
        return tuple(dict.fromkeys(text for text in found if text))[: judging.MAX_LISTED]

    def _spend(self, before: Spend) -> Spend:
        """`total_cost_usd` goes on from the resumed conversation; the usage since the last result does not."""
        if any(_OWN in result for result in self.results):
            return _sum(_usage(mapping(result, _OWN)) for result in self.results)
        last = self.results[-1] if self.results else {}
        total = _dollars(last.get("total_cost_usd"))
        dollars = None if total is None else max(0.0, total - (before.dollars or 0.0))
        return replace(_sum(Spend(0.0, _tokens(mapping(one, "usage"))) for one in self.results), dollars=dollars)


def _succeeded(result: dict[str, Any]) -> bool:
    """A refused call has the subtype "success" too, and one that was interrupted exits with 0."""
    reason = result.get("terminal_reason")  # absent in older versions and after a command of the client's own
    return result.get("subtype") == "success" and result.get("is_error") is False and reason in (None, "completed")


def _failure(result: dict[str, Any], error: str) -> Outcome:
    reason = string(result.get("terminal_reason"))
    for word in (string(result.get("subtype")), reason):
        if word in _BY_REASON:
            return _BY_REASON[word]
    if reason not in ("", "api_error"):
        return Outcome.CRASHED
    for word in (error, string(result.get("api_error")), string(result.get("api_error_type"))):
        if word in _BY_ERROR:
            return _BY_ERROR[word]
    status = result.get("api_error_status")
    return Outcome.NETWORK if status is None and error == "server_error" else by_status(status)


def _message(result: dict[str, Any]) -> str:
    return clip(result.get("result")) or clip(judging.first_line(map(string, listing(result.get("errors")))))


def _denial(denial: object) -> str:
    """`Bash: git push origin main`."""
    tool = clip(mapping(denial).get("tool_name"), 60)
    return f"{tool}: {what}" if tool and (what := gist(mapping(denial, "tool_input"))) else tool


def _is_subagent(task: object) -> bool:
    """A command left running, such as a development server, is none."""
    return isinstance(task, dict) and task.get("task_type") != "local_bash"


def _session_spend(result: dict[str, Any]) -> Spend:
    return replace(_usage(mapping(result, "modelUsage")), dollars=_dollars(result.get("total_cost_usd")))


def _usage(models: dict[str, Any]) -> Spend:
    """Of all models together, subagents' too."""
    parts = [mapping(part) for part in models.values()]
    return _sum(Spend(_dollars(part.get("costUSD")), _model_tokens(part)) for part in parts)


def _dollars(value: object) -> float | None:
    found = number(value)
    return found if found is not None and 0 <= found < _MAX_DOLLARS else None


def _sum(spends: Iterable[Spend]) -> Spend:
    return reduce(judging.added, spends, Spend(0.0))


def _model_tokens(part: dict[str, Any]) -> Tokens:
    names = ("inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens")
    return Tokens(*(count(part.get(name)) for name in names))


def _tokens(usage: dict[str, Any]) -> Tokens:
    names = ("input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    return Tokens(*(count(usage.get(name)) for name in names))
