"""What Gemini's events and its exit code say about how a call went.

Its result has an error in a sentence alone. But it ends with that error's number as its exit code, be it an HTTP
status, of which the system keeps the lower eight bits: 401 comes out as 145."""

from dataclasses import dataclass, field, replace
from typing import Any

from . import judging
from .hearing import Hearing
from .judging import clip, count, mapping, string
from .outcomes import Limit, Outcome, Spend, Tokens, Verdict
from .protocol import Ending
from .refusals import by_status
from .shim import endings
from .telling import tool

_MAX_CALLS = 10_000
_SMALL_TALK = ("Warning:", "[STARTUP]", "Ripgrep is not available")  # on stderr before anything that matters

# Its own exit codes, with or without a result before them.
_BY_CODE = {
    41: Outcome.AUTH,  # no way to sign in was chosen
    52: Outcome.MISCONFIGURED,  # a settings file cannot be read
    53: Outcome.MAX_TURNS,
}
_STATUSES = {status % 256: status for status in (*range(400, 432), *range(500, 512), 529)}


@dataclass
class Heard(Hearing):
    """Everything that matters of one call's events, taken in one by one."""

    session: str | None = None
    model: str | None = None
    result: dict[str, Any] = field(default_factory=dict)
    calls: dict[str, str] = field(default_factory=dict)  # what each tool was to do
    denials: list[str] = field(default_factory=list)
    closing: str = ""

    def take(self, data: dict[str, Any]) -> None:
        match data.get("type"):
            case "init":
                self.session = judging.session(data.get("session_id"))
                self.model = clip(data.get("model"), 100) or None
            case "message" if data.get("role") == "assistant":
                self.closing = (self.closing + string(data.get("content")))[: judging.MAX_CLOSING]
            case "tool_use":
                self.closing = ""  # it comes in pieces; only what follows the last tool is its last word
                if len(self.calls) < _MAX_CALLS:
                    self.calls[string(data.get("tool_id"))] = tool(
                        data.get("tool_name"), mapping(data, "parameters")
                    )
            case "tool_result" if mapping(data, "error").get("type") == "policy_violation":
                self.denials.append(self.calls.get(string(data.get("tool_id")), "a tool"))
            case "result":
                self.result = data

    # -- judging

    def verdict(self, ending: Ending, before: Spend) -> Verdict:
        stats = mapping(self.result, "stats")
        spend = Spend(None, _tokens(stats))
        return replace(
            self._outcome(ending),
            session=self.session,
            spend=spend,
            session_spend=judging.added(before, spend),
            denials=tuple(dict.fromkeys(self.denials))[: judging.MAX_LISTED],
            closing=self.closing,
            model=self.model,
        )

    def _outcome(self, ending: Ending) -> Verdict:
        said = [line for line in self.stderr if not line.startswith(_SMALL_TALK)]
        if ending.by in judging.OVERRULING:
            return judging.by_ending(ending, said)
        if self.result.get("status") == "success":
            if self.denials:
                return Verdict(Outcome.PERMISSION_DENIED, clip(f"refused: {self.denials[0]}"))
            return Verdict(Outcome.COMPLETED)
        outcome = self._by_code(ending)
        if outcome is None:
            return judging.by_ending(ending, said)
        message = clip(mapping(self.result, "error").get("message")) or clip(judging.first_line(said))
        return Verdict(outcome, message, limit=Limit("api") if outcome is Outcome.LIMIT else None)

    def _by_code(self, ending: Ending) -> Outcome | None:
        """None where the exit code is no word of Gemini's."""
        if ending.by != endings.EXIT or ending.code is None:
            return Outcome.CRASHED if self.result else None
        if ending.code in _BY_CODE:
            return _BY_CODE[ending.code]
        if not self.result:
            return None
        return by_status(_STATUSES.get(ending.code))


def _tokens(stats: dict[str, Any]) -> Tokens:
    """Of this call alone, also where it resumed; `input` is what did not come from the cache."""
    return Tokens(
        input=count(stats.get("input")),
        output=count(stats.get("output_tokens")),
        cache_read=count(stats.get("cached")),
    )
