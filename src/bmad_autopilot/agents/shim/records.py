"""The attempt's small files, as the shim writes them and its starter reads them."""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from json.encoder import encode_basestring_ascii
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

_RESERVED = RESULT + ".reserved"
_ROOM = 32 * 1024  # for the result, taken beforehand: it must be written on a full disk too


def claim_start(folder: str, pid: int) -> bool:
    """Leave the mark that the agent is started now. False: it was there. Whatever happens, no agent is started
    twice in one attempt."""
    try:
        fd = os.open(f"{folder}/{STARTED}", os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError:
        return False
    os.write(fd, f"{pid} {time.time():.3f}\n".encode())
    os.fsync(fd)
    os.close(fd)
    return True


def read_started(folder: str) -> tuple[int, float] | None:
    """The shim's pid and when it started the agent."""
    try:
        with open(f"{folder}/{STARTED}") as file:
            pid, at = file.read(100).split()
        return int(pid), float(at)
    except (OSError, ValueError):
        return None


def reserve_result(folder: str) -> None:
    try:
        fd = os.open(f"{folder}/{_RESERVED}", os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(fd, 0, _ROOM)
        os.close(fd)
    except OSError:  # then it is written if there is room
        pass


def write_result(folder: str, result: dict[str, object]) -> None:
    """Once, whole, and there after a power cut."""
    path = f"{folder}/{_RESERVED}"
    pairs = ",\n".join(f" {_json(name)}: {_json(value)}" for name, value in result.items())
    data = f"{{\n{pairs}\n}}\n".encode()
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.write(fd, data)
    os.ftruncate(fd, len(data))
    os.fsync(fd)
    os.close(fd)
    os.rename(path, f"{folder}/{RESULT}")
    fd = os.open(folder, os.O_RDONLY)
    os.fsync(fd)
    os.close(fd)


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


def read_time_limit(folder: str) -> float:
    """In seconds; 0 where there is none, or the file says nothing sensible."""
    try:
        with open(f"{folder}/{TIME_LIMIT}") as file:
            return max(0.0, float(file.read(40)))
    except (OSError, ValueError):
        return 0.0
