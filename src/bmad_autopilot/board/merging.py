"""Three boards into one: rows by their statuses, everything else line by line."""

from collections.abc import Set
from typing import NamedTuple

from ..core.errors import FileError
from ..files import BOM, Text
from .merging_lines import resolve
from .merging_rows import Decision, decide_rows
from .merging_sides import Side
from .sprint import Board, board_from_text
from .three_way import Region, merge_lines

_NOTHING = b"development_status:\n"


class Merged(NamedTuple):
    data: bytes
    notes: tuple[str, ...]  # rows that both sides had changed, and what was made of them


def merge_boards(
    base: bytes | None, ours: bytes, theirs: bytes, *, humans: Set[str] = frozenset()
) -> Merged | None:
    """The side that changed a row wins; where both did, the person (`humans`: keys of rows that a person set on
    their side), else the further status. No row is lost, and the comments of both sides stay. None: one of them is
    no board, or both rewrote something that is no row.

    `base` None: both sides began the file."""
    try:
        return _merge(_NOTHING if base is None else base, ours, theirs, humans)
    except FileError:
        return None


def _merge(base: bytes, ours: bytes, theirs: bytes, humans: Set[str]) -> Merged | None:
    named = (("base", base), ("ours", ours), ("theirs", theirs))
    boards = [board_from_text(Text(name, raw)) for name, raw in named]
    decisions = decide_rows(boards[0], boards[1], boards[2], humans)
    sides = [Side(board) for board in boards]
    tokens = [(decision, _token(sides, decision)) for decision in decisions]
    versions = [
        side.lines(
            (row, decision, None if _is_left_out(decision, at) else token)
            for decision, token in tokens
            if (row := decision.versions[at]) is not None
        )
        for at, side in enumerate(sides)
    ]
    lines = merge_lines(Region(*versions), resolve)
    if lines is None:
        return None
    text = "\n".join(line.text for line in lines)
    merged = Text("merged", ((BOM if boards[1].cells.text.bom else "") + text).encode())
    if not _is_whole(board_from_text(merged), boards, decisions):
        return None
    return Merged(merged.raw, tuple(decision.note for decision in decisions if decision.note))


def _token(sides: list[Side], decision: Decision) -> str:
    """Looking it up costs a walk through the file, and most rows are the same in all three."""
    if decision.row is None or len({row.status.raw for row in decision.versions if row is not None}) == 1:
        return ""
    return sides[1 if decision.row is decision.versions.ours else 2].token(decision.row)


def _is_left_out(decision: Decision, side: int) -> bool:
    """A row that is put back is left out of the base, so that it counts as new; one that both sides added, perhaps
    in two places, is left out of theirs."""
    if side == 0:
        return decision.is_put_back
    return side == 2 and decision.versions.base is None and decision.versions.ours is not None


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
