"""What Copilot's events say about how a call went. It counts premium requests, neither money nor tokens."""

from dataclasses import dataclass, field, replace
from typing import Any

from . import judging
from .hearing import Hearing
from .judging import clip, mapping, number, string
from .outcomes import Limit, Outcome, Spend, Verdict
from .protocol import Ending
from .refusals import by_status
from .telling import tool

_MAX_CALLS = 10_000

_BY_TYPE = {
    "authentication": Outcome.AUTH,
    "authorization": Outcome.AUTH,
    "quota": Outcome.LIMIT,
    "rate_limit": Outcome.LIMIT,
    "context_limit": Outcome.PROMPT_TOO_LONG,
}


@dataclass
class Heard(Hearing):
    """Everything that matters of one call's events, taken in one by one."""

    session: str | None = None
    model: str | None = None
    result: dict[str, Any] = field(default_factory=dict)
    error: dict[str, Any] = field(default_factory=dict)  # of the last turn
    idle: bool = False  # it has ended its turn
    calls: dict[str, str] = field(default_factory=dict)  # what each tool was to do
    denials: list[str] = field(default_factory=list)
    closing: str = ""
    turns: int = 0

    def take(self, data: dict[str, Any]) -> None:
        said = mapping(data, "data")
        match data.get("type"):
            case "assistant.turn_start":
                self.idle, self.error, self.turns = False, {}, self.turns + 1
            case "assistant.message":
                self.closing = string(said.get("content")) or self.closing
                self.model = clip(said.get("model"), 100) or self.model
            case "assistant.idle":
                self.idle = True
            case "tool.execution_start" if len(self.calls) < _MAX_CALLS:
                self.calls[string(said.get("toolCallId"))] = tool(said.get("toolName"), mapping(said, "arguments"))
            case "tool.execution_complete" if mapping(said, "error").get("code") == "denied":
                self.denials.append(self.calls.get(string(said.get("toolCallId")), "a tool"))
            case "session.error":
                self.error = said
            case "result":
                self.result = data
                self.session = judging.session(data.get("sessionId"))

    # -- judging

    def verdict(self, ending: Ending, before: Spend) -> Verdict:
        return replace(
            self._outcome(ending),
            session=self.session,
            session_spend=before,
            turns=self.turns or None,
            denials=tuple(dict.fromkeys(self.denials))[: judging.MAX_LISTED],
            closing=self.closing[: judging.MAX_CLOSING],
            model=self.model,
        )

    def _outcome(self, ending: Ending) -> Verdict:
        if ending.by in judging.OVERRULING:
            return judging.by_ending(ending, self.stderr)
        if self.error:
            return self._failed()
        if self._ended_well():
            if self.denials:
                return Verdict(Outcome.PERMISSION_DENIED, clip(f"refused: {self.denials[0]}"))
            return Verdict(Outcome.COMPLETED)
        return judging.by_ending(ending, self.stderr)

    def _ended_well(self) -> bool:
        """It gives no result while a command of its still runs in the background, and waits for that to end: its
        turn is over all the same."""
        if self.result:
            return number(self.result.get("exitCode")) == 0
        return self.idle

    def _failed(self) -> Verdict:
        kind = string(self.error.get("errorType"))
        outcome = _BY_TYPE.get(kind) or by_status(self.error.get("statusCode"))
        message = clip(self.error.get("message")) or clip(kind) or "failed without a word"
        return Verdict(
            outcome, message, limit=Limit(clip(kind, 60) or "api") if outcome is Outcome.LIMIT else None
        )
