"""Waits for shims, cancels them, and finalizes attempts whose shim died, whichever process started them."""

import fcntl
import json
import os
import select
import signal
import threading
import time
from collections.abc import Iterable
from contextlib import suppress

from ..io.files import write_atomic
from .attempt import (
    AttemptResult,
    AttemptState,
    CallSpec,
    attempt_state,
    lock_is_held,
    read_call_spec,
    read_result,
    refuse_linked_folder,
)
from .environment import agent_environment
from .shim import attempt_files, process_tree, tree_snapshot
from .shim.attempt_files import remove_temp_folder

START_SECONDS = 10.0
HAS_PIDFD = hasattr(os, "pidfd_open")


class ShimWatch:
    """Readable (for select and poll) once the shim of one attempt has ended."""

    def __init__(self, folder: str, fd: int) -> None:
        self.folder = folder
        self._fd = fd

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        os.close(self._fd)

    def kill(self) -> None:
        """Kill the shim. Its agent dies with it, or is killed when the call is finalized."""
        if HAS_PIDFD:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._fd, signal.SIGKILL)


def watch_shim(folder: str) -> ShimWatch | None:
    """None if no shim is running for this attempt."""
    pid = _shim_pid(folder)
    if pid is None:
        return None
    if not HAS_PIDFD:
        return _watch_lock(folder)
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return None
    # Check the lock only now: if the pid was reused by another process, that process does not hold it.
    if lock_is_held(folder):
        return ShimWatch(folder, fd)
    os.close(fd)
    return None


def _shim_pid(folder: str) -> int | None:
    """The shim's pid. A shim that has just been started needs a moment to write it."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        started = attempt_files.read_started(folder)
        if started is not None:
            return started[0]
        if not lock_is_held(folder) or time.monotonic() > deadline:
            return None
        time.sleep(0.002)


def _watch_lock(folder: str) -> ShimWatch:
    """Without pidfds, a thread waits for the lock, which the shim holds until it exits."""
    read, write = os.pipe()

    def wait() -> None:
        try:
            fd = os.open(f"{folder}/{attempt_files.LOCK}", os.O_RDONLY | attempt_files.SAFE_OPEN)
            try:
                fcntl.flock(fd, fcntl.LOCK_SH)
            finally:
                os.close(fd)
        except OSError:  # the folder is gone: there is nothing to wait for
            pass
        finally:
            os.close(write)

    threading.Thread(target=wait, daemon=True).start()
    return ShimWatch(folder, read)


def wait_for_any(folders: Iterable[str], seconds: float | None = None) -> list[str]:
    """Wait until one of these attempts has ended or the time is over. Returns those that have ended."""
    watches = []
    try:
        ended = []
        for folder in folders:
            one = watch_shim(folder) if attempt_state(folder) is AttemptState.RUNNING else None
            if one is None:
                ended.append(folder)
            else:
                watches.append(one)
        if ended or not watches:
            return ended
        poll = select.poll()
        for one in watches:
            poll.register(one, select.POLLIN)
        ready = {fd for fd, _ in poll.poll(None if seconds is None else max(0, int(seconds * 1000)))}
        return [one.folder for one in watches if one.fileno() in ready]
    finally:
        for one in watches:
            one.close()


def cancel_attempt(folder: str, why: str) -> bool:
    """Ask the shim to end its agent. False if no shim is running."""
    pid = _shim_pid(folder)
    if pid is None:
        return False
    write_atomic(f"{folder}/{attempt_files.CANCEL_FILE}", json.dumps({"why": why}).encode() + b"\n")
    one = watch_shim(folder)
    if one is None:
        return False
    try:
        for number in (signal.SIGTERM, signal.SIGCONT):  # the agent may have suspended the shim
            if HAS_PIDFD:
                signal.pidfd_send_signal(one.fileno(), number)
            else:
                os.kill(pid, number)
    except ProcessLookupError:
        return False
    finally:
        one.close()
    return True


# Finalizing attempts whose shim died.

STOP_SECONDS = 20.0
LAUNCHER_VARIABLES = ("DOCKER_*", "SSH_AUTH_SOCK")  # variables that the launchers' programs need


def finalize_lost(folder: str) -> AttemptResult:
    """Finalize an attempt whose shim was killed: kill its remaining processes, keep its work, write its result."""
    refuse_linked_folder(folder)
    fd = os.open(f"{folder}/{attempt_files.LOCK}", os.O_RDWR | os.O_CREAT | attempt_files.SAFE_OPEN, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)  # a concurrent caller waits here and then finds our result
        found = read_result(folder)
        if found is not None:
            return found
        spec = read_call_spec(folder)
        swept = process_tree.kill_marked(spec.id)
        problems = [] if run_stop_command(spec) else ["the launcher's stop command failed"]
        own = attempt_files.open_folder(folder)
        try:
            attempt_files.write_result(own, _lost_result(folder, spec, swept, problems))
        finally:
            os.close(own)
    finally:
        os.close(fd)
    result = read_result(folder)
    assert result is not None
    return result


def run_stop_command(spec: CallSpec) -> bool:
    """Run the command that stops a call behind a launcher. The agent may have changed the recorded command, so it
    runs without our keys."""
    environment = agent_environment(
        os.environ, variables=LAUNCHER_VARIABLES, pass_through=(), temp_folder="/", identity=None
    )
    return not spec.stop or tree_snapshot.run(list(spec.stop), environment, STOP_SECONDS)[0] == 0


def _lost_result(folder: str, spec: CallSpec, swept: int, problems: list[str]) -> dict[str, object]:
    started = attempt_files.read_started(folder)
    began = started[1] if started else spec.created_at
    environment = agent_environment(
        os.environ, variables=(), pass_through=(), temp_folder=spec.temp_folder, identity=None
    )
    os.makedirs(spec.temp_folder, 0o700, exist_ok=True)
    snapshot = tree_snapshot.look(spec.worktree, environment, f"{spec.temp_folder}/index")
    kept = tree_snapshot.keep_work(
        spec.worktree, environment, snapshot, spec.keep_ref, attempt_files.LOST, spec.id
    )
    remains = remove_temp_folder(spec.temp_folder)
    return attempt_files.build_result(
        spec.id,
        (began, time.time(), time.time() - began),
        attempt_files.LOST,
        None,
        snapshot,
        kept=kept,
        left_over=swept,
        problems=[*problems, snapshot.problem, remains],
    )
