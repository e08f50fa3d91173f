"""One supervisor per project: a lock that dies with its owner, and a note in it that says who that is."""

import json
import os
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from ..core.errors import ConflictError, FileError
from ..files import is_locked, locked, read_bytes, refuse_links, refuse_shared
from .json_files import number_of, text_of
from .layout import folder_name
from .requests import clear_request
from .times import seconds_of

NAME = "supervisor.lock"
_WORKFLOWS = "workflow."
MAX_NOTE = 64 * 1024
MAX_COMMAND = 500
MAX_RUNS = 500
AUTOPILOT = "autopilot"  # the command that looks after several runs

_PATIENCE = 0.3  # seconds: whoever asks for the owner holds the lock for a moment
_NOTE_SECONDS = 0.2  # an owner writes its note right after it has the lock


class Owner(NamedTuple):
    """Who holds it. Only the lock is certain: of one whose note cannot be read nothing is known but that it is."""

    pid: int = 0
    host: str = ""
    command: str = ""
    run: str = ""  # the one in hand
    started_at: float = 0.0
    runs: tuple[str, ...] = ()  # all that it looks after; an older version notes only the one in hand
    ready: bool = False  # the autopilot: what it needs is there, and it has begun

    @property
    def run_ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(os.path.basename(run) for run in (*self.runs, self.run) if run))


class Supervision:
    """Being the supervisor."""

    def __init__(self, path: str, me: Owner) -> None:
        self._path = path
        self._me = me
        self._write(me)

    def takes_up(self, run: str) -> None:
        """Say which run is looked after from now on."""
        self.looks_after((), run)

    def looks_after(self, runs: Sequence[str], run: str) -> None:
        """All of these, and this one just now."""
        self._say(self._me._replace(run=run, runs=tuple(runs[:MAX_RUNS])))

    def is_ready(self) -> None:
        self._say(self._me._replace(ready=True))

    def _say(self, me: Owner) -> None:
        if me != self._me:
            self._me = me
            self._write(me)

    def _write(self, owner: Owner) -> None:
        """In place: a new file in its place would have a lock of its own. Emptied first, so that nobody reads the
        note of the one before."""
        data = json.dumps(owner._asdict()).encode() + b"\n"
        fd = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        try:
            refuse_shared(fd, self._path)
            os.ftruncate(fd, 0)
            os.write(fd, data)
        finally:
            os.close(fd)


@contextmanager
def hold(state_folder: str, command: str, run: str = "", name: str = NAME) -> Iterator[Supervision]:
    """Be the project's only supervisor, or the only one of a workflow, until this ends, or this process does. The
    descriptor is closed in children that execute another program: an agent left running keeps nothing locked."""
    refuse_links(state_folder, state_folder)
    os.makedirs(state_folder, exist_ok=True)
    path = os.path.join(state_folder, name)
    with ExitStack() as held:
        try:
            held.enter_context(locked(path, seconds=_PATIENCE))
        except ConflictError:
            raise _taken(owner(state_folder, name) or Owner()) from None
        if name == NAME:
            clear_request(state_folder)  # was meant for somebody before us: nobody knows yet that we are here
        yield Supervision(path, Owner(os.getpid(), socket.gethostname(), command[:MAX_COMMAND], run, time.time()))


def workflow_lock(session: str, workflow: str) -> str:
    """The name of the lock of a workflow's own: two sessions, or two workflows, do not hold each other up."""
    return f"{_WORKFLOWS}{folder_name(session)}.{folder_name(workflow)}.lock"


def owners(state_folder: str) -> list[Owner]:
    """All who supervise something in this project now, the project's own first."""
    try:
        names = sorted(name for name in os.listdir(state_folder) if name.startswith(_WORKFLOWS))
    except OSError:
        names = []
    found = (owner(state_folder, name) for name in (NAME, *names) if name.endswith(".lock"))
    return [one for one in found if one is not None]


def busy_runs(state_folder: str) -> set[str]:
    """Runs that somebody looks after right now."""
    return {run for one in owners(state_folder) for run in one.run_ids}


def owner_of(state_folder: str, run: str) -> Owner | None:
    """Who looks after this run now; else whoever is at work on anything that it could not go on beside."""
    found = owners(state_folder)
    own = next((one for one in found if run in one.run_ids), None)
    return own or owner(state_folder)


def refuse_second(state_folder: str) -> None:
    """Where somebody is the project's supervisor already."""
    found = owner(state_folder)
    if found is not None:
        raise _taken(found)


def owner(state_folder: str, name: str = NAME) -> Owner | None:
    """Who holds this lock now. A note without a lock is what a dead one has left: None."""
    path = os.path.join(state_folder, name)
    deadline = time.monotonic() + _NOTE_SECONDS
    while is_locked(path):
        found = _read(path)
        if found is not None or time.monotonic() >= deadline:
            return found or Owner()
        time.sleep(0.005)
    return None


def described(owner: Owner) -> str:
    """`bmad run-epic 1 (pid 4711 on host, since 14:03)`."""
    since = time.strftime("%Y-%m-%d %H:%M", time.localtime(owner.started_at)) if owner.started_at else ""
    where = f" on {owner.host}" if owner.host else ""
    known = [f"pid {owner.pid}{where}" if owner.pid else "", f"since {since}" if since else ""]
    details = ", ".join(filter(None, known))
    return f"{owner.command or 'another bmad'}{f' ({details})' if details else ''}"


def _taken(owner: Owner) -> ConflictError:
    ids = owner.run_ids
    run = f", run {ids[0]}" if len(ids) == 1 else f", {len(ids)} runs" if ids else ""
    return ConflictError(
        "another supervisor is at work in this project",
        found=f"{described(owner)}{run}",
        expected="one supervisor per project, and one per session of a workflow",
        hint="bmad status shows where it is, bmad answer answers its questions; bmad stop or Ctrl-C there ends it",
    )


def _read(path: str) -> Owner | None:
    try:
        data = json.loads(read_bytes(path, limit=MAX_NOTE))
    except (FileError, ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    return Owner(
        number_of(data.get("pid")),
        text_of(data.get("host")),
        text_of(data.get("command")),
        text_of(data.get("run")),
        seconds_of(data.get("started_at")),
        _runs_of(data.get("runs")),
        data.get("ready") is True,
    )


def _runs_of(found: object) -> tuple[str, ...]:
    return tuple(filter(None, map(text_of, found[:MAX_RUNS]))) if isinstance(found, list) else ()
