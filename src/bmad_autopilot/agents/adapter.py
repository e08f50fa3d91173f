"""The adapter protocol: how an agent CLI is called, and how its output is turned into a verdict.

Adapters are pure: they build commands and read events, and do no I/O of their own."""

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, NamedTuple, Protocol, runtime_checkable

from .shim.attempt_files import SAFE_OPEN

# Outcomes of an agent call, and the reaction to each.


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
    MISCONFIGURED = "misconfigured"  # no such program, model or option: a retry cannot help


class Reaction(StrEnum):
    PROCEED = "go-on"  # check the evidence
    ASK = "ask"  # a human decides
    PARK = "park"  # until the limit resets, for the whole account; costs no retry
    BACK_OFF = "back-off"  # repeat the same call after a pause, counted per cause
    RETRY = "try-again"  # start a new attempt; its prompt says what went wrong
    STOP = "stop"  # no call to this agent can work until the user fixes it


REACTIONS: dict[Outcome, Reaction] = {
    Outcome.COMPLETED: Reaction.PROCEED,
    Outcome.QUESTION: Reaction.ASK,
    Outcome.PERMISSION_DENIED: Reaction.ASK,
    Outcome.LIMIT: Reaction.PARK,
    Outcome.OVERLOADED: Reaction.BACK_OFF,
    Outcome.AUTH: Reaction.STOP,
    Outcome.BILLING: Reaction.STOP,
    Outcome.BUDGET: Reaction.ASK,
    Outcome.MAX_TURNS: Reaction.RETRY,
    Outcome.PROMPT_TOO_LONG: Reaction.ASK,
    Outcome.NETWORK: Reaction.BACK_OFF,
    Outcome.STALLED: Reaction.RETRY,
    Outcome.TIMED_OUT: Reaction.ASK,
    Outcome.CANCELLED: Reaction.ASK,
    Outcome.CRASHED: Reaction.RETRY,
    Outcome.LOST: Reaction.RETRY,
    Outcome.SKILL_MISSING: Reaction.STOP,
    Outcome.MISCONFIGURED: Reaction.STOP,
}


@dataclass(frozen=True)
class UsageLimit:
    kind: str  # the client's own word: five_hour, seven_day, … ; "unknown" where it gives none
    resets_at: float | None = None  # seconds since 1970; None: the client does not say


@dataclass(frozen=True)
class Tokens:
    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0


@dataclass(frozen=True)
class Spend:
    """Money and tokens. Dollars are None if the client does not report them."""

    dollars: float | None = None
    tokens: Tokens = field(default_factory=Tokens)


@dataclass(frozen=True)
class AttemptVerdict:
    """The judgement on one attempt, derived from its events and the way its process ended."""

    outcome: Outcome
    message: str = ""  # one line for the user
    session: str | None = None  # the id by which the conversation is resumed
    limit: UsageLimit | None = None
    spend: Spend = field(default_factory=Spend)  # of this attempt alone
    session_spend: Spend = field(default_factory=Spend)  # of the whole conversation so far
    turns: int | None = None
    denials: tuple[str, ...] = ()  # refused tool calls, with their main argument
    closing: str = ""  # the agent's last message: data; no rule that stops or parks a run interprets it
    model: str | None = None
    version: str | None = None  # the client's


# `events.jsonl`: the agent's output, line by line, as the shim recorded it.

MAX_LINE = 4 * 1024 * 1024

JSON = "event"  # a JSON object on its standard output
TEXT = "text"  # any other line there
ERROR = "error"  # a line on its standard error
NOTE = "note"  # a remark by the shim
SESSION_LOG = "record"  # from the client's own session log, read after the call; never in `events.jsonl`

EVENT_KINDS = (JSON, TEXT, ERROR, NOTE)


class Event(NamedTuple):
    at: float  # seconds since the agent's start
    kind: str
    data: Any  # a dict for JSON, else a text


