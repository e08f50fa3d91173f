"""The files of an attempt's folder: the shim writes them, the starter and the monitor read them."""

from __future__ import annotations

import errno
import marshal
import os
import stat
import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from json.encoder import encode_basestring_ascii

    from .tree_snapshot import TreeSnapshot
else:
    from _json import encode_basestring_ascii

LOCK = "lock"
STARTED = "started"
RESULT = "result.json"
EVENTS = "events.jsonl"
SPEC = "spec.json"
PROMPT = "prompt.md"
TIME_LIMIT_FILE = "time-limit"  # seconds the call may run; read again when they have passed
CANCEL_FILE = "cancel"  # requests the end of the call, with the reason

# The agent may have replaced a file with a link or a pipe.
SAFE_OPEN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK

_RESERVED = RESULT + ".reserved"
_MAX_TIME_LIMIT = 1e9
MAX_PROBLEMS, MAX_PROBLEM = 20, 500  # so that the result fits into the reserved space
_RESERVED_BYTES = 32 * 1024  # reserved in advance: the result must be written even on a full disk


def is_own_file(fd: int) -> bool:
    """Whether it is a regular file with one name. With a second name it may be a user's file that an agent has
    hard-linked here."""
    info = os.fstat(fd)
    return stat.S_ISREG(info.st_mode) and info.st_nlink == 1


def open_folder(folder: str, parent: int | None = None) -> int:
    """A descriptor of the attempt's folder. Records are written through it, so a link that an agent later puts at
    the folder's path, or at a parent's, does not redirect them. `parent`: the folder the path is relative to."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def split_run_folder(folder: str) -> tuple[str, list[str]]:
    """Split into the run's folder and the path components below it. Outside a run: the parent folder."""
    run, *rest = folder.rsplit("/", 3)
    return (run, rest) if len(rest) == 3 and rest[0] == "steps" else (os.path.dirname(folder), rest[-1:])


def restore_start_mark(run: int, names: list[str], pid: int) -> None:
    """Write the start mark again if the agent has removed or moved the attempt's folder. The call then counts as
    lost and is not started again. Follows no links and replaces nothing."""
    folder = run
    for name in names:
        try:
            os.mkdir(name, 0o700, dir_fd=folder)
        except FileExistsError:
            pass
        folder = open_folder(name, folder)
    claim_start(folder, pid)


def claim_start(folder: int, pid: int) -> bool:
    """Mark the agent as started. False if it was marked before: no attempt ever starts its agent twice.
    `folder`: from open_folder."""
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        fd = os.open(STARTED, flags, 0o600, dir_fd=folder)
    except FileExistsError:
        return False
    os.write(fd, f"{pid} {time.time():.3f}\n".encode())
    os.fsync(fd)
    os.close(fd)
    return True


def read_started(folder: str) -> tuple[int, float] | None:
    """The shim's pid and when it started the agent."""
    try:
        with os.fdopen(os.open(f"{folder}/{STARTED}", os.O_RDONLY | SAFE_OPEN)) as file:
            pid, at = file.read(100).split()
        return int(pid), float(at)
    except (OSError, ValueError):
        return None


def reserve_result(folder: str) -> None:
    """Reserve disk space for the result. Called by the starter, which can still refuse the call."""
    path = f"{folder}/{_RESERVED}"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | SAFE_OPEN, 0o600)
    try:
        if not is_own_file(fd):
            raise OSError(errno.EMLINK, f"{path} is no file of our own")
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(fd, 0, _RESERVED_BYTES)
    finally:
        os.close(fd)


def build_result(
    attempt: str,
    times: tuple[float, float, float],
    by: str,
    code: int | None,
    work: TreeSnapshot,
    *,
    kept: dict[str, str] | None = None,
    outside: list[str] | None = None,
    left_over: int = 0,
    events: dict[str, int] | None = None,
    problems: list[str],
) -> dict[str, object]:
    """The contents of `result.json`. `times`: start, end, duration in seconds; `code`: negative for a signal."""
    began, ended, seconds = (round(moment, 3) for moment in times)
    return {
        "version": 1,
        "id": attempt,
        "started_at": began,
        "ended_at": ended,
        "seconds": seconds,
        "by": by,
        "exit": code if code is not None and code >= 0 else None,
        "signal": -code if code is not None and code < 0 else None,
        "head": work.head,
        "branch": work.branch,
        "tree": work.tree,
        "kept": kept,
        "outside": outside or [],
        "left_over": left_over,
        "events": events,
        "problems": [problem[:MAX_PROBLEM] for problem in problems if problem][:MAX_PROBLEMS],
    }


def write_result(folder: int, result: dict[str, object]) -> None:
    """Write the result once and durably. `folder`: from open_folder. Raises OSError if the agent has removed the
    folder; the call is then lost. Anything the agent has put at the result's path is moved aside or replaced."""
    pairs = ",\n".join(f" {_json(name)}: {_json(value)}" for name, value in result.items())
    data = f"{{\n{pairs}\n}}\n".encode()
    name, fd = _open_reserved(folder)
    os.write(fd, data)
    os.ftruncate(fd, len(data))
    os.fsync(fd)
    os.close(fd)
    try:
        os.rename(name, RESULT, src_dir_fd=folder, dst_dir_fd=folder)
    except IsADirectoryError:
        os.rename(RESULT, f"{RESULT}.{os.getpid()}.aside", src_dir_fd=folder, dst_dir_fd=folder)
        os.rename(name, RESULT, src_dir_fd=folder, dst_dir_fd=folder)
    os.fsync(folder)


