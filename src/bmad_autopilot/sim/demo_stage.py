"""Where the demo plays: a project in a temporary folder, and commands typed there for real."""

import os
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

from ..agents.attempts import State, lock_is_held, state_of
from ..agents.watching import cancel
from ..core.commands import command
from ..core.errors import AutopilotError
from ..runs.layout import find_attempts, runs_folder
from .demo_project import make_project, use_plain_git

READING = 2.0  # seconds, for a few lines of words
WORKING = 1.0  # seconds of an agent's call: enough to be followed
HASTY = 0.4  # the same in a hurry: still enough to be killed in
PATIENCE = 120.0  # the most that anything is waited for
LOOK = 0.02

Child = subprocess.Popen[bytes]


class Teller(Protocol):
    def say(self, words: str) -> None:
        """What a person is told."""

    def typed(self, line: str) -> None:
        """A command, as a person would type it."""


class Stage:
    def __init__(self, root: str, teller: Teller, color: str, *, fast: bool) -> None:
        self.root = root
        self.say = teller.say
        self._typed = teller.typed
        self._color = color
        self._reading = 0.0 if fast else READING
        self._child: Child | None = None

    def introduce(self, words: str) -> None:
        """With time to read it."""
        self.say(words)
        time.sleep(self._reading)

    def bmad(self, *words: str, ends_with: int = 0, unseen: tuple[str, ...] = ()) -> None:
        _end(self.start_bmad(*words, unseen=unseen), command(*words), ends_with)

    def git(self, *words: str) -> None:
        line = " ".join(("git", *words))
        _end(self._start(["git", *words], line), line, 0)

    def start_bmad(self, *words: str, unseen: tuple[str, ...] = ()) -> Child:
        """`unseen`: what is not shown of the command, because it plays a part that is real elsewhere."""
        own = [sys.executable, "-m", "bmad_autopilot", "--color", self._color]
        return self._start([*own, *words, *unseen], command(*words))

    def kill(self, child: Child, why: str) -> None:
        """Told once it is done: a run that lives would draw over it."""
        child.kill()
        child.wait()
        self.say(why)
        self._typed(f"kill -9 {child.pid}")

    def clear(self) -> None:
        """Nothing that was started here goes on."""
        if self._child is not None and self._child.poll() is None:
            self._child.kill()
            self._child.wait()
        folders = [place.folder for place in find_attempts(runs_folder(self.root))]
        for folder in folders:
            if state_of(folder) is State.RUNNING:
                cancel(folder, "the demo is over")
        deadline = time.monotonic() + PATIENCE
        while any(map(lock_is_held, folders)) and time.monotonic() < deadline:  # a supervisor tidies up at its end
            time.sleep(LOOK)

    def _start(self, argv: list[str], line: str) -> Child:
        self._typed(line)
        # Nobody is there to be asked: a question ends the run, and is answered by a command that can be seen.
        self._child = subprocess.Popen(argv, cwd=self.root, stdin=subprocess.DEVNULL)
        return self._child


def await_while(child: Child, is_so: Callable[[], bool], what: str) -> None:
    """Something that must come to be while the child runs."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if child.poll() is not None or time.monotonic() > deadline:
            raise AutopilotError(f"the demo went wrong: {what} was never seen")
        time.sleep(LOOK)


def _end(child: Child, line: str, ends_with: int) -> None:
    try:
        code = child.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        raise AutopilotError(f"the demo went wrong: {line} does not end") from None
    if code != ends_with:
        raise AutopilotError(
            f"the demo went wrong: {line} ended otherwise than it should",
            found=f"exit code {code}",
            expected=f"exit code {ends_with}",
            hint="bmad demo --keep, and look at the project it leaves",
        )


@contextmanager
def open_stage(teller: Teller, color: str, *, fast: bool, keep: bool) -> Iterator[Stage]:
    """Whatever happens, nothing of it is left but the project, if that is wanted."""
    use_plain_git()
    folder = os.path.realpath(tempfile.mkdtemp(prefix="bmad-demo-"))
    # What is killed leaves temporary files: here they go with the rest.
    temporary = os.environ["TMPDIR"] = os.path.join(folder, "tmp")
    os.mkdir(temporary)
    stage = Stage(os.path.join(folder, "ledger"), teller, color, fast=fast)
    try:
        make_project(stage.root, HASTY if fast else WORKING)
        yield stage
    finally:
        with _undisturbed():
            try:
                stage.clear()
            finally:
                _remove(temporary if keep else folder)
        if keep:
            teller.say("The project stays; `bmad status` there says what comes next.")
            teller.typed(f"cd {shlex.quote(stage.root)}")


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Tidying up takes a moment, and people press Ctrl-C again."""
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, signal.SIG_IGN) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def _remove(folder: str) -> None:
    """A child's child may still be writing."""
    deadline = time.monotonic() + PATIENCE
    while os.path.lexists(folder) and time.monotonic() < deadline:
        shutil.rmtree(folder, ignore_errors=True)
        time.sleep(LOOK)