def read_events(path: str, offset: int = 0) -> Iterator[tuple[Event, int]]:
    """Yield each event with the offset after it. A torn last line is left for the next read; a line in an
    unknown format is skipped. Anything but a regular file yields no events."""
    try:
        fd = os.open(path, os.O_RDONLY | SAFE_OPEN)
    except OSError:
        return
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        return
    with os.fdopen(fd, "rb") as file:
        file.seek(offset)
        while line := file.readline(MAX_LINE):
            offset += len(line)
            if not line.endswith(b"\n"):
                if len(line) < MAX_LINE:
                    return
                continue
            event = _parse_event(line)
            if event is not None:
                yield event, offset


def _parse_event(line: bytes) -> Event | None:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    at = record.get("at")
    for kind in EVENT_KINDS:
        if kind in record:
            data = record[kind]
            if isinstance(data, dict if kind == JSON else str):
                return Event(float(at) if isinstance(at, int | float) else 0.0, kind, data)
    return None


class Permissions(NamedTuple):
    """What an agent may do without approval."""

    commands: tuple[str, ...] = ()  # command prefixes it may run: `git commit`, `npm test`
    denied: tuple[str, ...] = ()  # command prefixes it may not run; they override everything allowed
    rules: tuple[str, ...] = ()  # the user's own rules, in the client's syntax
    bypass: bool = False  # everything; refused as root


class AgentRequest(NamedTuple):
    """What a step asks of an agent, independent of the client."""

    prompt: str  # begins with the skill's invocation, if the step has a skill
    session: str  # a UUID chosen in advance: the conversation's id if the client accepts one
    worktree: str
    skill: str | None = None  # the name the client lists it by: `bmad-dev-story`
    model: str | None = None
    resume: str | None = None  # the conversation to resume instead of a new one
    permissions: Permissions = Permissions()
    max_dollars: float | None = None
    name: str = ""  # of the instance, for the command adapter
    branch: str = ""
    scratch: str = ""  # a folder of the attempt's own, for temporary files
    story: str = ""


class SkillGuard(NamedTuple):
    """Stop the call at once if the first matching event does not list the skill the step needs.

    `{"type": "system", "subtype": "init"}`, ("skills", "slash_commands"), "bmad-dev-story"."""

    event: Mapping[str, str]
    list_keys: tuple[str, ...]
    skill: str


class AgentCommand(NamedTuple):
    """One command to start: argv without a shell, its standard input, and the guard to apply."""

    argv: tuple[str, ...]
    stdin: str = ""
    environment: Mapping[str, str] = {}  # set for this agent, beyond the allow-list
    guard: SkillGuard | None = None
    is_detached: bool = False  # the command only starts the work, which continues after it exits


class ProcessEnding(NamedTuple):
    """How the process ended, as the shim recorded it."""

    cause: str  # a word of shim/attempt_files.py: exit, time-limit, stall, cancel, signal, guard, no-start
    code: int | None = None  # exit code; None if a signal ended it
    signal: int | None = None
    problem: str = ""  # why it could not be started


class Agent(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def program(self) -> str: ...

    @property
    def variables(self) -> tuple[str, ...]:
        """The client's own environment variables, which are passed to it: names, or `PREFIX_*`."""

    def call(self, request: AgentRequest) -> AgentCommand: ...

    def judge(self, events: Iterable[Event], ending: ProcessEnding, prior_spend: Spend) -> AttemptVerdict:
        """`prior_spend`: what the resumed conversation had already spent, so that nothing is counted twice."""

    def format_event(self, event: Event) -> list[str]:
        """The event as readable lines; an empty list for an event that tells the user nothing."""


@runtime_checkable
class KeepsSessionLog(Protocol):
    """An agent that writes more about a call to its own session log than to its output."""

    def append_session_log(
        self, events: Iterable[Event], since: float, environment: Mapping[str, str]
    ) -> Iterable[Event]:
        """The events, followed by the session log's entries for the call that began at `since`."""


@runtime_checkable
class HasStopCommand(Protocol):
    """An agent whose work runs elsewhere and does not end with its process."""

    def stop_command(self, request: AgentRequest) -> tuple[str, ...]: ...
