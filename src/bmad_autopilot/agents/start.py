"""Starts one attempt: writes its folder, takes its locks, and spawns its shim."""

import fcntl
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from ..core.errors import ConflictError, FileError, Location
from ..io.files import read_bytes, write_atomic
from ..project.root import find_work_tree
from .adapter import AgentCommand
from .attempt import AttemptState, CallSpec, attempt_state, set_time_limit, write_call_spec
from .monitor import finalize_lost
from .shim import attempt_files, process_tree
from .shim.attempt_files import write_order
from .shim.redact import Redactor

if TYPE_CHECKING:
    from .shim.attempt_files import Order


# One agent per work tree: the shim holds the lock for as long as its agent may be working.

OWNER_FILE = "bmad-autopilot-agent"  # a file beside the lock that names the attempt holding it
LOCK_SECONDS = 5.0  # a shim that has written its result exits within milliseconds


def worktree_lock_path(worktree: str) -> str:
    """The work tree's own git folder, which is the same for every path to the work tree. The folder itself is
    locked, because a file in it could be removed."""
    tree = find_work_tree(os.path.realpath(worktree))
    return tree.git_dir if tree is not None else os.path.realpath(worktree)


def acquire_worktree_lock(worktree: str, folder: str, seconds: float = LOCK_SECONDS) -> int:
    """Acquire the lock for the attempt in `folder` and return its descriptor. If an earlier attempt there lost its
    shim, that attempt is finalized first."""
    path = worktree_lock_path(worktree)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_DIRECTORY)
    try:
        _wait_for_lock(fd, path, seconds)
        before = _read_owner(path)
        if before and before != folder and attempt_state(before) is AttemptState.LOST:
            with suppress(FileError):  # its records are gone or corrupted: there is nothing to finalize
                finalize_lost(before)
        write_atomic(os.path.join(path, OWNER_FILE), folder.encode("utf-8", "surrogateescape") + b"\n")
    except BaseException:
        os.close(fd)
        raise
    return fd


