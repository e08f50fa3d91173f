"""Reads and writes an attempt's folder: the call's spec, whether it is running, and its result.

`spec.json` and `prompt.md` hold the request, `events.jsonl` the agent's output, `result.json` the end; the shim
holds `lock` as long as it lives. The folder is the only source of these facts, so a supervisor that takes over
after a crash knows as much as the one that started the call."""

import json
import os
import tempfile
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from enum import StrEnum
from types import UnionType
from typing import Any, TypeVar, get_origin, get_type_hints

from ..core.errors import FileError, Location
from ..io.files import is_locked, read_bytes, refuse_links, write_atomic
from .adapter import ProcessEnding, Spend, Tokens
from .shim import attempt_files

# Typed JSON records: every known field must have its type, or the error names the field.

MAX_RECORD = 1024 * 1024

Record = TypeVar("Record")


def read_record(path: str, kind: type[Record]) -> Record:
    """Read a record of type `kind`. Unknown fields, such as those of a newer version, are ignored."""
    known, types = _known_fields(kind, read_object(path)), _field_types(kind)
    wrong = [name for name, value in known.items() if not isinstance(value, types[name])]
    missing = [one.name for one in fields(kind) if one.name not in known and _is_required(one)]  # type: ignore[arg-type]
    if wrong or missing:
        problem = f"`{wrong[0]}` is not what it should be" if wrong else f"`{missing[0]}` is missing"
        raise FileError(problem, location=Location(path), hint="it is no record of ours, or of another version")
    return kind(**known)


def read_object(path: str) -> dict[str, Any]:
    try:
        data = json.loads(read_bytes(path, limit=MAX_RECORD))
    except (ValueError, RecursionError) as error:
        raise FileError(f"is no JSON: {error}", location=Location(path)) from None
    if not isinstance(data, dict):
        raise FileError("is no JSON object", location=Location(path))
    return data


def spend_from_json(data: object) -> Spend:
    """Spend from its JSON form; missing or malformed parts are left at their defaults."""
    found = data if isinstance(data, dict) else {}
    dollars, tokens = found.get("dollars"), found.get("tokens")
    counts = {name: count for name, count in tokens.items() if isinstance(count, int)} if tokens else {}
    return Spend(dollars if isinstance(dollars, int | float) else None, Tokens(**_known_fields(Tokens, counts)))


def _known_fields(kind: type, data: dict[str, Any]) -> dict[str, Any]:
    names = {one.name: one.type for one in fields(kind)}
    return {name: _coerce(names[name], value) for name, value in data.items() if name in names}


def _coerce(kind: object, value: object) -> object:
    """Convert JSON lists to tuples, and a spend object to `Spend`."""
    if kind is Spend:
        return spend_from_json(value)
    return tuple(value) if isinstance(value, list) else value


def _is_required(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _field_types(kind: type) -> dict[str, Any]:
    """Each field's type in the form `isinstance` accepts."""
    return {name: _accepted_types(hint) for name, hint in get_type_hints(kind).items()}


def _accepted_types(hint: Any) -> Any:
    """Accept an int where a float is declared."""
    if isinstance(hint, UnionType):
        return tuple(_accepted_types(inner) for inner in hint.__args__)
    return (int, float) if hint is float else get_origin(hint) or hint


ATTEMPT_REFS = "refs/autopilot/attempts/"


class AttemptState(StrEnum):
    NEW = "new"  # nothing was started
    RUNNING = "running"
    FINISHED = "finished"  # there is a result
    LOST = "lost"  # the agent was started, and its shim died before recording a result


@dataclass(frozen=True)
class CallSpec:
    """The request of one attempt as recorded in `spec.json`, with secrets redacted."""

    id: str
    agent: str
    step: str
    story: str
    session: str
    worktree: str
    argv: tuple[str, ...]
    created_at: float
    name: str = ""  # the instance name under which the caller knows the call
    role: str = ""
    model: str | None = None
    resume: str | None = None
    launcher: str | None = None
    skill: str | None = None
    stop: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()  # names of the variables in the agent's environment
    before: Spend = field(default_factory=Spend)  # what the resumed conversation had already spent
    tree: str | None = None  # the work tree's hash before the start
    head: str | None = None  # HEAD before the start
    version: int = 1

    @property
    def temp_folder(self) -> str:
        """The attempt's own temporary folder. The path is short because programs put sockets into it, and a
        socket's path has at most 107 characters."""
        return attempt_temp_folder(self.id)

    @property
    def keep_ref(self) -> str:
        """The ref that keeps the work of an interrupted call."""
        return f"{ATTEMPT_REFS}{self.id}"


def attempt_temp_folder(attempt: str) -> str:
    return os.path.join(tempfile.gettempdir(), f"bmad-{attempt[:12]}")


@dataclass(frozen=True)
class AttemptResult:
    """How the process ended and what it left, as the shim recorded it in `result.json`."""

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
    kept: dict[str, str] | None = None  # the ref and the commit that keep interrupted work
    outside: tuple[str, ...] = ()  # other work trees that changed during the call
    left_over: int = 0  # processes the agent left behind
    events: dict[str, int] | None = None
    problems: tuple[str, ...] = ()
    version: int = 1

    @property
    def ending(self) -> ProcessEnding:
        return ProcessEnding(self.by, self.exit, self.signal, "; ".join(self.problems))


def refuse_linked_folder(folder: str) -> None:
    """Raise FileError if a folder between `.runs` and this one is a symbolic link: an agent may have planted it,
    and we must not write through it."""
    top, runs, _ = os.path.abspath(folder).partition("/.runs/")
    refuse_links(f"{top}/.runs" if runs else folder, folder)


def attempt_state(folder: str) -> AttemptState:
    """Check the result first: a shim that has written it may still be cleaning up."""
    if os.path.exists(f"{folder}/{attempt_files.RESULT}"):
        return AttemptState.FINISHED
    if lock_is_held(folder):
        return AttemptState.RUNNING
    if os.path.exists(f"{folder}/{attempt_files.RESULT}"):  # written between the two checks
        return AttemptState.FINISHED
    return AttemptState.LOST if os.path.exists(f"{folder}/{attempt_files.STARTED}") else AttemptState.NEW


def lock_is_held(folder: str) -> bool:
    return is_locked(f"{folder}/{attempt_files.LOCK}")


def write_call_spec(folder: str, spec: CallSpec) -> None:
    write_atomic(f"{folder}/{attempt_files.SPEC}", json.dumps(asdict(spec), indent=1).encode() + b"\n")


def read_call_spec(folder: str) -> CallSpec:
    return read_record(f"{folder}/{attempt_files.SPEC}", CallSpec)


def read_result(folder: str) -> AttemptResult | None:
    path = f"{folder}/{attempt_files.RESULT}"
    return read_record(path, AttemptResult) if os.path.exists(path) else None


def set_time_limit(folder: str, seconds: float) -> None:
    """Set the total run time, counted from the start. A running shim re-reads it when the old limit ends."""
    write_atomic(f"{folder}/{attempt_files.TIME_LIMIT_FILE}", f"{seconds:g}\n".encode())
