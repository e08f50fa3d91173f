"""Three-way merge of lines: takes changes made by one side only; the caller resolves the rest."""

from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

MAX_LINES = 20_000  # of each version; the largest real board has 700, and the time can grow with the square

Line = TypeVar("Line")  # hashable


class Region(NamedTuple, Generic[Line]):
    """The lines of each version between two lines that all three have in common."""

    base: list[Line]
    ours: list[Line]
    theirs: list[Line]


def merge_lines(whole: Region[Line], resolve: Callable[[Region[Line]], list[Line] | None]) -> list[Line] | None:
    """`resolve` merges a region that both sides changed; None: a person must merge."""
    if max(map(len, whole)) > MAX_LINES:
        return None
    merged: list[Line] = []
    for region in _regions(whole):
        resolved = _one_sided(region)
        if resolved is None:
            resolved = resolve(region)
        if resolved is None:
            return None
        merged += resolved
    return merged


def _one_sided(region: Region[Line]) -> list[Line] | None:
    base, ours, theirs = region
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else None


def _regions(whole: Region[Line]) -> Iterator[Region[Line]]:
    """The common lines of all three, one by one, and the regions between them."""
    base, ours, theirs = whole
    in_ours, in_theirs = _matches(base, ours), _matches(base, theirs)
    b = o = t = 0
    for at, line in enumerate(base):
        if at in in_ours and at in in_theirs:
            yield Region(base[b:at], ours[o : in_ours[at]], theirs[t : in_theirs[at]])
            yield Region([line], [line], [line])
            b, o, t = at + 1, in_ours[at] + 1, in_theirs[at] + 1
    yield Region(base[b:], ours[o:], theirs[t:])


def _matches(base: list[Line], side: list[Line]) -> dict[int, int]:
    """Maps lines of the base to lines of the side. difflib ignores very frequent lines, which bounds the cost of a
    file with a million blank lines."""
    from difflib import SequenceMatcher

    head = _common(base, side)
    tail = min(_common(base[::-1], side[::-1]), len(base) - head, len(side) - head)
    found = {at: at for at in range(head)}
    inner = SequenceMatcher(None, base[head : len(base) - tail], side[head : len(side) - tail])
    for block in inner.get_matching_blocks():
        found |= {head + block.a + at: head + block.b + at for at in range(block.size)}
    found |= {len(base) - at: len(side) - at for at in range(1, tail + 1)}
    return found


def _common(one: list[Line], other: list[Line]) -> int:
    """The number of common lines at the start."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
