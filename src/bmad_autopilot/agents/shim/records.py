"""The attempt's small files, as the shim writes them and its starter reads them."""

from __future__ import annotations

import errno
import os
import stat
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from json.encoder import encode_basestring_ascii

    from .work import Work
else:
    from _json import encode_basestring_ascii

LOCK = "lock"
STARTED = "started"
RESULT = "result.json"
EVENTS = "events.jsonl"
SPEC = "spec.json"
PROMPT = "prompt.md"
TIME_LIMIT = "time-limit"  # seconds the call may run; read again when they are over
CANCEL = "cancel"  # who asked for the end, and why

# The agent may have put a link or a pipe in a file's place.
PLAIN = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK

_RESERVED = RESULT + ".reserved"
_LONGEST = 1e9
MAX_PROBLEMS, MAX_PROBLEM = 20, 500  # so that the result fits into the room reserved for it
_ROOM = 32 * 1024  # for the result, taken beforehand: it must be written on a full disk too


def is_own(fd: int) -> bool:
    """A regular file with one name. Under another name it may be a user's file, which an agent has linked here."""
    info = os.fstat(fd)
    return stat.S_ISREG(info.st_mode) and info.st_nlink == 1


def open_folder(folder: str, parent: int | None = None) -> int:
    """A descriptor of the attempt's folder. Records are written through it: a link that an agent later puts at the
    folder's path, or at a parent's, does not redirect them. `parent`: the folder that the path starts in."""
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def run_and_rest(folder: str) -> tuple[str, list[str]]:
    """The run's folder, and the names below it that lead to the attempt's. Outside a run: the parent folder."""
    run, *rest = folder.rsplit("/", 3)
    return (run, rest) if len(rest) == 3 and rest[0] == "steps" else (os.path.dirname(folder), rest[-1:])


def keep_mark(run: int, names: list[str], pid: int) -> None:
    """Leave the mark of the start at the attempt's path again, where the agent has removed or moved the folder.
    The call then counts as lost and is not started again. Follows no link and replaces nothing."""
    folder = run
    for name in names:
        try:
            os.mkdir(name, 0o700, dir_fd=folder)
        except FileExistsError:
            pass
        folder = open_folder(name, folder)
    claim_start(folder, pid)


def claim_start(folder: int, pid: int) -> bool:
    """Leave the mark that the agent is started now. False: it was there. Whatever happens, no agent is started
    twice in one attempt. `folder`: from open_folder."""
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
        with os.fdopen(os.open(f"{folder}/{STARTED}", os.O_RDONLY | PLAIN)) as file:
            pid, at = file.read(100).split()
        return int(pid), float(at)
    except (OSError, ValueError):
        return None


def reserve_result(folder: str) -> None:
    """By the starter, who can still refuse."""
    path = f"{folder}/{_RESERVED}"
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | PLAIN, 0o600)
    try:
        if not is_own(fd):
            raise OSError(errno.EMLINK, f"{path} is no file of our own")
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(fd, 0, _ROOM)
    finally:
        os.close(fd)


def result_of(
    attempt: str,
    times: tuple[float, float, float],
    by: str,
    code: int | None,
    work: Work,
    *,
    kept: dict[str, str] | None = None,
    outside: list[str] | None = None,
    left_over: int = 0,
    events: dict[str, int] | None = None,
    problems: list[str],
) -> dict[str, object]:
    """What `result.json` holds. `times`: began, ended, seconds between; `code`: negative for a signal."""
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
    """Write the result once and durably. `folder`: from open_folder. OSError if the agent has removed the folder:
    the call is then lost. Whatever the agent has put in the place of the result is moved aside or replaced."""
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
    """The reserved file, if it still is one; else a new one."""
    try:
        fd = os.open(_RESERVED, os.O_WRONLY | PLAIN, dir_fd=folder)
        if is_own(fd):
            return _RESERVED, fd
        os.close(fd)
    except OSError:
        pass
    name = f"{RESULT}.{os.getpid()}"
    return name, os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | PLAIN, 0o600, dir_fd=folder)


def _json(value: object) -> str:
    """The json module, which nothing else here needs before an agent speaks, is a quarter of our start."""
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_json(name)}: {_json(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_json, value)) + "]"
    assert value is None or isinstance(value, int | float), value
    return "null" if value is None else repr(value)


def read_time_limit(folder: str, last: float) -> float:
    """In seconds. What is no such number changes nothing: `last` goes on."""
    try:
        fd = os.open(f"{folder}/{TIME_LIMIT}", os.O_RDONLY | PLAIN)
    except OSError:
        return last
    try:
        limit = float(os.read(fd, 40))
    except (OSError, ValueError):
        return last
    finally:
        os.close(fd)
    return limit if 0 < limit < _LONGEST else last
