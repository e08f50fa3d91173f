"""Three boards into one: rows by their statuses, everything else line by line."""

from collections.abc import Set
from typing import NamedTuple

from ..core.errors import FileError
from ..files import BOM, Text
from .merging_lines import Line, both, resolve
from .merging_rows import Decision, Hands, decide_rows
from .merging_sides import Side
from .sprint import Board, board_from_text
from .three_way import Region, merge_lines

_NOTHING = b"development_status:\n"


class Merged(NamedTuple):
    data: bytes
    notes: tuple[str, ...]  # rows that both sides had changed, and what was made of them
    contested: tuple[str, ...] = ()  # the keys of those that have another status on each side


def merge_boards(
    base: bytes | None,
    ours: bytes,
    theirs: bytes,
    *,
    humans: Set[str] = frozenset(),
    humans_here: Set[str] = frozenset(),
) -> Merged | None:
    """The side that changed a row wins; where both did, the person (`humans`: keys of rows that a person set on
    their side, `humans_here` on ours), else the further status. No row is lost, and the comments of both sides
    stay. None: one of them is no board, or both rewrote something that is no row.

    `base` None: both sides began the file."""
    try:
        return _merge(_NOTHING if base is None else base, ours, theirs, Hands(humans_here, humans))
    except FileError:
        return None


def _merge(base: bytes, ours: bytes, theirs: bytes, hands: Hands) -> Merged | None:
    named = (("base", base), ("ours", ours), ("theirs", theirs))
    boards = [board_from_text(Text(name, raw)) for name, raw in named]
    decisions = decide_rows(boards[0], boards[1], boards[2], hands)
    sides = [Side(board) for board in boards]
    tokens = [(decision, _token(sides, decision)) for decision in decisions]
    # A row that is put back is left out of the base, so that it counts as new.
    versions = [
        side.lines(
            (row, decision, None if at == 0 and decision.is_put_back else token)
            for decision, token in tokens
            if (row := decision.versions[at]) is not None
        )
        for at, side in enumerate(sides)
    ]
    lines = merge_lines(Region(versions[0], *_once(versions[1], versions[2], decisions)), resolve)
    if lines is None:
        return None
    text = "\n".join(line.text for line in lines)
    merged = Text("merged", ((BOM if boards[1].cells.text.bom else "") + text).encode())
    if not _is_whole(board_from_text(merged), boards, decisions):
        return None
    contested = tuple(one.key for one in decisions if one.note and not one.is_put_back)
    return Merged(merged.raw, tuple(one.note for one in decisions if one.note), contested)


def _token(sides: list[Side], decision: Decision) -> str:
    """Looking it up costs a walk through the file, and most rows are the same in all three."""
    if decision.row is None or len({row.status.raw for row in decision.versions if row is not None}) == 1:
        return ""
    return sides[1 if decision.row is decision.versions.ours else 2].token(decision.row)


def _once(ours: list[Line], theirs: list[Line], decisions: list[Decision]) -> tuple[list[Line], list[Line]]:
    """A row that both sides added, perhaps in two places, stands where ours is."""
    new = {f"row {one.key}" for one in decisions if one.versions.base is None and None not in one.versions[1:]}
    there = {line.name: line for line in theirs if line.name in new}
    return (
        [both(None, line, there[line.name]) if line.name in there else line for line in ours],
        [line for line in theirs if line.name not in there],
    )


def _is_whole(merged: Board, boards: list[Board], decisions: list[Decision]) -> bool:
    """The rows that were decided on, each once with its status, and nothing else; and all fields of both sides."""
    found = {key: row.status.raw for key, row in merged.rows.items()}
    for decision in decisions:
        keys = {row.key for row in decision.versions if row is not None} & found.keys()
        statuses = [found.pop(key) for key in keys]
        if statuses != ([] if decision.row is None else [decision.row.status.raw]):
            return False
    base, ours, theirs = boards
    fields = (ours.cells.fields.keys() & theirs.cells.fields.keys()) | (
        (ours.cells.fields.keys() ^ theirs.cells.fields.keys()) - base.cells.fields.keys()
    )
    twice = max(len(ours.shadowed), len(theirs.shadowed))
    return not found and fields <= merged.cells.fields.keys() and len(merged.shadowed) <= twice
