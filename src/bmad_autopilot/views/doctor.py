"""`bmad doctor`: one line per check, and below it what helps."""

from collections.abc import Iterator
from enum import Enum
from textwrap import wrap
from typing import NamedTuple

from .terminal import Terminal, clean, display_width


class State(Enum):
    OK = "ok"
    NOTE = "note"  # worth knowing
    WARN = "warn"  # something will not work, or not always
    FAIL = "fail"  # nothing will run


class Check(NamedTuple):
    """What was looked at, what was found, and the command or the change that helps."""

    name: str
    state: State
    found: str
    fix: str | None = None
    unreadable: bool = False  # a file that everything else stands on cannot be read


_MARKS = {
    State.OK: ("ok", "green"),
    State.NOTE: ("note", "cyan"),
    State.WARN: ("warn", "yellow"),
    State.FAIL: ("FAIL", "red"),
}
NARROW = 70
_MARK_WIDTH = max(len(mark) for mark, _ in _MARKS.values())


def render(checks: list[Check], out: Terminal) -> Iterator[str]:
    names = max((display_width(clean(check.name)) for check in checks), default=0)
    narrow = out.width < NARROW  # then what was found stands below the name, not beside it
    indent = " " * (_MARK_WIDTH + 2 + (0 if narrow else names + 2))
    for check in checks:
        mark, color = _MARKS[check.state]
        head = out.style(mark, color) + " " * (_MARK_WIDTH - len(mark))
        name = clean(check.name)
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
    """Broken at spaces only: a path is of use only if it is whole."""
    for line in text.splitlines():
        yield from wrap(clean(line), room, break_long_words=False, break_on_hyphens=False)


def _fix(text: str, indent: str, out: Terminal) -> Iterator[str]:
    """Not wrapped: it is there to be copied."""
    first, *more = text.splitlines()
    yield f"{indent}{out.style('fix:', 'bold')} {clean(first)}"
    yield from (f"{indent}     {clean(line.strip())}" for line in more)


def _summary(checks: list[Check], out: Terminal) -> str:
    failed, warned = (sum(check.state is state for check in checks) for state in (State.FAIL, State.WARN))
    if failed:
        return out.style(f"{failed} of {len(checks)} checks failed: mend those first", "red")
    if warned:
        return f"nothing failed; {warned} warning{'s' * (warned != 1)}"
    return "all is well"


def document(checks: list[Check]) -> dict[str, object]:
    return {
        "version": 1,
        "kind": "doctor",
        "checks": [
            {"name": check.name, "state": check.state.value, "found": check.found, "fix": check.fix}
            for check in checks
        ],
    }
