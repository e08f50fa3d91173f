"""What every agent adapter offers: how it is called, and how what it printed is read. All of it is pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from .events import Event
from .outcomes import Spend, Verdict


class Permissions(NamedTuple):
    """What an agent may do without asking."""

    commands: tuple[str, ...] = ()  # command prefixes it may run: `git commit`, `npm test`
    denied: tuple[str, ...] = ()  # command prefixes it may not run, whatever else is allowed
    rules: tuple[str, ...] = ()  # the user's own, in the client's own words
    bypass: bool = False  # everything; refused as root


class Request(NamedTuple):
    """What a step wants of an agent."""

    prompt: str  # begins with the skill's invocation, where there is one
    session: str  # a UUID chosen beforehand: the conversation's name where the client lets us choose it
    worktree: str
    skill: str | None = None  # the name the client lists it by: `bmad-dev-story`
    model: str | None = None
    resume: str | None = None  # go on with this conversation instead of a new one
    permissions: Permissions = Permissions()
    max_dollars: float | None = None
    name: str = ""  # of the instance, for the command adapter
    branch: str = ""
    scratch: str = ""  # a folder of the attempt's own, for temporary files
    story: str = ""


class Guard(NamedTuple):
    """Stop the call at once where the first event of this kind does not list what the step needs.

    `{"type": "system", "subtype": "init"}`, ("skills", "slash_commands"), "bmad-dev-story"."""

    when: Mapping[str, str]
    lists: tuple[str, ...]
    needed: str


class Call(NamedTuple):
    """What is started: argv without a shell, what goes in on stdin, and what to watch for."""

    argv: tuple[str, ...]
    stdin: str = ""
    environment: Mapping[str, str] = {}  # set for this agent, beyond the allow-list
    guard: Guard | None = None
    outlived: bool = False  # what it starts goes on after it: the command only begins the work


class Ending(NamedTuple):
    """How the process ended, as the shim saw it."""

    by: str  # a word of shim/endings.py: exit, time-limit, stall, cancel, signal, guard, no-start
    code: int | None = None  # exit code; None where a signal ended it
    signal: int | None = None
    problem: str = ""  # why it could not be started


class Agent(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def program(self) -> str: ...

    @property
    def variables(self) -> tuple[str, ...]:
        """Its own environment variables, which it may have: names, or `PREFIX_*`."""

    def call(self, request: Request) -> Call: ...

    def judge(self, events: Iterable[Event], ending: Ending, before: Spend) -> Verdict:
        """`before`: what the resumed conversation had already spent, so that nothing is counted twice."""

    def lines(self, event: Event) -> list[str]:
        """The event as a person would want to follow it; nothing for what says nothing."""


@runtime_checkable
class KeepsRecord(Protocol):
    """An agent that says more about a call in files of its own than in what it prints."""

    def recorded(self, events: Iterable[Event], since: float, environment: Mapping[str, str]) -> Iterable[Event]:
        """The events, and after them what the record has on the call that began at `since`."""


@runtime_checkable
class HasStop(Protocol):
    """An agent whose work goes on elsewhere, and does not end with its process."""

    def stop(self, request: Request) -> tuple[str, ...]: ...
