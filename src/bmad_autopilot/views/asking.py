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

from ..runs.answering import why_invalid
from ..runs.question import Kind, Question
from .log_lines import fit, fit_below
from .run_questions import question_lines
from .run_view import LogView
from .terminal import clean

MAX_TRIES = 20
MAX_LINE = 64 * 1024
LOOK_AGAIN = 1.0  # seconds: has somebody answered elsewhere?

Answered = Callable[[], bool]


class TerminalHuman:
    """Somebody who can be asked here and now."""

    def __init__(self, view: LogView) -> None:
        self._view = view

    def ask(self, question: Mapping[str, Any]) -> str | None:
        """What they say, once it is an answer. None: not now (Ctrl-D, or Ctrl-C, which is then told on), or no
        longer: `answered`, where the question has it, says that somebody has answered elsewhere."""
        asked = Question(**{name: question[name] for name in Question._fields if name in question})
        answered: Answered = question.get("answered") or (lambda: False)
        self._show(asked)
        for _ in range(MAX_TRIES):
            said = self._read_line(answered)
            if said is None:
                return None
            if answered():
                self._view.say(fit(clean(f"answered elsewhere; not used: {said}"), self._view.out, "  "))
                return None
            problem = why_invalid(asked, said)
            if problem is None:
                return said
            self._view.say(fit(clean(problem), self._view.out, "  "))
        return None

    def _show(self, asked: Question) -> None:
        out = self._view.out
        out.remeasure()
        lines = question_lines(asked, ours=asked.kind is Kind.INTERVENTION)
        shown = [text for line in lines for text in fit_below(clean(line), out, 2)]
        self._view.say(["", *shown])

    def _read_line(self, answered: Answered) -> str | None:
        self._view.outlet.write("answer (Ctrl-D: not now): ")
        try:
            with _signals_interrupt():
                if not _line_comes(answered):
                    self._view.outlet.write("\nanswered elsewhere; what was typed here is not used\n")
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


def _line_comes(answered: Answered) -> bool:
    """Wait for one. False: somebody has answered elsewhere. What was typed until then goes: it must not become the
    beginning of the answer to the next question."""
    try:
        fd = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return True
    while not select.select([fd], [], [], LOOK_AGAIN)[0]:
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