def _open_reserved(folder: int) -> tuple[str, int]:
    """The reserved file if it is still ours; otherwise a new file."""
    try:
        fd = os.open(_RESERVED, os.O_WRONLY | SAFE_OPEN, dir_fd=folder)
        if is_own_file(fd):
            return _RESERVED, fd
        os.close(fd)
    except OSError:
        pass
    name = f"{RESULT}.{os.getpid()}"
    return name, os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | SAFE_OPEN, 0o600, dir_fd=folder)


def _json(value: object) -> str:
    """A minimal encoder: importing json would take a quarter of the shim's start-up time, and nothing else needs
    it before the agent's first output."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_json(name)}: {_json(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json, value)) + "]"
    assert value is None or isinstance(value, int | float), value
    return "null" if value is None else repr(value)


def read_time_limit(folder: str, last: float) -> float:
    """The limit in seconds; `last` if the file is missing or invalid."""
    try:
        fd = os.open(f"{folder}/{TIME_LIMIT_FILE}", os.O_RDONLY | SAFE_OPEN)
    except OSError:
        return last
    try:
        limit = float(os.read(fd, 40))
    except (OSError, ValueError):
        return last
    finally:
        os.close(fd)
    return limit if 0 < limit < _MAX_TIME_LIMIT else last


# The causes of an ending in `result.json`.

EXIT = "exit"  # the agent ended by itself, whatever its exit code
TIME_LIMIT = "time-limit"
STALL = "stall"  # neither new output nor a changed file for the stall limit
CANCEL = "cancel"  # a person or the engine asked for it
SIGNAL = "signal"  # the shim received SIGTERM without a cancel request: a shutdown
GUARD = "guard"  # the agent does not have the skill the step needs
NO_START = "no-start"
LOST = "lost"  # the shim is gone and has left no result


# The order from the starter to the shim. It contains the prompt and the agent's keys, so it goes through a pipe
# and never touches the disk.

if TYPE_CHECKING:
    from typing import TypedDict

    class Order(TypedDict):
        id: str
        folder: str
        argv: list[str]
        environment: dict[str, str]
        worktree: str
        stdin: bytes
        secrets: list[str]  # values to redact, besides everything that looks like a secret
        private: str  # the attempt's own temporary folder, created and removed by the shim
        time_limit: float  # seconds; overridden by the time-limit file, which may change during the call
        stall_limit: float  # seconds; 0: none
        grace: float  # seconds between SIGINT, SIGTERM and SIGKILL
        outlived: bool  # processes the agent has started may continue after it exits by itself
        guard: tuple[dict[str, str], list[str], str] | None
        stop: list[str]  # run when the call is stopped, to end what runs behind a launcher
        keep_ref: str  # the ref that keeps interrupted work
        others: list[str]  # other work trees of the repository, which this call must not change


_HEADER_SIZE = 8


def write_order(fd: int, order: Order) -> None:
    data = marshal.dumps(order)  # type: ignore[arg-type]  # a dict as it runs
    with os.fdopen(fd, "wb") as pipe:
        pipe.write(len(data).to_bytes(_HEADER_SIZE, "big") + data)


def read_order(fd: int) -> Order | None:
    """None if the starter died before it had written the whole order; the shim then starts nothing."""
    with os.fdopen(fd, "rb") as pipe:
        head = pipe.read(_HEADER_SIZE)
        data = pipe.read()
    if len(head) < _HEADER_SIZE or len(data) != int.from_bytes(head, "big"):
        return None
    order: Order = marshal.loads(data)  # noqa: S302 (from our own starter, through an anonymous pipe)
    return order


# The attempt's temporary folder, created before the agent starts and removed after it has ended.


def make_temp_folder(folder: str) -> None:
    for part in ("", "/tmp", "/gh"):
        os.makedirs(f"{folder}{part}", 0o700, exist_ok=True)


def remove_temp_folder(folder: str) -> str:
    """Remove the folder with everything the agent left in it. Returns the problem, or an empty string."""
    if os.path.islink(folder):  # planted by the agent: its target is not ours
        _ignore_errors(os.unlink, folder)
    for path, folders, _ in os.walk(folder):
        for name in folders:
            if not os.path.islink(f"{path}/{name}"):
                _ignore_errors(os.chmod, f"{path}/{name}", 0o700)  # module caches are read-only
    for path, folders, files in os.walk(folder, topdown=False):
        for name in files:
            _ignore_errors(os.unlink, f"{path}/{name}")
        for name in folders:
            inner = f"{path}/{name}"
            _ignore_errors(os.unlink if os.path.islink(inner) else os.rmdir, inner)
    _ignore_errors(os.rmdir, folder)
    return f"{folder} could not be removed" if os.path.lexists(folder) else ""


def _ignore_errors(action: Callable[..., None], *arguments: object) -> None:
    try:
        action(*arguments)
    except OSError:
        pass
