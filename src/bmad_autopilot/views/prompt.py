"""Asks the user at the terminal a run was started from."""

import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

from ..core.stop_causes import StopKind
from ..core.text import printable
from ..engine.waiting import FileWatch
from ..runs.question_file import RunQuestion, answer_problem
from .format import fit, fit_block_line
from .questions import MARGIN, question_lines
from .run_view import LogView

MAX_TRIES = 20
MAX_LINE = 64 * 1024
POLL_SECONDS = 30.0  # seconds: a fallback poll, as some file systems send no change events

IsAnswered = Callable[[], bool]


class TerminalPrompter:
    """Prompts for answers on standard input."""

    def __init__(self, view: LogView) -> None:
        self._view = view

    def ask(self, question: Mapping[str, Any]) -> str | None:
        """Return a valid answer. None: the user declined (Ctrl-D, or Ctrl-C, which is raised again afterwards), or
        the question was answered elsewhere. The question's `answered` callback reports that; its `watched` lists
        the files whose changes trigger the callback."""
        asked = RunQuestion(**{name: question[name] for name in RunQuestion._fields if name in question})
        answered: IsAnswered = question.get("answered") or (lambda: False)
        self._show(asked)
        files = FileWatch(question["watched"]) if question.get("watched") else None
        try:
            return self._ask_until_valid(asked, answered, files)
        finally:
            if files is not None:
                files.close()

    def _ask_until_valid(self, asked: RunQuestion, answered: IsAnswered, files: FileWatch | None) -> str | None:
        for _ in range(MAX_TRIES):
            reply = self._read_line(asked, answered, files)
            if reply is None:
                return None
            if answered():
                self._view.print_lines(
                    fit(printable(f"no longer asked here; not used: {reply}"), self._view.out, "  ")
                )
                return None
            problem = answer_problem(asked, reply)
            if problem is None:
                return reply
            self._view.print_lines(fit(printable(problem), self._view.out, "  "))
        return None

    def _show(self, asked: RunQuestion) -> None:
        out = self._view.out
        out.remeasure()
        margin = 0 if asked.kind is StopKind.INTERVENTION else 2
        shown = [text for line in question_lines(asked) for text in fit_block_line(printable(line), out, margin)]
        self._view.print_lines(["", *shown])

    def _read_line(self, asked: RunQuestion, answered: IsAnswered, files: FileWatch | None) -> str | None:
        is_choice = asked.kind is StopKind.INTERVENTION
        self._view.output.write(f"{MARGIN}Choice: " if is_choice else "answer (Ctrl-D: not now): ")
        try:
            with _signals_interrupt():
                if not _wait_for_line(answered, files):
                    self._view.output.write("\nno longer asked here; what was typed is not used\n")
                    return None
                line = sys.stdin.readline(MAX_LINE)
        except _Interrupted as interrupted:
            self._view.output.write("\n")
            signal.raise_signal(interrupted.number)  # the run's own handler must see it too
            return None
        except UnicodeDecodeError:
            return ""  # rejected like an empty answer, then asked again
        if not line:
            self._view.output.write("\n")
            return None
        return line.rstrip("\r\n")


def _wait_for_line(answered: IsAnswered, files: FileWatch | None) -> bool:
    """Wait for a line. False: the question was answered elsewhere. Typed characters are then discarded: they must
    not become the start of the next answer."""
    try:
        fd = sys.stdin.fileno()
    except (AttributeError, OSError, ValueError):
        return True
    waited_for = [fd] if files is None else [fd, files.fileno()]
    while fd not in select.select(waited_for, [], [], POLL_SECONDS)[0]:
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
    """Make Ctrl-C interrupt the read. The run's own handler only counts it, and the read would continue."""
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
