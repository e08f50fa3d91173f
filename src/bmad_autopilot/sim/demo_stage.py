"""Where the demonstration plays: a sample project in a temporary folder, and commands typed there for real."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol

from ..agents.attempts import State, lock_is_held, state_of
from ..agents.watching import cancel
from ..core.commands import command
from ..core.errors import AutopilotError
from ..files import read_text, write_atomic
from ..project.programs import find_program
from ..runs.layout import find_attempts, runs_folder
from .sample import BOARD, make_sample, scripted

EPICS, STORIES = 2, 3
HABITS = "picky:1-1,asking:1-3"  # 1-1 goes through a review round, 1-3's agent asks
CHECK = "./check"
READING = 1.6  # seconds, for a line of words
WORKING = 1.0  # seconds of an agent's call: long enough to be followed
HASTY = 0.4  # the same in a hurry: still long enough to be killed in
PATIENCE = 120.0  # the most that is waited for anything


class Teller(Protocol):
    def say(self, words: str) -> None:
        """A line of plain words."""

    def typed(self, line: str) -> None:
        """A command, as a person would type it."""


class Stage:
    def __init__(self, root: str, teller: Teller, color: str, *, fast: bool) -> None:
        self.root = root
        self.say = teller.say
        self._typed = teller.typed
        self._color = color
        self._reading = 0.0 if fast else READING
        self._child: subprocess.Popen[bytes] | None = None

    def introduce(self, words: str) -> None:
        self.say(words)
        time.sleep(self._reading)

    def bmad(self, *words: str, ends_with: int = 0) -> None:
        self._wait(self.start_bmad(*words), command(*words), ends_with)

    def git(self, *words: str) -> None:
        self._wait(self._start(["git", *words], " ".join(("git", *words))), "git", 0)

    def start_bmad(self, *words: str) -> "subprocess.Popen[bytes]":
        own = [sys.executable, "-m", "bmad_autopilot", "--color", self._color]
        return self._start([*own, *words], command(*words))

    def kill(self, child: "subprocess.Popen[bytes]") -> None:
        child.kill()
        child.wait()
        self._typed(f"kill -9 {child.pid}")

    def until(self, is_so: Callable[[], bool], child: "subprocess.Popen[bytes]", what: str) -> None:
        """Wait for something that must come to be while the child runs."""
        deadline = time.monotonic() + PATIENCE
        while not is_so():
            if child.poll() is not None or time.monotonic() > deadline:
                raise AutopilotError(f"the demonstration went wrong: {what} was never seen")
            time.sleep(0.02)

    def clear(self) -> None:
        """Nothing that was started here goes on."""
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait()
        folders = [place.folder for place in find_attempts(runs_folder(self.root))]
        for folder in folders:
            if state_of(folder) is State.RUNNING:
                cancel(folder, "the demonstration is over")
        deadline = time.monotonic() + PATIENCE
        while any(map(lock_is_held, folders)) and time.monotonic() < deadline:  # a supervisor tidies up at its end
            time.sleep(0.02)

    def _start(self, argv: list[str], line: str) -> "subprocess.Popen[bytes]":
        self._typed(line)
        # Nobody is there to be asked: a question ends the run, and is answered by a command that can be seen.
        self._child = subprocess.Popen(argv, cwd=self.root, stdin=subprocess.DEVNULL)
        return self._child

    def _wait(self, child: "subprocess.Popen[bytes]", line: str, ends_with: int) -> None:
        try:
            code = child.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise AutopilotError(f"the demonstration went wrong: {line} does not end") from None
        if code != ends_with:
            raise AutopilotError(
                f"the demonstration went wrong: {line} ended otherwise than it should",
                found=f"exit code {code}",
                expected=f"exit code {ends_with}",
                hint="bmad demo --keep, and look at the project it leaves",
            )


@contextmanager
def open_stage(teller: Teller, color: str, *, fast: bool, keep: bool) -> Iterator[Stage]:
    """Whatever happens, nothing is left of it but the folder, if that is wanted."""
    if find_program("git") is None:
        raise AutopilotError("git is not installed", expected="git 2.30 or newer on PATH")
    _use_plain_git()
    folder = os.path.realpath(tempfile.mkdtemp(prefix="bmad-demo-"))
    stage = Stage(os.path.join(folder, "ledger"), teller, color, fast=fast)
    try:
        _make(stage.root, HASTY if fast else WORKING)
        yield stage
    finally:
        stage.clear()
        if keep:
            teller.say(f"The project stays in {stage.root}")
        else:
            _remove(folder)


def _use_plain_git() -> None:
    """As on a fresh machine: no hook, signature or pager of the user's, and not the repository of a hook we are
    called from."""
    for name in [name for name in os.environ if name.startswith("GIT_") and name != "GIT_EXEC_PATH"]:
        del os.environ[name]
    os.environ |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_PAGER": "cat"}


def _make(root: str, seconds: float) -> None:
    os.mkdir(root)
    try:
        make_sample(root, EPICS, STORIES, agent_command=scripted(HABITS, seconds))
        _fit_for_show(root)
        subprocess.run(["git", "add", "--all"], cwd=root, check=True, stdin=subprocess.DEVNULL)
        amend = ["git", "commit", "--quiet", "--no-verify", "--amend", "--no-edit"]
        subprocess.run(amend, cwd=root, check=True, stdin=subprocess.DEVNULL)
    except subprocess.CalledProcessError as error:
        said = f"`{' '.join(error.cmd)}` ended with exit code {error.returncode}"
        raise AutopilotError(f"no project could be made to show: {said}", hint="bmad doctor") from None


def _fit_for_show(root: str) -> None:
    """A board of today, and a check whose name is short on every machine."""
    script = os.path.join(root, CHECK)
    with open(script, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\nexec {shlex.quote(sys.executable)} check.py\n")
    os.chmod(script, 0o755)
    _change(os.path.join(root, "bmad-autopilot.toml"), r"(?m)^test = .*$", f'test = ["{CHECK}"]')
    _change(os.path.join(root, BOARD), r"\d\d-\d\d-\d{4} \d\d:\d\d", time.strftime("%m-%d-%Y %H:%M"))


def _change(path: str, pattern: str, text: str) -> None:
    write_atomic(path, re.sub(pattern, text, read_text(path).text).encode())


def _remove(folder: str) -> None:
    """A child's child may still be writing."""
    deadline = time.monotonic() + PATIENCE
    while os.path.lexists(folder) and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        if os.path.lexists(folder):
            time.sleep(0.05)
