"""Terminal output: width, colour, truncation, wrapping, and live lines."""

import os
import sys
import time
import unicodedata
from collections.abc import Callable, Iterable

_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
}


class Terminal:
    """Properties of standard output: width, colour and Unicode support."""

    def __init__(self, color: str = "auto", width: int | None = None) -> None:
        out = sys.stdout
        self.is_terminal = out.isatty()
        self.width = width or _width(self.is_terminal)
        self.color = color == "always" or (color == "auto" and _wants_color(self.is_terminal))
        self.unicode = (out.encoding or "").lower().replace("-", "") == "utf8"

    def remeasure(self) -> None:
        """Read the width again: windows are resized while a run is going."""
        self.width = _width(self.is_terminal)

    def style(self, text: str, *names: str) -> str:
        if not self.color or not names or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[name] for name in names)}m{text}\x1b[0m"

    def bar(self, done: int, total: int, width: int) -> str:
        filled = done * width // total if total else 0
        if 0 < done < total:
            filled = max(1, min(filled, width - 1))  # a started bar is never empty, an unfinished one never full
        full, empty = ("█", "░") if self.unicode else ("#", ".")
        return self.style(full * filled, "green") + self.style(empty * (width - filled), "dim")


def _width(is_terminal: bool) -> int:
    try:
        columns = int(os.environ.get("COLUMNS", ""))
        if columns > 0:
            return columns
    except ValueError:
        pass
    if is_terminal:
        try:
            return os.get_terminal_size(sys.stdout.fileno()).columns or 80
        except OSError:
            pass
    return 80


def _wants_color(is_terminal: bool) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return is_terminal and os.environ.get("TERM") != "dumb"


def display_width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(_cell_width(char) for char in text)


def _cell_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int) -> str:
    """At most `width` columns; a cut is marked with `…`."""
    if display_width(text) <= width:
        return text
    kept, used = [], 0
    for char in text:
        used += _cell_width(char)
        if used > width - 1:
            break
        kept.append(char)
    return "".join(kept) + "…"


def pad(text: str, width: int) -> str:
    """Exactly `width` columns."""
    text = cut(text, width)
    return text + " " * (width - display_width(text))


def wrap(text: str, width: int, indent: str) -> list[str]:
    """Break at spaces and indent the lines after the first. A word longer than a line is split, so no text is
    lost."""
    lines: list[str] = []
    line = text[: len(text) - len(text.lstrip(" "))]  # leading spaces are the first line's indent
    for word in text.lstrip(" ").split(" "):
        room = _room(width, indent, lines)
        if line.strip() and display_width(line) + 1 + display_width(word) > room:
            lines.append(line.rstrip(" "))
            room = _room(width, indent, lines)
        elif line:
            word = f"{line} {word}" if line.strip() else line + word
        while display_width(word) > room:
            head = _fitting_prefix(word, room)
            lines.append(head)
            word, room = word[len(head) :], _room(width, indent, lines)
        line = word
    lines.append(line)
    return [lines[0], *(indent + more for more in lines[1:])]


def _room(width: int, indent: str, before: list[str]) -> int:
    return max(2, width - (display_width(indent) if before else 0))


def _fitting_prefix(text: str, width: int) -> str:
    """The prefix that fits into `width` columns, at least one character."""
    used = 0
    for index, char in enumerate(text):
        used += _cell_width(char)
        if used > width and index:
            return text[:index]
    return text


# Live lines at the bottom of the terminal, redrawn in place while a log scrolls above them.
#
# No terminal mode is changed and the cursor stays visible: after a crash there is nothing to restore.

MAX_REDRAWS_PER_SECOND = 4
MARGIN = 5  # columns: a terminal appends `^C` to the last line, twice, and that must not start another row

_UP = "\x1b[{}A"
_REST_OF_LINE = "\x1b[K"
_REST_OF_SCREEN = "\x1b[J"


class LiveArea:
    def __init__(self, out: Terminal, write: Callable[[str], None], now: Callable[[], float] = time.monotonic):
        self._out = out
        self._write = write
        self._now = now
        self._drawn: list[str] = []
        self._drawn_at = -1.0

    def show(self, lines: Iterable[str]) -> None:
        """Redraw, at most a few times per second; calls in between are dropped."""
        if self._now() - self._drawn_at < 1 / MAX_REDRAWS_PER_SECOND:
            return
        self._draw((), lines)

    def print_above(self, log: Iterable[str], lines: Iterable[str]) -> None:
        """Print permanent log lines, and redraw the live lines below them."""
        self._draw(log, lines)

    def clear(self) -> None:
        self._draw((), ())

    def _draw(self, log: Iterable[str], lines: Iterable[str]) -> None:
        """One write that overwrites each line in place: clearing the screen first would flicker."""
        self._out.remeasure()
        start = self._start()
        self._drawn = [cut(line, self._out.width - MARGIN) for line in lines]
        # Clear before the text, not after: behind a full-width line it would erase the last character.
        logged = "".join(f"{_REST_OF_LINE}{line}\n" for line in log)
        drawn = "\n".join(f"{_REST_OF_LINE}{line}" for line in self._drawn)
        self._write(f"{start}{logged}{drawn}{_REST_OF_SCREEN}")
        self._drawn_at = self._now()

    def _start(self) -> str:
        """Move to the first live line. A narrowed window has wrapped the lines into more rows."""
        rows = sum(max(1, -(-display_width(line) // self._out.width)) for line in self._drawn)
        return "\r" + (_UP.format(rows - 1) if rows > 1 else "")
