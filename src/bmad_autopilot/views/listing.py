"""Things with a place, for a person or for a pipe."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from ..core.errors import Place
from .terminal import Terminal, clean, cut, wrap


class Item(NamedTuple):
    place: Place
    message: str
    label: str = ""
    color: str = "dim"
    help: str | None = None


def listing(items: Iterable[Item], out: Terminal) -> Iterator[str]:
    """On a terminal each file is named once; in a pipe every line names its own, as compilers do."""
    if not out.is_terminal:
        yield from (line for item in items for line in _compiler_lines(item, out))
        return
    file = None
    for item in items:
        if item.place.file != file:
            file = item.place.file
            yield out.style(cut(clean(file), out.width), "bold")
        yield from _lines(item, out)


def _compiler_lines(item: Item, out: Terminal) -> Iterator[str]:
    label = out.style(item.label, item.color) + ": " if item.label else ""
    yield f"{clean(str(item.place))}: {label}{clean(item.message)}"
    if item.help:
        yield f"    help: {clean(item.help)}"


def _lines(item: Item, out: Terminal) -> Iterator[str]:
    line = f"{item.place.line or '':>5}"
    label = f"{item.label}: " if item.label else ""
    text = wrap(label + clean(item.message), max(20, out.width - 7), "")
    first = text[0]
    if label:
        first = out.style(item.label, item.color) + first[len(item.label) :]
    yield f"{out.style(line, 'dim')}  {first}"
    yield from (f"       {more}" for more in text[1:])
    if item.help:
        yield from (f"       {more}" for more in wrap(f"help: {clean(item.help)}", max(20, out.width - 7), "  "))
