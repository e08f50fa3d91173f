"""One agent call and its folder: what it was told, whether it runs, how it ended.

`spec.json` and `prompt.md` say what was asked, `events.jsonl` what the agent printed, `result.json` how it ended,
`lock` is held as long as its shim lives. Facts are read from there and nowhere else, so that whoever comes after a
crash knows as much as whoever started the call."""

import fcntl
import json
import os
import tempfile
import time
import uuid
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from enum import StrEnum
from types import UnionType
from typing import Any, get_origin, get_type_hints

from ..core.errors import FileError, Place
from ..files import is_locked, read_bytes, write_atomic
from .environment import agent_environment
from .outcomes import Spend, Tokens
from .protocol import Ending
from .shim import children, endings, records, work
from .shim.private import remove_private

MAX_RECORD = 1024 * 1024
REFS = "refs/autopilot/attempts/"
STOP_SECONDS = 20.0
FOR_LAUNCHERS = ("DOCKER_*", "SSH_AUTH_SOCK")  # what the programs of launchers need


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
    private: str
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
    keep_ref: str = ""
    tree: str | None = None  # the work tree's hash before the start
    version: int = 1


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
    data = _read(f"{folder}/{records.SPEC}")
    spend = data.pop("before", None) or {}
    tokens = Tokens(**_known(Tokens, spend.get("tokens") or {}))
    spec: Spec = _make(Spec, {**data, "before": Spend(spend.get("dollars"), tokens)}, f"{folder}/{records.SPEC}")
    return spec


def read_result(folder: str) -> Result | None:
    path = f"{folder}/{records.RESULT}"
    if not os.path.exists(path):
        return None
    result: Result = _make(Result, _read(path), path)
    return result


def _read(path: str) -> dict[str, Any]:
    try:
        data = json.loads(read_bytes(path, limit=MAX_RECORD))
    except ValueError as error:
        raise FileError(f"is no JSON: {error}", place=Place(path)) from None
    if not isinstance(data, dict):
        raise FileError("is no JSON object", place=Place(path))
    return data


def _known(kind: type, data: dict[str, Any]) -> dict[str, Any]:
    """Fields this version knows: a newer one may have written more."""
    names = {one.name for one in fields(kind)}
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in data.items() if name in names
    }


def _make(kind: type[Any], data: dict[str, Any], path: str) -> Any:
    known, types = _known(kind, data), _TYPES[kind]
    wrong = [name for name, value in known.items() if not isinstance(value, types[name])]
    missing = [one.name for one in fields(kind) if one.name not in known and _is_needed(one)]
    if wrong or missing:
        problem = f"`{wrong[0]}` is not what it should be" if wrong else f"`{missing[0]}` is missing"
        raise FileError(problem, place=Place(path), hint="it is no record of ours, or of another version")
    return kind(**known)


def _is_needed(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _types(kind: type[Any]) -> dict[str, Any]:
    """What `isinstance` takes; a whole number will do where a time is wanted."""
    hints = get_type_hints(kind)
    return {name: _loose(hint) for name, hint in hints.items()}


def _loose(hint: Any) -> Any:
    if isinstance(hint, UnionType):
        return tuple(part for inner in hint.__args__ for part in (_loose(inner),))
    if hint is float:
        return (int, float)
    return get_origin(hint) or hint


_TYPES = {kind: _types(kind) for kind in (Spec, Result)}


def settle_lost(folder: str) -> Result:
    """Close an attempt whose shim was killed: end what is left of it, keep its work, write the result for it."""
    fd = os.open(f"{folder}/{records.LOCK}", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)  # whoever else comes finds our result
        found = read_result(folder)
        if found is not None:
            return found
        spec = read_spec(folder)
        swept = children.sweep(spec.id)
        problems = [] if stop(spec) else ["the launcher's stop command failed"]
        records.write_result(folder, _lost(folder, spec, swept, problems))
    finally:
        os.close(fd)
    result = read_result(folder)
    assert result is not None
    return result


def stop(spec: Spec) -> bool:
    """Run what ends a call elsewhere. The agent could have changed the record: it gets none of our keys for it."""
    environment = agent_environment(os.environ, variables=FOR_LAUNCHERS, passed=(), private="/", identity=None)
    return not spec.stop or work.run(list(spec.stop), environment, STOP_SECONDS)[0] == 0


def _private(spec: Spec) -> str:
    """Only a folder that bears the call's own id is removed on the word of a record."""
    named = spec.id[:8] in os.path.basename(spec.private) and len(spec.id) == 32 and spec.id.isalnum()
    return spec.private if named else os.path.join(tempfile.gettempdir(), f"bmad-{uuid.uuid4().hex[:12]}")


def _lost(folder: str, spec: Spec, swept: int, problems: list[str]) -> dict[str, object]:
    started = records.read_started(folder)
    began = started[1] if started else spec.created_at
    private = _private(spec)
    environment = agent_environment(os.environ, variables=(), passed=(), private=private, identity=None)
    os.makedirs(private, 0o700, exist_ok=True)
    left = work.look(spec.worktree, environment, f"{private}/index")
    kept = None
    if spec.keep_ref.startswith(REFS):
        message = f"Work of an agent call that was lost\n\nAutopilot-Attempt: {spec.id}"
        kept = work.keep(spec.worktree, environment, left, spec.keep_ref, message)
    remains = remove_private(private)
    return {
        "version": 1,
        "id": spec.id,
        "started_at": began,
        "ended_at": round(time.time(), 3),
        "seconds": round(time.time() - began, 3),
        "by": endings.LOST,
        "exit": None,
        "signal": None,
        "head": left.head,
        "branch": left.branch,
        "tree": left.tree,
        "kept": {"ref": spec.keep_ref, "commit": kept} if kept else None,
        "outside": [],
        "left_over": swept,
        "events": None,
        "problems": [*problems, *(text for text in (left.problem, remains) if text)],
    }


def set_time_limit(folder: str, seconds: float) -> None:
    """How long the call may run in all, from its start. A running shim takes it up when the old one is over."""
    write_atomic(f"{folder}/{records.TIME_LIMIT}", f"{seconds:g}\n".encode())
