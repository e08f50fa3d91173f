"""Renders `bmad doctor`: one line per check, with its fix below."""

from collections.abc import Iterator
from enum import Enum
from textwrap import wrap
from typing import Annotated, NamedTuple

from ..core.json_types import Keywords, Text
from ..core.text import printable
from .terminal import Terminal, display_width


class CheckState(Enum):
    OK = "ok"
    NOTE = "note"  # worth knowing
    WARN = "warn"  # a feature fails, always or sometimes
    FAIL = "fail"  # nothing will run


class DoctorCheck(NamedTuple):
    """One check: its name, result, finding and fix."""

    name: str
    state: CheckState
    found: str
    fix: str | None = None
    unreadable: bool = False  # a required file cannot be read


class CheckRow(NamedTuple):
    name: Text
    state: CheckState
    found: Text
    fix: str | None


_FIX_KEYWORDS = Keywords(
    **{
        "if": {"properties": {"state": {"enum": ["warn", "fail"]}}},
        "then": {"properties": {"fix": {"type": "string", "minLength": 1}}},
    }
)


class DoctorReport(NamedTuple):
    checks: Annotated[list[Annotated[CheckRow, _FIX_KEYWORDS]], Keywords(minItems=1)]


_MARKS = {
    CheckState.OK: ("ok", "green"),
    CheckState.NOTE: ("note", "cyan"),
    CheckState.WARN: ("warn", "yellow"),
    CheckState.FAIL: ("FAIL", "red"),
}
MIN_COLUMN_WIDTH = 70
_MARK_WIDTH = max(len(mark) for mark, _ in _MARKS.values())


def render(checks: list[DoctorCheck], out: Terminal) -> Iterator[str]:
    names = max((display_width(printable(check.name)) for check in checks), default=0)
    narrow = out.width < MIN_COLUMN_WIDTH  # the finding goes below the name, not beside it
    indent = " " * (_MARK_WIDTH + 2 + (0 if narrow else names + 2))
    for check in checks:
        mark, color = _MARKS[check.state]
        head = out.style(mark, color) + " " * (_MARK_WIDTH - len(mark))
        name = printable(check.name)
        lines = [indent + line for line in _lines(check.found, max(out.width - len(indent), 20))]
        if narrow:
            yield f"{head}  {name}"
        else:
            yield f"{head}  {name}{' ' * (names - display_width(name))}  {lines.pop(0).lstrip()}"
        yield from lines
        if check.fix:
            yield from _fix(check.fix, indent, out)
    yield ""
    yield _summary(checks, out)


def _lines(text: str, room: int) -> Iterator[str]:
    """Breaks at spaces only, so that paths stay whole."""
    for line in text.splitlines():
        yield from wrap(printable(line), room, break_long_words=False, break_on_hyphens=False)


def _fix(text: str, indent: str, out: Terminal) -> Iterator[str]:
    """Not wrapped, so that it can be copied."""
    first, *more = text.splitlines()
    yield f"{indent}{out.style('fix:', 'bold')} {printable(first)}"
    yield from (f"{indent}     {printable(line.strip())}" for line in more)


def _summary(checks: list[DoctorCheck], out: Terminal) -> str:
    failed, warned = (
        sum(check.state is state for check in checks) for state in (CheckState.FAIL, CheckState.WARN)
    )
    if failed:
        return out.style(f"{failed} of {len(checks)} checks failed: mend those first", "red")
    if warned:
        return f"nothing failed; {warned} warning{'s' * (warned != 1)}"
    return "all is well"
