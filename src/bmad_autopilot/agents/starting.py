"""Starting one agent call: its folder, its locks, its shim."""

import fcntl
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import ConflictError, FileError, Place
from ..files import write_atomic
from . import worktree_lock
from .attempts import Spec, set_time_limit, state_of, write_spec
from .protocol import Call
from .shim import children, records
from .shim.order import write_order
from .shim.redaction import Redactor

if TYPE_CHECKING:
    from .shim.order import Order

SHIM = os.path.join(os.path.dirname(__file__), "shim")


class Limits(NamedTuple):
    """In seconds; 0 for no stall limit."""

    time: float
    stall: float
    grace: float = 10.0


def start(
    folder: str,
    spec: Spec,
    call: Call,
    *,
    environment: Mapping[str, str],
    limits: Limits,
    prompt: str,
    secrets: Iterable[str] = (),
    others: Iterable[str] = (),
    ready: Callable[[Spec], Spec] | None = None,
) -> Spec:
    """Start the call once. The shim that supervises it holds the attempt's lock and the work tree's, both taken
    here and handed over: there is no moment at which nobody holds them. What is written down holds no secret; what
    the agent needs goes to the shim through a pipe.

    `ready` is called once nothing can refuse the start any more: what must change before it is changed then."""
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        with ExitStack() as held:  # closes our descriptors in every case; the shim keeps its own
            lock = _take_lock(folder)
            held.callback(os.close, lock)
            records.reserve_result(folder)  # a call whose result finds no room is not begun
            tree_lock = worktree_lock.take(spec.worktree, folder)
            held.callback(os.close, tree_lock)
            secrets = list(secrets)
            if ready is not None:
                spec = ready(spec)
            stop = list(spec.stop)
            spec = _describe(folder, spec, call, environment, secrets, prompt)
            set_time_limit(folder, limits.time)
            order = _order(folder, spec, call, {**environment, **call.environment}, limits, secrets)
            order["stop"], order["others"] = stop, list(others)
            _spawn(order, (lock, tree_lock))
    except OSError as error:
        raise FileError(
            f"cannot be written: {error.strerror}", place=Place(folder), hint="is the disk full, or read-only?"
        ) from None
    return spec


def _order(
    folder: str, spec: Spec, call: Call, environment: dict[str, str], limits: Limits, secrets: list[str]
) -> "Order":
    guard = call.guard
    return {
        "id": spec.id,
        "folder": os.path.abspath(folder),
        "argv": list(call.argv),
        "environment": {**environment, children.MARKER: spec.id},
        "worktree": spec.worktree,
        "stdin": call.stdin.encode("utf-8", "surrogateescape"),
        "secrets": secrets,
        "private": spec.private,
        "time_limit": limits.time,
        "stall_limit": limits.stall,
        "grace": limits.grace,
        "outlived": call.outlived,
        "guard": (dict(guard.when), list(guard.lists), guard.needed) if guard else None,
        "stop": [],
        "keep_ref": spec.keep_ref,
        "others": [],
    }


def _take_lock(folder: str) -> int:
    fd = os.open(f"{folder}/{records.LOCK}", os.O_RDWR | os.O_CREAT | records.PLAIN, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        begun = any(os.path.exists(f"{folder}/{name}") for name in (records.RESULT, records.STARTED))
    except BlockingIOError:
        begun = True
    except BaseException:
        os.close(fd)
        raise
    if begun:
        os.close(fd)
        raise ConflictError("this agent call was started before", place=Place(folder), found=state_of(folder))
    return fd


def _describe(
    folder: str, spec: Spec, call: Call, environment: Mapping[str, str], secrets: list[str], prompt: str
) -> Spec:
    redactor = Redactor(secrets)
    spec = replace(
        spec,
        argv=tuple(redactor.text(word) for word in call.argv),
        variables=tuple(sorted({*environment, *call.environment})),
        stop=tuple(redactor.text(word) for word in spec.stop),
    )
    write_spec(folder, spec)
    prompt_file = f"{folder}/{records.PROMPT}"
    write_atomic(prompt_file, redactor.text(prompt).encode("utf-8", "replace"), durable=False)
    return spec


_shims: list[subprocess.Popen[bytes]] = []  # started by us and not yet collected
_counting = threading.Lock()  # lanes start theirs in threads of their own


def _spawn(order: "Order", locks: tuple[int, int]) -> None:
    """The shim has a session of its own and knows no terminal."""
    collect()
    read, write = os.pipe()
    try:
        shim = subprocess.Popen(
            [sys.executable, "-S", "-E", SHIM, ",".join(map(str, locks))],
            cwd="/",
            env={"PATH": _absolute(order["environment"].get("PATH", os.defpath))},  # to find git by
            stdin=read,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=locks,
            start_new_session=True,
        )
    except OSError as error:
        os.close(write)
        raise FileError(
            f"the supervisor of the call cannot be started: {error.strerror}", place=Place(sys.executable)
        ) from None
    except BaseException:
        os.close(write)
        raise
    finally:
        os.close(read)
    with _counting:
        _shims.append(shim)
    with suppress(BrokenPipeError):  # it died at once: the attempt is then still new
        write_order(write, order)


def _absolute(path: str) -> str:
    """A relative entry could name a file of the project."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))


def collect() -> None:
    """Take note of shims of ours that have ended; the kernel keeps them until somebody does."""
    with _counting:
        _shims[:] = [shim for shim in _shims if shim.poll() is None]
