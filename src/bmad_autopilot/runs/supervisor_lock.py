"""Ensures one supervisor per project: a lock released when its process ends, with a note naming the owner. Also
the control requests (pause, stop) sent to a running supervisor."""

import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from enum import StrEnum
from typing import Annotated, NamedTuple

from ..core.errors import ConflictError, FileError
from ..core.json_types import OPTIONAL, Count, Seconds
from ..io.files import hold_lock, is_locked, read_bytes, refuse_hard_links, refuse_links
from ..io.json_files import as_count, as_text, parse_timestamp, read_json_object, to_iso, write_json_object
from .layout import folder_name

# Control requests from another terminal: `request.json` in a run's folder, until the run is resumed; for the
# autopilot and all its runs, in the project's state folder, until the next supervisor starts.

REQUEST_FILE = "request.json"


class ControlRequest(StrEnum):
    PAUSE = "pause"  # before the next agent call
    STOP = "stop"  # now; a running agent continues
    STOP_NOW = "stop-now"  # now, and terminate the running agent


_REQUESTS = {ask.value: ask for ask in ControlRequest}


def request_path(run: str) -> str:
    return os.path.join(run, REQUEST_FILE)


def write_request(run: str, request: ControlRequest) -> None:
    data = {"version": 1, "ask": request.value, "at": to_iso(time.time()), "pid": os.getpid()}
    write_json_object(request_path(run), data)


def read_request(run: str) -> ControlRequest | None:
    """None if there is no readable request."""
    try:
        data = read_json_object(request_path(run))
    except FileError:
        return None
    return _REQUESTS.get(as_text(data.get("ask"))) if data else None


def clear_request(run: str) -> None:
    with suppress(OSError):
        os.unlink(request_path(run))


LOCK_FILE = "supervisor.lock"
_WORKFLOW_PREFIX = "workflow."
MAX_NOTE = 64 * 1024
MAX_COMMAND = 500
MAX_RUNS = 500
AUTOPILOT = "autopilot"  # the command that supervises several runs

_LOCK_SECONDS = 0.3  # seconds: a process that checks for the owner holds the lock briefly
_NOTE_SECONDS = 0.2  # an owner writes its note right after it acquires the lock


class LockOwner(NamedTuple):
    """The lock's owner. All fields are empty if the lock is held but its note cannot be read."""

    pid: Count = 0
    host: str = ""
    command: str = ""
    run: str = ""  # the current run
    started_at: Seconds = 0.0
    runs: Annotated[tuple[str, ...], OPTIONAL, "all that it looks after"] = ()
    ready: Annotated[bool, OPTIONAL, "the autopilot: it has begun"] = False

    @property
    def run_ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(os.path.basename(run) for run in (*self.runs, self.run) if run))


class SupervisorLock:
    """The held supervisor lock; updates the note in it."""

    def __init__(self, path: str, owner: LockOwner) -> None:
        self._path = path
        self._owner = owner
        self._write(owner)

    def set_run(self, run: str) -> None:
        """Records the only supervised run."""
        self.set_runs((), run)

    def set_runs(self, runs: Sequence[str], run: str) -> None:
        """Records all supervised runs and the current one."""
        self._update(self._owner._replace(run=run, runs=tuple(runs[:MAX_RUNS])))

    def mark_ready(self) -> None:
        self._update(self._owner._replace(ready=True))

    def _update(self, owner: LockOwner) -> None:
        if owner != self._owner:
            self._owner = owner
            self._write(owner)

    def _write(self, owner: LockOwner) -> None:
        """Writes in place: a replaced file would have a separate lock. Truncates first, so that no reader sees the
        previous owner's note."""
        data = json.dumps(owner._asdict()).encode() + b"\n"
        fd = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            refuse_hard_links(fd, self._path)
            os.ftruncate(fd, 0)
            os.write(fd, data)
        finally:
            os.close(fd)


