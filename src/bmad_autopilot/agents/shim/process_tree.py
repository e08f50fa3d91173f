"""Starts the agent so that it cannot outlive the shim, and kills it with all its descendants."""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Iterable


# The signal module without its enums, which would take a third of the shim's start-up time.

if TYPE_CHECKING:
    import signal
else:
    import _signal as signal

__all__ = ["signal"]


LINUX = sys.platform == "linux"
MARKER = "BMAD_ATTEMPT"
KILL_SECONDS = 5.0

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class StartFailed(Exception):
    pass


def become_subreaper() -> None:
    """Make orphans of the agent our children, so that none can escape."""
    if LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    """Call prctl without ctypes, whose import takes longer than everything else at the agent's start."""
    import _ctypes

    program = _ctypes.dlopen(None, os.RTLD_NOW)  # type: ignore[arg-type]  # None: the running program
    _ctypes.call_function(_ctypes.dlsym(program, "prctl"), (option, value, 0, 0, 0))


def start(argv: list[str], environment: dict[str, str], folder: str, streams: tuple[int, int, int]) -> int:
    """Start the agent in its own process group and return its pid. It dies with the shim: on Linux by the kernel,
    elsewhere by a watcher process that holds the other end of a pipe."""
    fail_read, fail_write = os.pipe()
    us = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            if LINUX:
                _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != us:  # the shim was killed in between
                    os._exit(127)
            for number, fd in enumerate(streams):
                os.dup2(fd, number)
            _reset_signals()
            os.chdir(folder)
            os.execve(argv[0], argv, environment)
        except BaseException as error:
            os.write(fail_write, f"{getattr(error, 'filename', None) or argv[0]}: {_reason(error)}".encode())
        finally:
            os._exit(127)
    os.close(fail_write)
    with os.fdopen(fail_read, "rb") as pipe:  # closed by a successful exec
        problem = pipe.read(4096).decode("utf-8", "replace")
    if problem:
        os.waitpid(pid, 0)
        raise StartFailed(problem)
    if not LINUX:
        _kill_group_on_exit(pid)
    return pid


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)


def _reset_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


_watchers: list[int] = []


def _kill_group_on_exit(group: int) -> None:
    """Without PDEATHSIG, a child process waits on a pipe until the shim is gone, then kills the agent's group."""
    read, write = os.pipe()
    watcher = os.fork()
    if watcher == 0:
        os.setsid()
        os.close(write)
        for fd in (*range(read), *range(read + 1, 256)):
            try:
                os.close(fd)
            except OSError:
                pass
        os.read(read, 1)
        _kill_group(group, signal.SIGKILL)
        os._exit(0)
    os.close(read)  # `write` stays open until the shim exits; it is not inherited
    _watchers.append(watcher)


def _kill_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except OSError:
        pass


def send_signal(group: int, number: int, *, include_descendants: bool) -> None:
    """Signal the agent's group, and with `include_descendants` every process it has started, in any group."""
    _kill_group(group, number)
    if include_descendants:
        for pid in descendants(os.getpid()):
            _kill(pid, number)


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass


def kill_descendants(group: int) -> int:
    """Kill all descendants and return their number. As a subreaper the shim inherits them all: once it has no
    child to wait for, none is left."""
    for watcher in _watchers:
        _kill(watcher, signal.SIGKILL)
    seen: set[int] = set()
    deadline = time.monotonic() + KILL_SECONDS
    while _reap() and time.monotonic() < deadline:
        below = descendants(os.getpid())
        seen.update(below)
        _kill_group(group, signal.SIGKILL)
        for pid in below:
            _kill(pid, signal.SIGKILL)
        time.sleep(0.001)  # they are dying; the next wait collects them
    return len(seen)


def _reap() -> bool:
    """Reap children that have ended. False if no child is left."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def descendants(root: int) -> list[int]:
    """Every descendant of this process, children before grandchildren. Linux only; elsewhere, signal the group."""
    if not LINUX:
        return []
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            parent = _parent(name)
            if parent is not None:
                children.setdefault(parent, []).append(int(name))
    found: list[int] = []
    todo = [root]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def _parent(pid: str) -> int | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name may contain spaces and brackets: the fields follow its last bracket.
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return None
    return None if state in b"ZX" else int(parent)


def kill_marked(marker: str) -> int:
    """Kill every process that carries the marker of a call whose shim died, and return their number."""
    wanted = f"{MARKER}={marker}".encode()
    killed: set[int] = set()
    deadline = time.monotonic() + KILL_SECONDS
    while LINUX and time.monotonic() < deadline:
        marked = [pid for pid in _pids() if _has_marker(pid, wanted)]
        if not marked:
            break
        killed.update(marked)
        for pid in marked:
            _kill(pid, signal.SIGKILL)
        time.sleep(0.001)
    return len(killed)


def _pids() -> Iterable[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid())


def _has_marker(pid: int, wanted: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environment = file.read()
    except OSError:
        return False
    return wanted in environment.split(b"\0")  # a zombie's is empty
