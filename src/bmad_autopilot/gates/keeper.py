"""Keeps one check: runs it and sees to it that nothing of it is left, whatever becomes of us.

Started as a program of its own, with nothing but the standard library's smallest parts. Its standard input is a
pipe that only the process which started it holds open: at its end, be it by a `kill -9`, the check is over. A
parent-death signal would reach the shell alone and not what the shell started."""

from __future__ import annotations

import os
import select
import signal
import sys
import time

GRACE = 2.0  # for a check that is told to end: containers and data bases are stopped in it
KILL_SECONDS = 5.0
TURN = 0.005
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform == "linux"


def main() -> None:
    if _LINUX:
        _become_subreaper()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # ours to end is the pipe
        signal.signal(number, signal.SIG_IGN)
    wakeup, write = os.pipe()
    for fd in (wakeup, write):
        os.set_blocking(fd, False)
    signal.set_wakeup_fd(write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    pid = _start(sys.argv[1])
    code = _wait(pid, wakeup)
    _end(pid, signal.SIGTERM if code is None else signal.SIGKILL)
    os._exit(code if code is not None else 1)


def _become_subreaper() -> None:
    """What the check leaves behind becomes ours, so that none of it can slip away."""
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
        os.execv("/bin/sh", ["/bin/sh", "-c", command])  # noqa: S606  # the user's own, from the committed policy
    finally:
        os._exit(127)


def _wait(pid: int, wakeup: int) -> int | None:
    """The command's exit code; None: whoever started us wants an end, or is gone."""
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


def _end(pid: int, number: int) -> None:
    """Everything below us: asked first where there is time for it, then killed, until there is no child left."""
    began = time.monotonic()
    asked = number == signal.SIGTERM
    if asked:
        _tell(pid, number)
    while _reap() and time.monotonic() - began < GRACE + KILL_SECONDS:
        if not asked or time.monotonic() - began >= GRACE:
            _tell(pid, signal.SIGKILL)
        time.sleep(TURN)


def _tell(group: int, number: int) -> None:
    for target in (-group, *_descendants()):
        try:
            os.kill(target, number)
        except OSError:  # gone by itself
            continue


def _reap() -> bool:
    """Collect whoever has ended. False: there is no child left."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def _descendants() -> list[int]:
    """Every process below us, in whatever group or session; elsewhere than on Linux the group must do."""
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
