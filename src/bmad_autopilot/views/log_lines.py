"""One line of a run's log, on a terminal or in a pipe."""

import re
from typing import NamedTuple

from .figures import clock
from .terminal import Terminal, clean, display_width, pad, wrap

STEP = 12  # `create-story`
NARROW = 60  # columns: below, nothing is lined up
_LETTERED = re.compile(r"[A-Z]\) ")


class LogLine(NamedTuple):
    """When, of which story, in which step, what, and more about it; below it what takes more than a line."""

    at: float
    story: str
    step: str
    word: str
    text: str = ""
    color: str = ""
    block: tuple[str, ...] = ()


def render(line: LogLine, out: Terminal, key_width: int) -> list[str]:
    """On a terminal broken into lines that fit, in a pipe one line; text from elsewhere steers nothing."""
    head = _head(line, out, key_width)
    word, text = clean(line.word), clean(line.text)
    whole = f"{head}  {word}  {text}" if text else f"{head}  {word}"
    shown = fit(whole, out, " " * 10)
    if out.color:
        shown[0] = _styled(shown[0], head, word, line.color, out)
    for more in line.block:
        shown += fit_below(clean(more), out, 4)
    return shown


def _head(line: LogLine, out: Terminal, key_width: int) -> str:
    parts = [clock(line.at), *(clean(part) for part in (line.story, line.step) if part)]
    if not out.is_terminal or out.width >= NARROW:
        widths = (0, *(width for part, width in ((line.story, key_width), (line.step, STEP)) if part))
        parts = [pad(part, max(width, display_width(part))) for part, width in zip(parts, widths, strict=True)]
    return "  ".join(parts)


def _styled(first: str, head: str, word: str, color: str, out: Terminal) -> str:
    """The time dim; the word in its colour, where it is whole on this line."""
    moment, start = clock(0), f"{head}  "
    if color and word and first.startswith(start + word):
        first = start + out.style(word, color) + first[len(start + word) :]
    return out.style(first[: len(moment)], "dim") + first[len(moment) :]


def fit(text: str, out: Terminal, indent: str) -> list[str]:
    return wrap(text, out.width, indent) if out.is_terminal else [text]


def fit_below(line: str, out: Terminal, margin: int) -> list[str]:
    """A line of a block: what is indented in it, or stands behind a letter, stays together when it is broken."""
    lead = len(line) - len(line.lstrip(" "))
    more = 3 if _LETTERED.match(line, lead) else 2 if lead else 0
    return fit(" " * margin + line, out, " " * (margin + lead + more))
