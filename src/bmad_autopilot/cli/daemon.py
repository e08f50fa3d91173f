"""bmad autopilot --daemon: the same command in a session of its own, without a terminal."""

import os
import shlex
import signal
import subprocess
import sys
import time
from typing import NoReturn

import click

from ..core.errors import EXIT_DONE, EXIT_FAILED
from ..files import read_bytes
from ..project.open import Project
from ..runs.autopilot_state import FOLDER
from ..runs.supervisor import owner, refuse_second
from ..views.terminal import clean
from .facts import print_json, shown_path, the_project

LOG = "daemon.log"
PATIENCE = 60.0  # seconds until it has begun: a forge may be slow to say who we are
LOOK = 0.02
MAX_SHOWN = 8000  # of what it said, where it ended at once


def start_daemon(ctx: click.Context, *, as_json: bool) -> NoReturn:
    """Returns, as the shell sees it, once the supervisor has begun; where it ends before that, with what it said
    and its exit code."""
    project = the_project(ctx)
    project.bmad.require_supported()
    refuse_second(project.state_folder)
    path = os.path.join(project.root.path, FOLDER, LOG)
    child = _start(_open_log(path))
    is_ready = _wait(child, project)
    code = child.poll()
    if code is not None and not is_ready:
        said = read_bytes(path)[-MAX_SHOWN:].decode("utf-8", "replace")
        click.echo("\n".join(clean(line) for line in said.splitlines()), err=code != EXIT_DONE)
        ctx.exit(code if code >= 0 else EXIT_FAILED)
    shown = shown_path(project, path)
    if as_json:
        data = {"pid": child.pid, "log": path, "ready": is_ready}
        print_json({"version": 1, "event": "daemon", "at": time.time(), **data})
    else:
        state = "is at work" if is_ready else "still prepares itself"
        click.echo(f"bmad autopilot {state} in the background (pid {child.pid})")
        look = shlex.join(("tail", "-f", clean(shown)))
        for command, purpose in (
            ("bmad status", "where it stands"),
            ("bmad stop", "ends it; agents at work go on"),
            (look, "what it says"),
        ):
            click.echo(f"  {command:<{len(look)}}   {purpose}")
    ctx.exit(EXIT_DONE)


def _open_log(path: str) -> int:
    """Begun anew; the one before it is kept. Agents can write there too: no link is followed."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    if os.path.lexists(path):
        os.replace(path, f"{path}.1")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.open(path, flags, 0o600)


def _start(log: int) -> "subprocess.Popen[bytes]":
    """With the words that we were called with. -P: what lies in the current folder is no part of the program. The
    umask stays the user's, as files that agents make are the user's."""
    words = [word for word in sys.argv[1:] if word != "--daemon"]
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # handed on: a terminal that is closed is none of its business
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


def _wait(child: "subprocess.Popen[bytes]", project: Project) -> bool:
    """Whether it has begun."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = owner(project.state_folder)
        if found is not None and found.pid == child.pid and found.ready:
            return True
        if child.poll() is not None:
            return False
        time.sleep(LOOK)
    return False
