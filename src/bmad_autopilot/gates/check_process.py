"""Supervises one check: runs it and kills all its processes at the end, even if the autopilot dies.

Runs as a separate program with a minimum of the standard library. Its stdin is a pipe that only the parent
process holds open: when the parent ends, even by `kill -9`, the check is stopped. A parent-death signal would
reach only the shell, not the shell's children."""

from __future__ import annotations

import os
import select
import signal
import sys
import time

GRACE = 2.0  # between SIGTERM and SIGKILL: time to stop containers and databases
KILL_SECONDS = 5.0
POLL_SECONDS = 0.005
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform == "linux"


def main() -> None:
    if _LINUX:
        _become_subreaper()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # only the end of the pipe stops us
        signal.signal(number, signal.SIG_IGN)
    wakeup, write = os.pipe()
    for fd in (wakeup, write):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    pid = _start(sys.argv[1])
    code = _wait(pid, wakeup)
    _terminate(pid, signal.SIGTERM if code is None else signal.SIGKILL)
    os._exit(code if code is not None else 1)


def _become_subreaper() -> None:
    """Adopt orphaned processes of the check, so that none can escape."""
    import _ctypes

    program = _ctypes.dlopen(None, os.RTLD_NOW)  # type: ignore[arg-type]
    _ctypes.call_function(_ctypes.dlsym(program, "prctl"), (_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))


def _start(command: str) -> int:
    pid = os.fork()
    if pid:
        return pid
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.execv("/bin/sh", ["/bin/sh", "-c", command])  # noqa: S606  # the user's own command, from the committed policy
    finally:
        os._exit(127)


def _wait(pid: int, wakeup: int) -> int | None:
    """The command's exit code; None: the parent process closed the pipe or died."""
    poll = select.poll()
    poll.register(0, select.POLLIN | select.POLLHUP)
    poll.register(wakeup, select.POLLIN)
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code
        for fd, _ in poll.poll():
            if fd == 0 and not os.read(0, 64):
                return None
            if fd == wakeup:
                os.read(wakeup, 4096)


def _terminate(pid: int, number: int) -> None:
    """Signal all descendants, SIGTERM first if `number` is that, then SIGKILL, until no child is left."""
    began = time.monotonic()
    asked = number == signal.SIGTERM
    if asked:
        _signal_tree(pid, number)
    while _reap() and time.monotonic() - began < GRACE + KILL_SECONDS:
        if not asked or time.monotonic() - began >= GRACE:
            _signal_tree(pid, signal.SIGKILL)
        time.sleep(POLL_SECONDS)


def _signal_tree(group: int, number: int) -> None:
    for target in (-group, *_descendants()):
        try:
            os.kill(target, number)
        except OSError:  # already ended
            continue


def _reap() -> bool:
    """Reap ended children. False if no child is left."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def _descendants() -> list[int]:
    """All descendants, in any group or session. Only on Linux; elsewhere the process group must suffice."""
    if not _LINUX:
        return []
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            children.setdefault(_parent(name), []).append(int(name))
    found: list[int] = []
    todo = [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        found += below
        todo += below
    return found


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, ValueError, IndexError):
        return 0


if __name__ == "__main__":
    main()
