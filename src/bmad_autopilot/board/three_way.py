"""Three versions of a list of lines: what only one side changed is taken, the rest is for the caller."""

from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple, TypeVar

MAX_LINES = 20_000  # of each version; the largest real board has 700, and the time can grow with the square

Line = TypeVar("Line")  # anything with a hash


class Region(NamedTuple, Generic[Line]):
    """Between two lines that all three have in common."""

    base: list[Line]
    ours: list[Line]
    theirs: list[Line]


def merge_lines(whole: Region[Line], resolve: Callable[[Region[Line]], list[Line] | None]) -> list[Line] | None:
    """`resolve` decides where both sides changed something; None: nobody but a person can."""
    if max(map(len, whole)) > MAX_LINES:
        return None
    merged: list[Line] = []
    for region in _regions(whole):
        taken = _one_sided(region)
        if taken is None:
            taken = resolve(region)
        if taken is None:
            return None
        merged += taken
    return merged


def _one_sided(region: Region[Line]) -> list[Line] | None:
    base, ours, theirs = region
    if theirs in (ours, base):
        return ours
    return theirs if ours == base else None


def _regions(whole: Region[Line]) -> Iterator[Region[Line]]:
    """Lines that stand in all three, one by one, and what lies between them."""
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
    """Which line of the base is which of the side. difflib passes over lines that stand everywhere, which bounds
    what a file of a million blank lines can cost."""
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
    """How many lines both begin with."""
    pairs = zip(one, other, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
