"""bmad autopilot --daemon: run the command in the background, in its own session."""

import os
import select
import shlex
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NoReturn

import click

from ..core.errors import EXIT_DONE, EXIT_FAILED
from ..core.text import printable
from ..io.files import read_bytes
from ..project.project import Project
from ..runs.legacy_state import FOLDER
from ..runs.supervisor_lock import lock_owner, refuse_second_supervisor
from .context import current_project, display_path, print_event

LOG_NAME = "daemon.log"
START_TIMEOUT = 60.0  # seconds: the forge may be slow to authenticate
POLL_INTERVAL = 0.02
MAX_SHOWN = 8000  # bytes of its log that are printed if it ends at once


def start_daemon(ctx: click.Context, *, as_json: bool) -> NoReturn:
    """Exit once the supervisor is ready. If it ends before that, print its output and use its exit code."""
    project = current_project(ctx)
    project.bmad.require_supported()
    refuse_second_supervisor(project.state_folder)
    path = os.path.join(project.root.path, FOLDER, LOG_NAME)
    child = _start(_open_log(path))
    is_ready = _wait_until_ready(child, project)
    code = child.poll()
    if code is not None and not is_ready:
        output = read_bytes(path)[-MAX_SHOWN:].decode("utf-8", "replace")
        click.echo("\n".join(printable(line) for line in output.splitlines()), err=code != EXIT_DONE)
        ctx.exit(code if code >= 0 else EXIT_FAILED)
    shown = display_path(project, path)
    if as_json:
        print_event("daemon", {"pid": child.pid, "log": path, "ready": is_ready})
    else:
        state = "is at work" if is_ready else "still prepares itself"
        click.echo(f"bmad autopilot {state} in the background (pid {child.pid})")
        tail_command = shlex.join(("tail", "-f", printable(shown)))
        for command, purpose in (
            ("bmad status", "where it stands"),
            ("bmad stop", "ends it; agents at work go on"),
            (tail_command, "what it says"),
        ):
            click.echo(f"  {command:<{len(tail_command)}}   {purpose}")
    ctx.exit(EXIT_DONE)


def _open_log(path: str) -> int:
    """Open a new log and keep the previous one. No link is followed, as agents can write to this folder."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.replace(path, f"{path}.1")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def _start(log: int) -> "subprocess.Popen[bytes]":
    """Start with our own arguments. -P: the current folder must not be importable. The umask stays the user's,
    because agents create the user's files."""
    words = [word for word in sys.argv[1:] if word != "--daemon"]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # inherited by the child: closing the terminal must not end it
    try:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "bmad_autopilot", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    finally:
        os.close(log)


def _wait_until_ready(child: "subprocess.Popen[bytes]", project: Project) -> bool:
    """Whether the child became ready in time."""
    deadline = time.monotonic() + START_TIMEOUT
    while time.monotonic() < deadline:
        found = lock_owner(project.state_folder)
        if found is not None and found.pid == child.pid and found.ready:
            return True
        if child.poll() is not None:
            return False
        time.sleep(POLL_INTERVAL)
    return False


# Stopping, as for Ctrl-C, when the output's reader goes away: `bmad autopilot | head -1`. A command that waits for
# hours writes nothing and would not notice it.

CLOSED_MESSAGE = (
    "nobody reads the output any more: left, as by Ctrl-C; bmad autopilot goes on (bmad status shows where)"
)


@contextmanager
def stop_when_output_closes() -> Iterator[None]:
    """Watch standard output if it is a pipe: a closed window sends a signal itself, and a file has no reader."""
    out = sys.stdout.fileno()
    if not stat.S_ISFIFO(os.fstat(out).st_mode):
        yield
        return
    over, end = os.pipe()
    watcher = threading.Thread(target=_watch_output, args=(out, over), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        os.close(end)
        watcher.join()
        os.close(over)


def _watch_output(out: int, over: int) -> None:
    poll = select.poll()
    poll.register(out, 0)  # POLLERR for a closed reader needs no mask
    poll.register(over, 0)
    ready = [fd for fd, _ in poll.poll()]
    if over not in ready:
        # To the main thread: a signal delivered to another thread does not wake its wait.
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
