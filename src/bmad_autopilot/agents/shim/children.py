"""Processes: starting the agent so that it cannot outlive us, and ending it with everything it started."""

from __future__ import annotations

import os
import sys
import time

from .signals import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LINUX = sys.platform == "linux"
MARKER = "BMAD_ATTEMPT"
KILL_SECONDS = 5.0

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


class StartFailed(Exception):
    pass


def become_subreaper() -> None:
    """Orphans of the agent become our children, so that none can slip away."""
    if LINUX:
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> None:
    """Without ctypes, whose import takes longer than all the rest of starting the agent."""
    import _ctypes

    program = _ctypes.dlopen(None, os.RTLD_NOW)  # type: ignore[arg-type]  # None: what is loaded already
    _ctypes.call_function(_ctypes.dlsym(program, "prctl"), (option, value, 0, 0, 0))


def start(argv: list[str], environment: dict[str, str], folder: str, streams: tuple[int, int, int]) -> int:
    """Start the agent in a process group of its own; its pid. It is killed when we are: by the kernel on Linux,
    elsewhere by a watcher that holds the other end of a pipe of ours."""
    fail_read, fail_write = os.pipe()
    us = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            os.setpgid(0, 0)
            if LINUX:
                _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
                if os.getppid() != us:  # we were killed in between
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
        _watch_for_our_end(pid)
    return pid


def _reason(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error)


def _reset_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, [])


_watchers: list[int] = []


def _watch_for_our_end(group: int) -> None:
    """Without PDEATHSIG: a child that sleeps on a pipe until we are gone, then kills the agent's group."""
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
    os.close(read)  # `write` stays open as long as we live; it is not inherited
    _watchers.append(watcher)


def _kill_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except OSError:
        pass


def tell(group: int, number: int, *, everyone: bool) -> None:
    """A signal for the agent's group, or for everything it has started, in whatever group it is."""
    _kill_group(group, number)
    if everyone:
        for pid in descendants(os.getpid()):
            _kill(pid, number)


def _kill(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        pass


def kill_descendants(group: int) -> int:
    """End everything below us; how many there were. As a subreaper we have them all: nothing is left once there
    is no child to wait for."""
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
    """Collect whoever has ended. False: there is no child left at all."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def descendants(root: int) -> list[int]:
    """Every process below this one, children before grandchildren. Linux; elsewhere the group must do."""
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
            # The name may hold spaces and brackets: what counts comes behind its last bracket.
            state, parent = file.read().rpartition(b")")[2].split()[:2]
    except (OSError, ValueError):
        return None
    return None if state in b"ZX" else int(parent)


def sweep(marker: str) -> int:
    """Kill what is left of a call whose shim is gone: every process that carries its marker. How many."""
    wanted = f"{MARKER}={marker}".encode()
    killed: set[int] = set()
    deadline = time.monotonic() + KILL_SECONDS
    while LINUX and time.monotonic() < deadline:
        marked = [pid for pid in _pids() if _carries(pid, wanted)]
        if not marked:
            break
        killed.update(marked)
        for pid in marked:
            _kill(pid, signal.SIGKILL)
        time.sleep(0.001)
    return len(killed)


def _pids() -> Iterable[int]:
    return (int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid())


def _carries(pid: int, wanted: bytes) -> bool:
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:
            environment = file.read()
    except OSError:
        return False
    return wanted in environment.split(b"\0")  # a zombie's is empty
