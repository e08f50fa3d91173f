"""Asking a person at the terminal that a run was started from."""

import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from ..engine.wakeups import FileWatch
from ..runs.answering import why_invalid
from ..runs.question import Kind, Question
from .interventions import MARGIN
from .log_lines import fit, fit_below
from .run_questions import question_lines
from .run_view import LogView
from .terminal import clean

MAX_TRIES = 20
MAX_LINE = 64 * 1024
LOOK_AGAIN = 30.0  # seconds: a net below being told; some file systems tell nothing

Answered = Callable[[], bool]


class TerminalHuman:
    """Somebody who can be asked here and now."""

    def __init__(self, view: LogView) -> None:
        self._view = view

    def ask(self, question: Mapping[str, Any]) -> str | None:
        """What they say, once it is an answer. None: not now (Ctrl-D, or Ctrl-C, which is then told on), or no
        longer: `answered`, where the question has it, says that somebody has answered elsewhere; `watched` names
        the files by which one is told to look."""
        asked = Question(**{name: question[name] for name in Question._fields if name in question})
        answered: Answered = question.get("answered") or (lambda: False)
        self._show(asked)
        files = FileWatch(question["watched"]) if question.get("watched") else None
        try:
            return self._until_answer(asked, answered, files)
        finally:
            if files is not None:
                files.close()

    def _until_answer(self, asked: Question, answered: Answered, files: FileWatch | None) -> str | None:
        for _ in range(MAX_TRIES):
            said = self._read_line(asked, answered, files)
            if said is None:
                return None
            if answered():
                self._view.say(fit(clean(f"no longer asked here; not used: {said}"), self._view.out, "  "))
                return None
            problem = why_invalid(asked, said)
            if problem is None:
                return said
            self._view.say(fit(clean(problem), self._view.out, "  "))
        return None

    def _show(self, asked: Question) -> None:
        out = self._view.out
        out.remeasure()
        margin = 0 if asked.kind is Kind.INTERVENTION else 2
        shown = [text for line in question_lines(asked) for text in fit_below(clean(line), out, margin)]
        self._view.say(["", *shown])

    def _read_line(self, asked: Question, answered: Answered, files: FileWatch | None) -> str | None:
        is_choice = asked.kind is Kind.INTERVENTION
        self._view.outlet.write(f"{MARGIN}Choice: " if is_choice else "answer (Ctrl-D: not now): ")
        try:
            with _signals_interrupt():
                if not _line_comes(answered, files):
                    self._view.outlet.write("\nno longer asked here; what was typed is not used\n")
                    return None
                line = sys.stdin.readline(MAX_LINE)
        except _Interrupted as interrupted:
            self._view.outlet.write("\n")
            signal.raise_signal(interrupted.number)  # whoever looks after the run hears it too
            return None
        except UnicodeDecodeError:
            return ""  # refused as an empty answer is, and asked again
        if not line:
            self._view.outlet.write("\n")
            return None
        return line.rstrip("\r\n")


def _line_comes(answered: Answered, files: FileWatch | None) -> bool:
    """Wait for one. False: somebody has answered elsewhere. What was typed until then goes: it must not become the
    beginning of the answer to the next question."""
    try:
        fd = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return True
    waited_for = [fd] if files is None else [fd, files.fileno()]
    while fd not in select.select(waited_for, [], [], LOOK_AGAIN)[0]:
        if files is not None:
            files.clear()
        if answered():
            with suppress(termios.error):  # no terminal
                termios.tcflush(fd, termios.TCIFLUSH)
            return False
    return True


class _Interrupted(Exception):
    def __init__(self, number: int) -> None:
        self.number = number


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """A run counts Ctrl-C and goes on; a read would then go on too, as if nothing had been pressed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise _Interrupted(number)

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