@contextmanager
def hold_supervisor_lock(
    state_folder: str, command: str, run: str = "", name: str = LOCK_FILE
) -> Iterator[SupervisorLock]:
    """Holds the supervisor lock of the project, or of a workflow, until the context or the process ends. The
    descriptor is closed on exec, so an agent that keeps running does not keep the lock."""
    refuse_links(state_folder, state_folder)
    os.makedirs(state_folder, exist_ok=True)
    path = os.path.join(state_folder, name)
    with ExitStack() as stack:
        try:
            stack.enter_context(hold_lock(path, seconds=_LOCK_SECONDS))
        except ConflictError:
            raise _lock_conflict(lock_owner(state_folder, name) or LockOwner()) from None
        if name == LOCK_FILE:
            clear_request(state_folder)  # left over for a previous supervisor: no one can know of us yet
        yield SupervisorLock(
            path, LockOwner(os.getpid(), socket.gethostname(), command[:MAX_COMMAND], run, time.time())
        )


def workflow_lock_name(session: str, workflow: str) -> str:
    """Name of a workflow's own lock: different sessions or workflows do not block each other."""
    return f"{_WORKFLOW_PREFIX}{folder_name(session)}.{folder_name(workflow)}.lock"


def lock_owners(state_folder: str) -> list[LockOwner]:
    """All current supervisors in this project, the project's own first."""
    try:
        names = sorted(name for name in os.listdir(state_folder) if name.startswith(_WORKFLOW_PREFIX))
    except OSError:
        names = []
    found = (lock_owner(state_folder, name) for name in (LOCK_FILE, *names) if name.endswith(".lock"))
    return [one for one in found if one is not None]


def busy_runs(state_folder: str) -> set[str]:
    """Names of the runs that are supervised now."""
    return {run for one in lock_owners(state_folder) for run in one.run_ids}


def owner_of_run(state_folder: str, run: str) -> LockOwner | None:
    """The supervisor of this run, else the project's supervisor, which would prevent resuming it."""
    found = lock_owners(state_folder)
    own = next((one for one in found if run in one.run_ids), None)
    return own or lock_owner(state_folder)


def refuse_second_supervisor(state_folder: str) -> None:
    """Raises ConflictError if the project already has a supervisor."""
    found = lock_owner(state_folder)
    if found is not None:
        raise _lock_conflict(found)


def lock_owner(state_folder: str, name: str = LOCK_FILE) -> LockOwner | None:
    """The current owner of this lock. None if unlocked: a note without a lock is left over from a dead process."""
    path = os.path.join(state_folder, name)
    deadline = time.monotonic() + _NOTE_SECONDS
    while is_locked(path):
        found = _read_note(path)
        if found is not None or time.monotonic() >= deadline:
            return found or LockOwner()
        time.sleep(0.005)
    return None


def describe_owner(owner: LockOwner) -> str:
    """`bmad run-epic 1 (pid 4711 on host, since 14:03)`."""
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(owner.started_at)) if owner.started_at else ""
    where = f" on {owner.host}" if owner.host else ""
    known = [f"pid {owner.pid}{where}" if owner.pid else "", f"since {since}" if since else ""]
    details = ", ".join(filter(None, known))
    return f"{owner.command or 'another bmad'}{f' ({details})' if details else ''}"


def _lock_conflict(owner: LockOwner) -> ConflictError:
    ids = owner.run_ids
    run = f", run {ids[0]}" if len(ids) == 1 else f", {len(ids)} runs" if ids else ""
    return ConflictError(
        "another supervisor is at work in this project",
        found=f"{describe_owner(owner)}{run}",
        expected="one supervisor per project, and one per session of a workflow",
        hint="bmad status shows where it is, bmad answer answers its questions; bmad stop or Ctrl-C there ends it",
    )


def _read_note(path: str) -> LockOwner | None:
    try:
        data = json.loads(read_bytes(path, limit=MAX_NOTE))
    except (FileError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    return LockOwner(
        as_count(data.get("pid")),
        as_text(data.get("host")),
        as_text(data.get("command")),
        as_text(data.get("run")),
        parse_timestamp(data.get("started_at")),
        _runs_of(data.get("runs")),
        data.get("ready") is True,
    )


def _runs_of(found: object) -> tuple[str, ...]:
    return tuple(filter(None, map(as_text, found[:MAX_RUNS]))) if isinstance(found, list) else ()
