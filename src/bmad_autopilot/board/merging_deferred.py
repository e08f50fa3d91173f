"""deferred-work.md: a list that every review appends to, on every branch. Both sides' entries stay, each once."""

import re
from collections.abc import Iterator

from .three_way import Region, merge_lines

_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s")

Entry = tuple[str, ...]  # an item with all that belongs to it
Sections = dict[str, list[Entry]]  # by heading; "" is what stands above the first


def merge_deferred(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
    """None: both sides changed what was there before, and not in the same way."""
    texts = [(raw or b"").decode("utf-8", "surrogateescape") for raw in (base, ours, theirs)]
    lines = [text.rstrip("\n").split("\n") if text.rstrip("\n") else [] for text in texts]
    merged = merge_lines(Region(lines[0], lines[1], lines[2]), _resolve)
    if merged is None:
        return None
    end = "\n" if merged and any(text.endswith("\n") for text in texts[1:]) else ""
    return ("\n".join(merged) + end).encode("utf-8", "surrogateescape")


def _resolve(region: Region[str]) -> list[str] | None:
    """Where one side or both did no more than append, nothing was rewritten by two."""
    base, ours, theirs = region
    before = len(base)
    if ours[:before] == base and theirs[:before] == base:
        return base + _joined(ours[before:], theirs[before:])
    if theirs[:before] == base:
        return _appended(ours, theirs[before:])
    if ours[:before] == base:
        return _appended(theirs, ours[before:])
    return None


def _joined(ours: list[str], theirs: list[str]) -> list[str]:
    """Both appendices, an entry that both have once, under the heading that both have once."""
    mine = _sections(ours)
    for heading, entries in _sections(theirs).items():
        if heading not in mine:
            mine[heading] = entries
            continue
        known = {_bare(entry) for entry in mine[heading]}
        new = [entry for entry in entries if _bare(entry) not in known]
        if new:
            mine[heading][-1:] = [_bare(entry) for entry in mine[heading][-1:]]
            mine[heading] += new
    return list(_written(mine))


def _sections(lines: list[str]) -> Sections:
    found: Sections = {"": []}
    heading = ""
    for line in lines:
        if _HEADING.match(line):
            heading = line.rstrip()
            found.setdefault(heading, [])
        elif _ITEM.match(line) or not found[heading]:
            found[heading].append((line,))
        else:
            found[heading][-1] += (line,)
    return found


def _bare(entry: Entry) -> Entry:
    """Without the blank lines below it."""
    end = len(entry)
    while end and not entry[end - 1].strip():
        end -= 1
    return entry[:end]


def _written(sections: Sections) -> Iterator[str]:
    last = ""
    for heading, entries in sections.items():
        if heading:
            if last.strip():
                yield ""
            yield heading
        for line in (line for entry in entries for line in entry):
            last = line
            yield line


def _appended(lines: list[str], more: list[str]) -> list[str]:
    parted = bool(lines) and bool(more) and lines[-1].strip() and _HEADING.match(more[0])
    return [*lines, *([""] if parted else []), *more]
