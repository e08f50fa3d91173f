"""The demo's environment: a sample project in a temporary folder, and real `bmad` and `git` commands run in it."""

import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from ..agents.attempt import AttemptState, attempt_state, lock_is_held
from ..agents.monitor import cancel_attempt
from ..core.errors import AutopilotError, command
from ..io.files import read_text, write_atomic
from ..io.processes import find_program
from ..runs.layout import find_attempts, runs_folder
from .sample import BOARD, make_sample, scripted_agent_command

# The demo's project: the sample, made to look the same on every machine.

EPICS, STORIES = 2, 3
DEMO_HABITS = "picky:1-1,asking:1-3"  # 1-1 goes through a review round, 1-3's agent asks
CHECK = "./check"


def make_demo_project(root: str, seconds: float) -> None:
    """`seconds`: duration of one agent call."""
    if find_program("git") is None:
        raise AutopilotError("git is not installed", expected="git 2.30 or newer on PATH")
    os.mkdir(root)
    try:
        make_sample(root, EPICS, STORIES, agent_command=scripted_agent_command(DEMO_HABITS, seconds))
        _make_reproducible(root)
        hub = f"{root}.git"
        for words in (
            ("add", "--all"),
            ("commit", "--quiet", "--no-verify", "--amend", "--no-edit"),
            ("init", "--quiet", "--bare", "--initial-branch", "main", hub),
            ("remote", "add", "origin", hub),
            ("push", "--quiet", "origin", "main"),
        ):
            subprocess.run(["git", *words], cwd=root, check=True, stdin=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        reason = f"`{' '.join(error.cmd)}` ended with exit code {error.returncode}"
        raise AutopilotError(f"no project could be made to show: {reason}", hint="bmad doctor") from None


def use_plain_git() -> None:
    """Ignore the user's hooks, signing and pager, and the repository of a git hook that may have started us."""
    for name in [name for name in os.environ if name.startswith("GIT_") and name != "GIT_EXEC_PATH"]:
        del os.environ[name]
    os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"}


def _make_reproducible(root: str) -> None:
    """Date the board today and give the check a short name: the path of the interpreter may be long."""
    script = os.path.join(root, CHECK)
    write_atomic(script, f"#!/bin/sh\nexec {shlex.quote(sys.executable)} check.py\n".encode())
    os.chmod(script, 0o700)
    _substitute(os.path.join(root, "bmad-autopilot.toml"), r"(?m)^test = .*$", f'test = ["{CHECK}"]')
    with open(os.path.join(root, "bmad-autopilot.toml"), "ab") as file:
        file.write(b"\n[github]\ncheck_interval = 5\ncheck_grace = 5\n")
    _substitute(os.path.join(root, BOARD), r"\d\d-\d\d-\d{4} \d\d:\d\d", time.strftime("%m-%d-%Y %H:%M"))


def _substitute(path: str, pattern: str, text: str) -> None:
    write_atomic(path, re.sub(pattern, text, read_text(path).text).encode())


READING_SECONDS = 2.0  # to read a few lines
CALL_SECONDS = 1.0  # long enough to follow
FAST_CALL_SECONDS = 0.4  # with --fast: still long enough to kill the run during a call
TIMEOUT = 120.0  # of every wait
POLL_SECONDS = 0.02

Child = subprocess.Popen[bytes]


class DemoOutput(Protocol):
    def say(self, words: str) -> None:
        """Print an explanation."""

    def typed(self, line: str) -> None:
        """Print a command as the user would type it."""


class DemoStage:
    def __init__(self, root: str, output: DemoOutput, color: str, *, fast: bool) -> None:
        self.root = root
        self.say = output.say
        self._typed = output.typed
        self._color = color
        self._reading = 0.0 if fast else READING_SECONDS
        self._child: Child | None = None

    def introduce(self, words: str) -> None:
        """Print an explanation and pause for reading."""
        self.say(words)
        time.sleep(self._reading)

    def bmad(self, *words: str, exit_code: int = 0, hidden: tuple[str, ...] = ()) -> None:
        _wait_for_exit(self.start_bmad(*words, hidden=hidden), command(*words), exit_code)

    def git(self, *words: str) -> None:
        line = " ".join(("git", *words))
        _wait_for_exit(self._start(["git", *words], line), line, 0)

    def start_bmad(self, *words: str, hidden: tuple[str, ...] = ()) -> Child:
        """`hidden`: options that are not shown, because they simulate a part that is real in a user's project."""
        own = [sys.executable, "-m", "bmad_autopilot", "--color", self._color]
        return self._start([*own, *words, *hidden], command(*words))

    def kill(self, child: Child, why: str) -> None:
        """Prints `why` after the kill: a live run would draw over it."""
        child.kill()
        child.wait()
        self.say(why)
        self._typed(f"kill -9 {child.pid}")

    def clean_up(self) -> None:
        """Stop every process that the demo started."""
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait()
        folders = [location.folder for location in find_attempts(runs_folder(self.root))]
        for folder in folders:
            if attempt_state(folder) is AttemptState.RUNNING:
                cancel_attempt(folder, "the demo is over")
        deadline = time.monotonic() + TIMEOUT
        while any(map(lock_is_held, folders)) and time.monotonic() < deadline:  # a shim cleans up before it exits
            time.sleep(POLL_SECONDS)

    def _start(self, argv: list[str], line: str) -> Child:
        self._typed(line)
        # No stdin: a question ends the run, and the demo answers it with a visible command.
        self._child = subprocess.Popen(argv, cwd=self.root, stdin=subprocess.DEVNULL)
        return self._child


def wait_while_running(child: Child, condition: Callable[[], bool], what: str) -> None:
    """Wait until `condition` holds; fails if the child exits first."""
    deadline = time.monotonic() + TIMEOUT
    while not condition():
        if child.poll() is not None or time.monotonic() > deadline:
            raise AutopilotError(f"the demo went wrong: {what} was never seen")
        time.sleep(POLL_SECONDS)


def _wait_for_exit(child: Child, line: str, expected_code: int) -> None:
    try:
        code = child.wait(TIMEOUT)
    except subprocess.TimeoutExpired:
        raise AutopilotError(f"the demo went wrong: {line} does not end") from None
    if code != expected_code:
        raise AutopilotError(
            f"the demo went wrong: {line} ended otherwise than it should",
            found=f"exit code {code}",
            expected=f"exit code {expected_code}",
            hint="bmad demo --keep, and look at the project it leaves",
        )


@contextmanager
def open_stage(output: DemoOutput, color: str, *, fast: bool, keep: bool) -> Iterator[DemoStage]:
    """Make the project, and remove everything afterwards except for a kept project."""
    use_plain_git()
    folder = os.path.realpath(tempfile.mkdtemp(prefix="bmad-demo-"))
    # Killed processes leave temporary files: keep those inside the folder that is removed.
    temporary = os.environ["TMPDIR"] = os.path.join(folder, "tmp")
    os.mkdir(temporary)
    stage = DemoStage(os.path.join(folder, "ledger"), output, color, fast=fast)
    try:
        make_demo_project(stage.root, FAST_CALL_SECONDS if fast else CALL_SECONDS)
        yield stage
    finally:
        with _ignore_signals():
            try:
                stage.clean_up()
            finally:
                _remove(temporary if keep else folder)
        if keep:
            output.say("The project stays; `bmad status` there says what comes next.")
            output.typed(f"cd {shlex.quote(stage.root)}")


@contextmanager
def _ignore_signals() -> Iterator[None]:
    """Cleaning up takes a moment, and users press Ctrl-C again."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.SIG_IGN) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def _remove(folder: str) -> None:
    """Retries, because a grandchild may still be writing."""
    deadline = time.monotonic() + TIMEOUT
    while os.path.lexists(folder) and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(POLL_SECONDS)
