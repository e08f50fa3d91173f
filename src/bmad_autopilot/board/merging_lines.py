"""Lines of a board where both sides of a merge changed something: rows and fields are told by their names."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ..core.lines import comment_of
from .three_way import Region

_DATES = (
    re.compile(r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?:[T ](?P<time>\d\d:\d\d(?::\d\d)?))?"),
    re.compile(r"(?P<m>\d\d)-(?P<d>\d\d)-(?P<y>\d{4})(?: (?P<time>\d\d:\d\d))?"),
)


class Line(NamedTuple):
    text: str
    name: str = ""  # of a row or a field; empty: comments, blanks, and what belongs to something larger
    is_row: bool = False

    @property
    def is_silent(self) -> bool:
        """YAML reads nothing in it."""
        return self.text.strip()[:1] in ("", "#")


_Named = dict[tuple[str, int], Line]


def resolve(region: Region[Line]) -> list[Line] | None:
    """Both sides' lines: each that was added, none that was taken away. None: both rewrote the same text."""
    plain = [[line.text for line in lines if not line.name and not line.is_silent] for lines in region]
    if plain[0] and plain[1] not in (plain[0], plain[2]) and plain[2] != plain[0]:
        return None
    base, ours, theirs = (_named(lines) for lines in region)
    kept = {
        name: both(base.get(name), line, theirs[name]) if name in theirs else line
        for name, line in ours.items()
        if name in theirs or not _is_gone(line, base.get(name))
    }
    return list(_woven(kept, theirs, base))


def _named(lines: Iterable[Line]) -> _Named:
    """By name or text, and how often it came before."""
    seen: dict[str, int] = {}
    found: _Named = {}
    for line in lines:
        name = line.name or f"={line.text.rstrip()}"
        seen[name] = seen.get(name, 0) + 1
        found[name, seen[name]] = line
    return found


def _is_gone(line: Line, before: Line | None) -> bool:
    """The other side took it away. A field that this side has changed stays; of rows it was decided before."""
    return before is not None and (line.is_row or line == before)


def both(base: Line | None, ours: Line, theirs: Line) -> Line:
    """One line of the two, with what both sides wrote beside it."""
    if base is not None and ours == base:
        return theirs
    if ours == theirs or theirs == base or not ours.name:
        return ours
    if not ours.is_row:
        return theirs if _moment(theirs.text) > _moment(ours.text) else ours
    mine, other = comment_of(ours.text), comment_of(theirs.text)
    if not mine and base is not None:
        return theirs
    was = comment_of(base.text) if base is not None else None
    if other in (None, was, mine):
        return ours
    end = "\r" if ours.text.endswith("\r") else ""
    return ours._replace(text=f"{ours.text.rstrip()} {'' if mine else ' '}# {other}{end}")


def _moment(text: str) -> tuple[str, ...]:
    """Sorts by the date in it; a text without one is the oldest."""
    for form in _DATES:
        if found := form.search(text):
            return found["y"], found["m"], found["d"], found["time"] or ""
    return ()


def _woven(kept: _Named, theirs: _Named, base: _Named) -> Iterable[Line]:
    """With their new lines where they stand there: between the same lines, below ours. A block stays together."""
    behind: dict[tuple[str, int] | None, list[Line]] = {}
    anchor = None
    for name, line in theirs.items():
        if name in kept:
            anchor = name
        elif not _is_gone(line, base.get(name)):
            behind.setdefault(anchor, []).append(line)
    anchor = None
    for name, line in kept.items():
        if name in theirs:
            yield from behind.pop(anchor, ())
            anchor = name
        yield line
    for rest in behind.values():
        yield from rest
