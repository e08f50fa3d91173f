"""How an agent call can end, as data, and what each ending asks of us."""

from dataclasses import dataclass, field
from enum import StrEnum


class Outcome(StrEnum):
    COMPLETED = "completed"
    QUESTION = "question"
    PERMISSION_DENIED = "permission-denied"
    LIMIT = "limit"
    OVERLOADED = "overloaded"
    AUTH = "auth"
    BILLING = "billing"
    BUDGET = "budget"
    MAX_TURNS = "max-turns"
    PROMPT_TOO_LONG = "prompt-too-long"
    NETWORK = "network"
    STALLED = "stalled"
    TIMED_OUT = "timed-out"
    CANCELLED = "cancelled"
    CRASHED = "crashed"
    LOST = "lost"
    SKILL_MISSING = "skill-missing"
    MISCONFIGURED = "misconfigured"  # no such program, model or option: trying again cannot help


class Reaction(StrEnum):
    GO_ON = "go-on"  # look at the evidence
    ASK = "ask"  # a human decides
    PARK = "park"  # until the limit resets, for the whole account; costs no retry
    BACK_OFF = "back-off"  # the same call again after a pause, counted per cause
    TRY_AGAIN = "try-again"  # a new attempt, told what went wrong
    STOP = "stop"  # nothing of this agent's can work until somebody mends it


REACTIONS: dict[Outcome, Reaction] = {
    Outcome.COMPLETED: Reaction.GO_ON,
    Outcome.QUESTION: Reaction.ASK,
    Outcome.PERMISSION_DENIED: Reaction.ASK,
    Outcome.LIMIT: Reaction.PARK,
    Outcome.OVERLOADED: Reaction.BACK_OFF,
    Outcome.AUTH: Reaction.STOP,
    Outcome.BILLING: Reaction.STOP,
    Outcome.BUDGET: Reaction.ASK,
    Outcome.MAX_TURNS: Reaction.TRY_AGAIN,
    Outcome.PROMPT_TOO_LONG: Reaction.ASK,
    Outcome.NETWORK: Reaction.BACK_OFF,
    Outcome.STALLED: Reaction.TRY_AGAIN,
    Outcome.TIMED_OUT: Reaction.ASK,
    Outcome.CANCELLED: Reaction.ASK,
    Outcome.CRASHED: Reaction.TRY_AGAIN,
    Outcome.LOST: Reaction.TRY_AGAIN,
    Outcome.SKILL_MISSING: Reaction.STOP,
    Outcome.MISCONFIGURED: Reaction.STOP,
}


@dataclass(frozen=True)
class Limit:
    kind: str  # the client's own word: five_hour, seven_day, … ; "unknown" where it gives none
    resets_at: float | None = None  # seconds since 1970; None: not said


@dataclass(frozen=True)
class Tokens:
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True)
class Spend:
    """Money and tokens. Dollars are None where the client does not say."""

    dollars: float | None = None
    tokens: Tokens = field(default_factory=Tokens)


@dataclass(frozen=True)
class Verdict:
    """What one attempt came to."""

    outcome: Outcome
    message: str = ""  # one line for a person
    session: str | None = None  # what a resumed conversation is called by
    limit: Limit | None = None
    spend: Spend = field(default_factory=Spend)  # of this attempt alone
    session_spend: Spend = field(default_factory=Spend)  # of the whole conversation so far
    turns: int | None = None
    denials: tuple[str, ...] = ()  # tools that were refused, with what they were to do
    closing: str = ""  # the agent's last words: data, never read for meaning by what stops or parks
    model: str | None = None
    version: str | None = None  # the client's
