"""The last lines of a terminal, drawn anew in place, while a log scrolls above them.

Nothing of the terminal is switched: no mode, no hidden cursor. Whatever ends us, there is nothing to restore."""

import time
from collections.abc import Callable, Iterable

from .terminal import Terminal, cut, display_width

MOST_PER_SECOND = 4
MARGIN = 5  # columns: a terminal writes `^C` behind the last line, twice, and that must not take another row

_UP = "\x1b[{}A"
_REST_OF_LINE = "\x1b[K"
_REST_OF_SCREEN = "\x1b[J"


class Live:
    def __init__(self, out: Terminal, write: Callable[[str], None], now: Callable[[], float] = time.monotonic):
        self._out = out
        self._write = write
        self._now = now
        self._drawn: list[str] = []
        self._drawn_at = -1.0

    def show(self, lines: Iterable[str]) -> None:
        """At most a few times a second; what comes sooner is left to the next."""
        if self._now() - self._drawn_at < 1 / MOST_PER_SECOND:
            return
        self._draw((), lines)

    def above(self, log: Iterable[str], lines: Iterable[str]) -> None:
        """Lines of the log, which stay, and the last lines below them."""
        self._draw(log, lines)

    def clear(self) -> None:
        self._draw((), ())

    def _draw(self, log: Iterable[str], lines: Iterable[str]) -> None:
        """In one write, and each line in place of the old one: a screen that is emptied first flickers."""
        self._out.remeasure()
        start = self._start()
        self._drawn = [cut(line, self._out.width - MARGIN) for line in lines]
        # Emptied before, not after: behind a line that is full this would take its last character.
        logged = "".join(f"{_REST_OF_LINE}{line}\n" for line in log)
        drawn = "\n".join(f"{_REST_OF_LINE}{line}" for line in self._drawn)
        self._write(f"{start}{logged}{drawn}{_REST_OF_SCREEN}")
        self._drawn_at = self._now()

    def _start(self) -> str:
        """Back to where the last lines begin. A window made narrower has broken them into more rows."""
        rows = sum(max(1, -(-display_width(line) // self._out.width)) for line in self._drawn)
        return "\r" + (_UP.format(rows - 1) if rows > 1 else "")
