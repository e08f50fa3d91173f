"""Formats times, money, counts, call outcomes, located messages and log lines."""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from ..core.errors import Location
from ..core.messages import translate
from ..core.text import clip, printable
from .terminal import Terminal, cut, display_width, pad, wrap


def clock(at: float) -> str:
    """Local time with seconds."""
    return time.strftime("%H:%M:%S", time.localtime(at))


def clock_or_date(at: float, now: float) -> str:
    """`15:30`; with the date if it is not today."""
    there, here = time.localtime(at), time.localtime(now)
    form = "%H:%M" if there[:3] == here[:3] else "%Y-%m-%d %H:%M"
    return time.strftime(form, there)


def elapsed(seconds: float) -> str:
    """`0.4 s`, `12 s`, `4 min 9 s`, `1 h 5 min`."""
    if seconds < 10:
        return f"{max(0.0, seconds):.1f} s"
    if seconds < 60:
        return f"{int(seconds)} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min {int(seconds % 60)} s"
    return f"{minutes // 60} h {minutes % 60} min"


def money(dollars: float) -> str:
    return f"${dollars:,.2f}" if dollars >= 0.01 or dollars == 0 else f"${dollars:.4f}"


def pluralize(number: int, noun: str) -> str:
    """`1 story`, `2 stories`, `0 commits`."""
    many = f"{noun[:-1]}ies" if noun.endswith("y") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else many}"


# Outcomes of agents, reviews and checks, as one line.

Data = Mapping[str, Any]

MAX_TEXT = 600  # characters of external text in one line

_TRACEBACK = "Traceback (most recent call last)"


def describe_outcome(data: Data, finding: str) -> str:
    """The first line of a review's summary, or the reason of a failure."""
    if finding in ("good", "changes"):
        return first_line(str(data.get("summary", "")))
    if finding == "asked":
        return ""
    outcome, message = str(data.get("outcome", "")), most_relevant_line(str(data.get("message", "")))
    words = [_with_exit(outcome, data.get("exit"), message)] if outcome not in ("completed", message) else []
    return ": ".join(filter(None, (*words, message)))


def _with_exit(outcome: str, exit: object, message: str) -> str:
    says = f"exit code {exit}"
    return (
        f"{outcome} ({says})"
        if outcome == "crashed" and isinstance(exit, int) and says not in message
        else outcome
    )


def most_relevant_line(text: str) -> str:
    """The first line without a list marker; of a traceback the last line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if lines and lines[0].startswith(_TRACEBACK):
        lines = [lines[-1]] if len(lines) > 1 else []
    return clip(lines[0].removeprefix("- "), MAX_TEXT) if lines else ""


def failed_checks(data: Data) -> str:
    """The project's failing checks: `npm test (exit code 1) fails`."""
    failed = [(str(command), exit) for command, exit, _ in data.get("ran") or () if exit != 0]
    words = [
        f"{command} (" + ("did not end" if exit is None else f"exit code {exit}") + ")" for command, exit in failed
    ]
    return clip(", ".join(words) + (" fails" if len(words) == 1 else " fail"), MAX_TEXT) if words else ""