def _wait_for_lock(fd: int, path: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            owner = _read_owner(path)
            # With a result, the owner's shim is only cleaning up; without one, waiting is pointless.
            is_tidying_up = owner and attempt_state(owner) is not AttemptState.RUNNING
            if time.monotonic() >= deadline or not is_tidying_up:
                raise ConflictError(
                    "another agent works in this work tree",
                    location=Location(path),
                    found=owner or None,
                    expected="one agent per work tree",
                    hint="bmad agent list",
                ) from None
        time.sleep(0.002)


def _read_owner(path: str) -> str:
    """The attempt that held the lock last."""
    try:
        return read_bytes(os.path.join(path, OWNER_FILE), limit=8192).decode("utf-8", "surrogateescape").strip()
    except FileError:
        return ""


SHIM = os.path.join(os.path.dirname(__file__), "shim")


class TimeLimits(NamedTuple):
    """In seconds; a stall limit of 0 means none."""

    time: float
    stall: float
    grace: float = 10.0


class AttemptClaim(NamedTuple):
    """Descriptors of the attempt's lock and of its work tree's. The shim inherits both, so that they are held
    without a gap."""

    folder: str
    lock: int
    tree_lock: int


@contextmanager
def claim_attempt(folder: str, worktree: str) -> Iterator[AttemptClaim]:
    """Reserve the attempt and its work tree. Inside, only an error of the system refuses the start: changes that
    must precede it are made there. ConflictError: started before, or another agent is at work in the tree."""
    try:
        os.makedirs(folder, 0o700, exist_ok=True)
        with ExitStack() as stack:  # closes our descriptors in every case; the shim keeps its copies
            lock = _acquire_attempt_lock(folder)
            stack.callback(os.close, lock)
            attempt_files.reserve_result(folder)  # do not start a call whose result would not fit on the disk
            tree_lock = acquire_worktree_lock(worktree, folder)
            stack.callback(os.close, tree_lock)
            yield AttemptClaim(folder, lock, tree_lock)
    except OSError as error:
        raise FileError(
            f"cannot be written: {error.strerror}",
            location=Location(folder),
            hint="is the disk full, or read-only?",
        ) from None


def start_attempt(
    claim: AttemptClaim,
    spec: CallSpec,
    call: AgentCommand,
    *,
    environment: Mapping[str, str],
    limits: TimeLimits,
    prompt: str,
    secrets: Iterable[str] = (),
    other_worktrees: Iterable[str] = (),
) -> CallSpec:
    """Start the claimed call. Files contain no secrets; the agent's keys reach the shim through a pipe."""
    folder, secrets = claim.folder, list(secrets)
    stop = list(spec.stop)
    spec = _write_call_files(folder, spec, call, environment, secrets, prompt)
    set_time_limit(folder, limits.time)
    order = _build_order(folder, spec, call, {**environment, **call.environment}, limits, secrets)
    order["stop"], order["others"] = stop, list(other_worktrees)
    _spawn(order, (claim.lock, claim.tree_lock))
    return spec


def _build_order(
    folder: str,
    spec: CallSpec,
    call: AgentCommand,
    environment: dict[str, str],
    limits: TimeLimits,
    secrets: list[str],
) -> "Order":
    guard = call.guard
    return {
        "id": spec.id,
        "folder": os.path.abspath(folder),
        "argv": list(call.argv),
        "environment": {**environment, process_tree.MARKER: spec.id},
        "worktree": spec.worktree,
        "stdin": call.stdin.encode("utf-8", "surrogateescape"),
        "secrets": secrets,
        "private": spec.temp_folder,
        "time_limit": limits.time,
        "stall_limit": limits.stall,
        "grace": limits.grace,
        "outlived": call.is_detached,
        "guard": (dict(guard.event), list(guard.list_keys), guard.skill) if guard else None,
        "stop": [],
        "keep_ref": spec.keep_ref,
        "others": [],
    }


def _acquire_attempt_lock(folder: str) -> int:
    fd = os.open(f"{folder}/{attempt_files.LOCK}", os.O_RDWR | os.O_CREAT | attempt_files.SAFE_OPEN, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        is_started = any(
            os.path.exists(f"{folder}/{name}") for name in (attempt_files.RESULT, attempt_files.STARTED)
        )
    except BlockingIOError:
        is_started = True
    except BaseException:
        os.close(fd)
        raise
    if is_started:
        os.close(fd)
        raise ConflictError(
            "this agent call was started before", location=Location(folder), found=attempt_state(folder)
        )
    return fd


def _write_call_files(
    folder: str,
    spec: CallSpec,
    call: AgentCommand,
    environment: Mapping[str, str],
    secrets: list[str],
    prompt: str,
) -> CallSpec:
    redactor = Redactor(secrets)
    spec = replace(
        spec,
        argv=tuple(redactor.text(word) for word in call.argv),
        variables=tuple(sorted({*environment, *call.environment})),
        stop=tuple(redactor.text(word) for word in spec.stop),
    )
    write_call_spec(folder, spec)
    prompt_file = f"{folder}/{attempt_files.PROMPT}"
    write_atomic(prompt_file, redactor.text(prompt).encode("utf-8", "replace"), durable=False)
    return spec


_shims: list[subprocess.Popen[bytes]] = []  # started by this process and not yet reaped
_shims_lock = threading.Lock()  # lanes start their shims from several threads


def _spawn(order: "Order", locks: tuple[int, int]) -> None:
    """Start the shim in its own session, without a terminal."""
    reap_shims()
    read, write = os.pipe()
    try:
        shim = subprocess.Popen(
            [sys.executable, "-S", "-E", SHIM, ",".join(map(str, locks))],
            cwd="/",
            env={"PATH": _absolute_entries(order["environment"].get("PATH", os.defpath))},  # to find git by
            stdin=read,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=locks,
            start_new_session=True,
        )
    except OSError as error:
        os.close(write)
        raise FileError(
            f"the supervisor of the call cannot be started: {error.strerror}", location=Location(sys.executable)
        ) from None
    except BaseException:
        os.close(write)
        raise
    finally:
        os.close(read)
    with _shims_lock:
        _shims.append(shim)
    with suppress(BrokenPipeError):  # the shim died at once: the attempt is then still new
        write_order(write, order)


def _absolute_entries(path: str) -> str:
    """Drop relative entries: they could name a file of the project."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if os.path.isabs(entry))


def reap_shims() -> None:
    """Reap shims that have ended; the kernel keeps them as zombies until then."""
    with _shims_lock:
        _shims[:] = [shim for shim in _shims if shim.poll() is None]
