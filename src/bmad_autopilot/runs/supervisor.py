"""One supervisor per project: a lock that dies with its owner, and a note in it that says who that is."""

import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import NamedTuple

from ..core.errors import ConflictError, FileError
from ..files import is_locked, locked, read_bytes
from .json_files import number_of, text_of
from .layout import folder_name
from .times import seconds_of

NAME = "supervisor.lock"
_WORKFLOWS = "workflow."
MAX_NOTE = 64 * 1024
MAX_COMMAND = 500

_PATIENCE = 0.3  # seconds: whoever asks for the owner holds the lock for a moment
_NOTE_SECONDS = 0.2  # an owner writes its note right after it has the lock


class Owner(NamedTuple):
    """Who holds it. Only the lock is certain: of one whose note cannot be read nothing is known but that it is."""

    pid: int = 0
    host: str = ""
    command: str = ""
    run: str = ""
    started_at: float = 0.0


class Supervision:
    """Being the supervisor."""

    def __init__(self, path: str, me: Owner) -> None:
        self._path = path
        self._me = me
        self._write(me)

    def takes_up(self, run: str) -> None:
        """Say which run is looked after from now on."""
        self._me = self._me._replace(run=run)
        self._write(self._me)

    def _write(self, owner: Owner) -> None:
        """In place: a new file in its place would have a lock of its own. Emptied first, so that nobody reads the
        note of the one before."""
        data = json.dumps(owner._asdict()).encode() + b"\n"
        fd = os.open(self._path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
        try:
            os.ftruncate(fd, 0)
            os.write(fd, data)
        finally:
            os.close(fd)


@contextmanager
def hold(state_folder: str, command: str, run: str = "", name: str = NAME) -> Iterator[Supervision]:
    """Be the project's only supervisor, or the only one of a workflow, until this ends, or this process does. The
    descriptor is closed in children that execute another program: an agent left running keeps nothing locked."""
    os.makedirs(state_folder, exist_ok=True)
    path = os.path.join(state_folder, name)
    with ExitStack() as held:
        try:
            held.enter_context(locked(path, seconds=_PATIENCE))
        except ConflictError:
            raise _taken(owner(state_folder, name) or Owner()) from None
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
    return {os.path.basename(one.run) for one in owners(state_folder)}


def owner_of(state_folder: str, run: str) -> Owner | None:
    """Who looks after this run now; else whoever is at work on anything that it could not go on beside."""
    found = owners(state_folder)
    own = next((one for one in found if os.path.basename(one.run) == run), None)
    return own or owner(state_folder)


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
    run = f", run {os.path.basename(owner.run)}" if owner.run else ""
    return ConflictError(
        "another supervisor is at work in this project",
        found=f"{described(owner)}{run}",
        expected="one supervisor per project, and one per session of a workflow",
        hint="bmad status shows where it is, bmad answer answers its questions; Ctrl-C there ends it",
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
    )