def first_line(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    return clip(next((line for line in lines if line), ""), MAX_TEXT)


def resume_banner(run: str = "", step: int = 0, total: int = 0) -> str:
    if not run:
        return translate("▶ Resuming the run")
    return translate("▶ Resuming run {run} at step {step}/{total}", run=run, step=step, total=total)


# finding → text, colour
FINDINGS = {
    "good": ("done", "green"),
    "changes": ("changes requested", "yellow"),
    "lacking": ("not accepted", "red"),
    "failed": ("failed", "red"),
    "refused": ("refused", "yellow"),
    "asked": ("stopped to ask", "yellow"),
    "hopeless": ("cannot go on", "red"),
    "": ("not taken in yet", "cyan"),
}


# Messages with a file location.


class LocatedMessage(NamedTuple):
    location: Location
    message: str
    label: str = ""
    color: str = "dim"
    help: str | None = None


def message_lines(items: Iterable[LocatedMessage], out: Terminal) -> Iterator[str]:
    """On a terminal, groups messages by file; in a pipe, every line names its file, as compilers do."""
    if not out.is_terminal:
        yield from (line for item in items for line in _compiler_lines(item, out))
        return
    file = None
    for item in items:
        if item.location.file != file:
            file = item.location.file
            yield out.style(cut(printable(file), out.width), "bold")
        yield from _lines(item, out)


def _compiler_lines(item: LocatedMessage, out: Terminal) -> Iterator[str]:
    label = out.style(item.label, item.color) + ": " if item.label else ""
    yield f"{printable(str(item.location))}: {label}{printable(item.message)}"
    if item.help:
        yield f"    help: {printable(item.help)}"


def _lines(item: LocatedMessage, out: Terminal) -> Iterator[str]:
    line = f"{item.location.line or '':>5}"
    label = f"{item.label}: " if item.label else ""
    text = wrap(label + printable(item.message), max(20, out.width - 7), "")
    first = text[0]
    if label:
        first = out.style(item.label, item.color) + first[len(item.label) :]
    yield f"{out.style(line, 'dim')}  {first}"
    yield from (f"       {more}" for more in text[1:])
    if item.help:
        yield from (
            f"       {more}" for more in wrap(f"help: {printable(item.help)}", max(20, out.width - 7), "  ")
        )


# Lines of a run's log.

STEP_WIDTH = 12  # columns: `create-story`
MIN_ALIGNED_WIDTH = 60  # columns: nothing is aligned on narrower terminals
_LETTERED = re.compile(r"[A-Z]\) ")


class LogLine(NamedTuple):
    """One log entry: time, story, step, word and text; `block` holds the lines below it."""

    at: float
    story: str
    step: str
    word: str
    text: str = ""
    color: str = ""
    block: tuple[str, ...] = ()


def render_log_line(line: LogLine, out: Terminal, key_width: int) -> list[str]:
    """Wraps on a terminal, one line in a pipe; control characters are replaced."""
    head = _head(line, out, key_width)
    word, text = printable(line.word), printable(line.text)
    whole = f"{head}  {word}  {text}" if text else f"{head}  {word}"
    shown = fit(whole, out, " " * 10)
    if out.color:
        shown[0] = _styled(shown[0], head, word, line.color, out)
    for more in line.block:
        shown += fit_block_line(printable(more), out, 4)
    return shown


def _head(line: LogLine, out: Terminal, key_width: int) -> str:
    parts = [clock(line.at), *(printable(part) for part in (line.story, line.step) if part)]
    if not out.is_terminal or out.width >= MIN_ALIGNED_WIDTH:
        widths = (0, *(width for part, width in ((line.story, key_width), (line.step, STEP_WIDTH)) if part))
        parts = [pad(part, max(width, display_width(part))) for part, width in zip(parts, widths, strict=True)]
    return "  ".join(parts)


def _styled(first: str, head: str, word: str, color: str, out: Terminal) -> str:
    """Dims the time and colours the word, unless wrapping has split it."""
    moment, start = clock(0), f"{head}  "
    if color and word and first.startswith(start + word):
        first = start + out.style(word, color) + first[len(start + word) :]
    return out.style(first[: len(moment)], "dim") + first[len(moment) :]


def fit(text: str, out: Terminal, indent: str) -> list[str]:
    return wrap(text, out.width, indent) if out.is_terminal else [text]


def fit_block_line(line: str, out: Terminal, margin: int) -> list[str]:
    """Wraps one line of a block, keeping its indent and the indent after an option letter."""
    lead = len(line) - len(line.lstrip(" "))
    more = 3 if _LETTERED.match(line, lead) else 2 if lead else 0
    return fit(" " * margin + line, out, " " * (margin + lead + more))
