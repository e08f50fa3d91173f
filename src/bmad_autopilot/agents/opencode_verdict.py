"""What opencode's events say about how a call went.

An error does not always end it: after a 529 it tries again for ever without a word, after an overflow it goes on.
So its last word counts, and the stall limit ends what has none."""

from dataclasses import dataclass, field, replace
from typing import Any

from . import judging
from .hearing import Hearing
from .judging import clip, count, mapping, number, string
from .outcomes import Limit, Outcome, Spend, Tokens, Verdict
from .protocol import Ending
from .refusals import by_status
from .shim import endings
from .telling import tool

_BY_NAME = {
    "ProviderAuthError": Outcome.AUTH,
    "ContextOverflowError": Outcome.PROMPT_TOO_LONG,
}


@dataclass
class Heard(Hearing):
    """Everything that matters of one call's events, taken in one by one."""

    session: str | None = None
    reason: str = ""  # why the last step ended
    error: dict[str, Any] = field(default_factory=dict)  # if it was the last word
    error_at: float = 0.0
    refused: str = ""  # the last tool, if it did not run
    closing: str = ""
    dollars: float = 0.0
    tokens: Tokens = field(default_factory=Tokens)
    steps: int = 0

    def take(self, data: dict[str, Any]) -> None:
        part = mapping(data, "part")
        self.session = judging.session(data.get("sessionID")) or self.session
        match data.get("type"):
            case "step_start":
                self.reason, self.error, self.refused = "", {}, ""
            case "text" if part.get("synthetic") is not True:  # that would be its own words to the model
                self.closing = string(part.get("text"))
            case "tool_use":
                state = mapping(part, "state")
                call = tool(part.get("tool"), mapping(state, "input"))
                self.refused = call if state.get("status") == "error" else ""
            case "step_finish":
                self._take_step(part)
            case "error":
                self.error = mapping(data, "error")
                self.error_at = (number(data.get("timestamp")) or 0.0) / 1000

    def _take_step(self, part: dict[str, Any]) -> None:
        self.reason = string(part.get("reason"))
        self.steps += 1
        self.dollars += max(0.0, number(part.get("cost")) or 0.0)
        used = mapping(part, "tokens")
        self.tokens = Tokens(
            input=self.tokens.input + count(used.get("input")),
            output=self.tokens.output + count(used.get("output")) + count(used.get("reasoning")),
            cache_read=self.tokens.cache_read + count(mapping(used, "cache").get("read")),
            cache_write=self.tokens.cache_write + count(mapping(used, "cache").get("write")),
        )

    # -- judging

    def verdict(self, ending: Ending, before: Spend) -> Verdict:
        # It also says 0 where it knows no price.
        spend = Spend(self.dollars or None, self.tokens)
        verdict = self._outcome(ending)
        return replace(
            verdict,
            session=self.session,
            spend=spend,
            session_spend=judging.added(before, spend),
            turns=self.steps or None,
            denials=(self.refused,) if verdict.outcome is Outcome.PERMISSION_DENIED else (),
            closing=self.closing[: judging.MAX_CLOSING],
        )

    def _outcome(self, ending: Ending) -> Verdict:
        if ending.by in judging.OVERRULING:
            return judging.by_ending(ending, self.stderr)
        if self.error:
            return self._failed()
        if self.reason == "stop":
            return Verdict(Outcome.COMPLETED)
        if self.reason and (ending.by, ending.code) == (endings.EXIT, 0):
            return self._broken_off()
        return judging.by_ending(ending, self.stderr)

    def _broken_off(self) -> Verdict:
        """It only leaves by itself after a tool when that needed somebody's yes."""
        if self.reason == "tool-calls" and self.refused:
            return Verdict(Outcome.PERMISSION_DENIED, clip(f"refused: {self.refused}"))
        return Verdict(Outcome.CRASHED, clip(f"ended its turn early: {self.reason}"))

    def _failed(self) -> Verdict:
        name, data = string(self.error.get("name")), mapping(self.error, "data")
        message = clip(data.get("message")) or clip(name) or "failed without a word"
        status = number(data.get("statusCode"))
        if name in _BY_NAME:
            return Verdict(_BY_NAME[name], message)
        if name != "APIError":
            return Verdict(Outcome.CRASHED, message)
        if status is None:
            return Verdict(Outcome.NETWORK if data.get("isRetryable") is True else Outcome.CRASHED, message)
        outcome = by_status(status)
        headers = mapping(data, "responseHeaders")
        limit = Limit("api", self._resets_at(headers)) if outcome is Outcome.LIMIT else None
        return Verdict(outcome, message, limit=limit)

    def _resets_at(self, headers: dict[str, Any]) -> float | None:
        """`retry-after`, in seconds from when it was said; the other form, a date, is not used by these APIs."""
        after = string(headers.get("retry-after")).strip()
        if not (after.isascii() and after.isdigit() and len(after) < 8 and self.error_at):
            return None
        return self.error_at + int(after)
