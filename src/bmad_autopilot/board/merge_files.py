"""Merges the files with their own merge rules: the board, and deferred-work.md, a list that every review appends
to on every branch (both sides' entries are kept, each once)."""

import re
from collections.abc import Iterator
from enum import StrEnum

from ..core.errors import FileError
from ..io.files import TextFile
from .merge import MergeResult, merge_boards
from .sprint_status import board_from_text
from .three_way import Region, merge_lines

_HEADING = re.compile(r"#{1,6}\s")
_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])\s")

DeferredEntry = tuple[str, ...]  # an item with its continuation lines
DeferredSections = dict[str, list[DeferredEntry]]  # by heading; "": above the first heading


def merge_deferred(base: bytes | None, ours: bytes, theirs: bytes) -> bytes | None:
    """None: both sides changed existing text in different ways."""
    texts = [(raw or b"").decode("utf-8", "surrogateescape") for raw in (base, ours, theirs)]
    lines = [text.rstrip("\n").split("\n") if text.rstrip("\n") else [] for text in texts]
    merged = merge_lines(Region(lines[0], lines[1], lines[2]), _resolve_region)
    if merged is None:
        return None
    end = "\n" if merged and any(text.endswith("\n") for text in texts[1:]) else ""
    return ("\n".join(merged) + end).encode("utf-8", "surrogateescape")


def _resolve_region(region: Region[str]) -> list[str] | None:
    """Resolved if at least one side only appended."""
    base, ours, theirs = region
    before = len(base)
    if ours[:before] == base and theirs[:before] == base:
        return base + _join_appended(ours[before:], theirs[before:])
    if theirs[:before] == base:
        return _append(ours, theirs[before:])
    if ours[:before] == base:
        return _append(theirs, ours[before:])
    return None


def _join_appended(ours: list[str], theirs: list[str]) -> list[str]:
    """Join both appended parts; entries and headings that both have appear once."""
    mine = _sections(ours)
    for heading, entries in _sections(theirs).items():
        if heading not in mine:
            mine[heading] = entries
            continue
        known = {_strip_blank_lines(entry) for entry in mine[heading]}
        new = [entry for entry in entries if _strip_blank_lines(entry) not in known]
        if new:
            mine[heading][-1:] = [_strip_blank_lines(entry) for entry in mine[heading][-1:]]
            mine[heading] += new
    return list(_render_sections(mine))


def _sections(lines: list[str]) -> DeferredSections:
    found: DeferredSections = {"": []}
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


def _strip_blank_lines(entry: DeferredEntry) -> DeferredEntry:
    """The entry without the blank lines at its end."""
    end = len(entry)
    while end and not entry[end - 1].strip():
        end -= 1
    return entry[:end]


def _render_sections(sections: DeferredSections) -> Iterator[str]:
    last = ""
    for heading, entries in sections.items():
        if heading:
            if last.strip():
                yield ""
            yield heading
        for line in (line for entry in entries for line in entry):
            last = line
            yield line


def _append(lines: list[str], more: list[str]) -> list[str]:
    parted = bool(lines) and bool(more) and lines[-1].strip() and _HEADING.match(more[0])
    return [*lines, *([""] if parted else []), *more]


# The merge driver's entry points, one kind per file.

MAX_DIFFERENCES = 5


class MergeKind(StrEnum):
    BOARD = "board"
    DEFERRED = "deferred"


def merge_file(kind: MergeKind, base: bytes, ours: bytes, theirs: bytes) -> MergeResult | None:
    """None: a person must merge. git passes an empty base if both sides created the file."""
    if b"\0" in base + ours + theirs:  # UTF-16 has other line ends
        return None
    if kind is MergeKind.BOARD:
        return merge_boards(base or None, ours, theirs)
    data = merge_deferred(base or None, ours, theirs)
    return MergeResult(data, ()) if data is not None else None


def describe_difference(kind: MergeKind, wanted: bytes, found: bytes) -> str:
    """How a merge's result differs from the expected one, for the user."""
    differences = _row_differences(wanted, found) if kind is MergeKind.BOARD else []
    if not differences:
        has = {line.rstrip() for line in found.splitlines()}
        lost = [line for line in wanted.splitlines() if line.rstrip() not in has]
        differences = [f"without {line.decode('utf-8', 'replace').strip()!r}" for line in lost]
    more = f" and {len(differences) - MAX_DIFFERENCES} more" if len(differences) > MAX_DIFFERENCES else ""
    return ", ".join(differences[:MAX_DIFFERENCES]) + more if differences else "other lines, or in another order"


def _row_differences(wanted: bytes, found: bytes) -> list[str]:
    try:
        rows, now = (board_from_text(TextFile("merged", raw)).rows for raw in (wanted, found))
    except FileError as error:
        return [f"it {error.message}"]
    differences = []
    for key, row in rows.items():
        if key not in now:
            differences.append(f"no {key} ({row.status.raw})")
        elif now[key].status.raw != row.status.raw:
            differences.append(f"{key} {now[key].status.raw}, not {row.status.raw}")
    return differences + [f"{key} again" for key in now if key not in rows]
