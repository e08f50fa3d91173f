"""Asking a person at the terminal that a run was started from."""

import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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


class TerminalHuman:
    """Somebody who can be asked here and now."""

    def __init__(self, view: LogView) -> None:
        self._view = view

    def ask(self, question: Mapping[str, Any]) -> str | None:
        """What they say, once it is an answer. None: not now (Ctrl-D, or Ctrl-C, which is then told on)."""
        asked = Question(**{name: question[name] for name in Question._fields if name in question})
        self._show(asked)
        for _ in range(MAX_TRIES):
            said = self._read_line()
            if said is None:
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

    def _read_line(self) -> str | None:
        self._view.outlet.write("answer (Ctrl-D: not now): ")
        try:
            with _signals_interrupt():
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
