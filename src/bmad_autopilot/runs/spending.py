"""What a run has cost, from its journal, without reading more of it than that takes. One that began at a
checkpoint of another did not pay for what it took over."""

import os
from typing import NamedTuple

from ..core.errors import FileError
from ..files import read_bytes
from .journal import MAX_JOURNAL, NAME
from .journal_lines import parse
from .json_files import figure_of, number_of

_ENDED = b'"kind":"ended"'
_FORKED = b'"kind":"forked"'


class Spent(NamedTuple):
    dollars: float = 0.0
    unpriced: int = 0  # calls whose client said no price
    tokens: int = 0
    calls: int = 0


def spent(run: str) -> Spent:
    try:
        raw = read_bytes(os.path.join(run, NAME), limit=MAX_JOURNAL)
    except FileError:
        return Spent()
    whole = Spent()
    for line in _own(raw.split(b"\n"), is_fork=_FORKED in raw) if _ENDED in raw else ():
        entry = parse(line) if _ENDED in line else None
        if entry is not None and entry.kind == "ended":
            dollars = figure_of(entry.data.get("dollars"))
            whole = Spent(
                whole.dollars + (dollars or 0.0),
                whole.unpriced + (dollars is None),
                whole.tokens + number_of(entry.data.get("tokens")),
                whole.calls + 1,
            )
    return whole


def _own(lines: list[bytes], *, is_fork: bool) -> list[bytes]:
    """Those after the last that says where it began."""
    begun = [n for n, line in enumerate(lines) if _FORKED in line] if is_fork else []
    for number in reversed(begun):
        entry = parse(lines[number])
        if entry is not None and entry.kind == "forked":
            return lines[number:]
    return lines
