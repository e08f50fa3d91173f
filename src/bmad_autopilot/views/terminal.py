"""How lines reach a person: width, colour, cutting with a mark."""

import os
import re
import sys
import unicodedata

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
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


class Terminal:
    """Where the output goes: how wide it is, and whether it takes colour and block characters."""

    def __init__(self, color: str = "auto", width: int | None = None) -> None:
        out = sys.stdout
        self.is_terminal = out.isatty()
        self.width = width or _width(self.is_terminal)
        self.color = color == "always" or (color == "auto" and _wants_color(self.is_terminal))
        self.unicode = (out.encoding or "").lower().replace("-", "") == "utf8"

    def remeasure(self) -> None:
        """Windows are resized while a run goes on."""
        self.width = _width(self.is_terminal)

    def style(self, text: str, *names: str) -> str:
        if not self.color or not names or not text:
            return text
        return f"\x1b[{';'.join(_STYLES[name] for name in names)}m{text}\x1b[0m"

    def bar(self, done: int, total: int, width: int) -> str:
        filled = done * width // total if total else 0
        if 0 < done < total:
            filled = max(1, min(filled, width - 1))  # begun is never empty, unfinished is never full
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


def clean(text: str) -> str:
    """Text from files, fit for a terminal: no escape sequences, no direction tricks."""
    return _CONTROL.sub("�", text)


def display_width(text: str) -> int:
    if text.isascii():
        return len(text)
    return sum(_cell_width(char) for char in text)


def _cell_width(char: str) -> int:
    if unicodedata.combining(char) or unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, width: int) -> str:
    """At most `width` columns; what is cut off is marked."""
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
    """Break at spaces; the lines after the first are indented. A word longer than a line is broken too: nothing is
    lost."""
    lines: list[str] = []
    line = text[: len(text) - len(text.lstrip(" "))]  # what it begins with is its place
    for word in text.lstrip(" ").split(" "):
        room = _room(width, indent, lines)
        if line.strip() and display_width(line) + 1 + display_width(word) > room:
            lines.append(line.rstrip(" "))
            room = _room(width, indent, lines)
        elif line:
            word = f"{line} {word}" if line.strip() else line + word
        while display_width(word) > room:
            head = _take(word, room)
            lines.append(head)
            word, room = word[len(head) :], _room(width, indent, lines)
        line = word
    lines.append(line)
    return [lines[0], *(indent + more for more in lines[1:])]


def _room(width: int, indent: str, before: list[str]) -> int:
    return max(2, width - (display_width(indent) if before else 0))


def _take(text: str, width: int) -> str:
    """What fits into `width` columns, at least one character."""
    used = 0
    for index, char in enumerate(text):
        used += _cell_width(char)
        if used > width and index:
            return text[:index]
    return text
