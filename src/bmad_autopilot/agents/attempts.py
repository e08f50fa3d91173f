"""One agent call and its folder: what it was told, whether it runs, how it ended.

`spec.json` and `prompt.md` say what was asked, `events.jsonl` what the agent printed, `result.json` how it ended,
`lock` is held as long as its shim lives. Facts are read from there and nowhere else, so that whoever comes after a
crash knows as much as whoever started the call."""

import json
import os
import tempfile
from dataclasses import asdict, dataclass, field
from enum import StrEnum

from ..files import is_locked, refuse_links, write_atomic
from .outcomes import Spend
from .protocol import Ending
from .shim import records
from .typed_records import read_record

REFS = "refs/autopilot/attempts/"


class State(StrEnum):
    NEW = "new"  # nothing was started
    RUNNING = "running"
    FINISHED = "finished"  # there is a result
    LOST = "lost"  # the agent was started, its shim is gone, and nobody says how it ended


@dataclass(frozen=True)
class Spec:
    """What an attempt was told, without any secret."""

    id: str
    agent: str
    step: str
    story: str
    session: str
    worktree: str
    argv: tuple[str, ...]
    created_at: float
    name: str = ""  # of the instance: what the call is known by to whoever asked for it
    role: str = ""
    model: str | None = None
    resume: str | None = None
    launcher: str | None = None
    skill: str | None = None
    stop: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()  # names of what the agent got in its environment
    before: Spend = field(default_factory=Spend)  # what the resumed conversation had spent
    tree: str | None = None  # the work tree's hash before the start
    head: str | None = None  # HEAD then
    version: int = 1

    @property
    def private(self) -> str:
        """The attempt's own temporary folder. A short path: programs put sockets into it, and a socket's path has
        107 letters."""
        return private_folder(self.id)

    @property
    def keep_ref(self) -> str:
        """Where work that was cut short is kept."""
        return f"{REFS}{self.id}"


def private_folder(attempt: str) -> str:
    return os.path.join(tempfile.gettempdir(), f"bmad-{attempt[:12]}")


@dataclass(frozen=True)
class Result:
    """How the process ended and what it left, as the shim wrote it down."""

    id: str
    by: str
    exit: int | None = None
    signal: int | None = None
    started_at: float = 0.0
    ended_at: float = 0.0
    seconds: float = 0.0
    head: str | None = None
    branch: str | None = None
    tree: str | None = None
    kept: dict[str, str] | None = None  # the ref and the commit that hold work cut short
    outside: tuple[str, ...] = ()  # other work trees that changed while it ran
    left_over: int = 0  # processes it had left behind
    events: dict[str, int] | None = None
    problems: tuple[str, ...] = ()
    version: int = 1

    @property
    def ending(self) -> Ending:
        return Ending(self.by, self.exit, self.signal, "; ".join(self.problems))


def refuse_linked(folder: str) -> None:
    """A FileError if a link among the run's folders leads to this one: an agent may have put it there, and nothing
    of ours is written through it."""
    top, runs, _ = os.path.abspath(folder).partition("/.runs/")
    refuse_links(f"{top}/.runs" if runs else folder, folder)


def state_of(folder: str) -> State:
    """Result first: a shim that has written it may still be tidying up."""
    if os.path.exists(f"{folder}/{records.RESULT}"):
        return State.FINISHED
    if lock_is_held(folder):
        return State.RUNNING
    if os.path.exists(f"{folder}/{records.RESULT}"):  # written between the two looks
        return State.FINISHED
    return State.LOST if os.path.exists(f"{folder}/{records.STARTED}") else State.NEW


def lock_is_held(folder: str) -> bool:
    return is_locked(f"{folder}/{records.LOCK}")


def write_spec(folder: str, spec: Spec) -> None:
    write_atomic(f"{folder}/{records.SPEC}", json.dumps(asdict(spec), indent=1).encode() + b"\n")


def read_spec(folder: str) -> Spec:
    return read_record(f"{folder}/{records.SPEC}", Spec)


def read_result(folder: str) -> Result | None:
    path = f"{folder}/{records.RESULT}"
    return read_record(path, Result) if os.path.exists(path) else None


def set_time_limit(folder: str, seconds: float) -> None:
    """How long the call may run in all, from its start. A running shim takes it up when the old one is over."""
    write_atomic(f"{folder}/{records.TIME_LIMIT}", f"{seconds:g}\n".encode())
