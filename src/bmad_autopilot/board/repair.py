"""Bringing the ledgers together, forwards only, and only when asked."""

import os
from typing import NamedTuple

from ..core.errors import ConflictError, Place
from ..core.statuses import BACKLOG, DONE, IN_PROGRESS, LIFE, PARKED, UNKNOWN
from ..exchange import replace_unchanged
from ..files import BOM, Text, read_settled, resolve_inside
from .overview import EpicView
from .reconcile import Drift
from .sprint import Board, Row
from .store import backup_path
from .story_status import StoryStatus, find_status


class Repair(NamedTuple):
    """One status to change: in the board, or (with `file`) in a story file."""

    key: str
    before: str
    after: str
    why: str
    place: Place
    file: StoryStatus | None = None


def plan_repairs(board: Board, epics: list[EpicView], drift: list[Drift]) -> list[Repair]:
    repairs = [_from_drift(board, item) for item in drift if item.further is not None]
    raised = {repair.key: repair.after for repair in repairs if repair.file is None}
    repairs += [repair for epic in epics if (repair := _epic(board, epic, raised))]
    taken = {repair.key for repair in repairs if repair.file is None}
    for row in board.rows.values():
        if row.status.is_legacy and row.meaning in LIFE[row.kind] and row.key not in taken:
            repairs.append(_set(board, row, row.meaning, "an older or odd spelling"))
    twice = {row.key for row in board.shadowed}  # an edit of one of the two lines would be refused
    repairs = [repair for repair in repairs if repair.key not in twice]
    return sorted(repairs, key=lambda repair: (repair.file is not None, repair.place.file, repair.place.line or 0))


def _from_drift(board: Board, item: Drift) -> Repair:
    assert item.further is not None
    if item.code == "board-behind":
        return _set(board, item.row, item.further, f"its {item.ledger} says {item.said}")
    assert item.file is not None
    why = f"the board says {item.row.status.raw}"
    return Repair(item.row.key, item.file.raw, item.further, why, item.place, item.file)


def _epic(board: Board, epic: EpicView, raised: dict[str, str]) -> Repair | None:
    """An epic is lifted by its first story that has begun, and is done when all of them are."""
    if epic.row is None or epic.row.meaning in (DONE, PARKED, UNKNOWN):
        return None
    words = [raised.get(row.key, row.meaning) for row in epic.stories]
    if words and all(word == DONE for word in words):
        return _set(board, epic.row, DONE, "all its stories are done")
    if epic.row.meaning == BACKLOG and any(word not in (BACKLOG, PARKED, UNKNOWN) for word in words):
        return _set(board, epic.row, IN_PROGRESS, "its stories have begun")
    return None


def _set(board: Board, row: Row, status: str, why: str) -> Repair:
    return Repair(row.key, row.status.raw, status, why, Place(board.path, row.line))


def repair_story_file(path: str, seen: StoryStatus, status: str, *, state: str, inside: str = "") -> None:
    """Change the status token of a story file, if it still is the one that was seen. Agents write these files:
    it is replaced only as long as it holds still. `inside`: the folder that a symbolic link may not lead out of
    (default: the file's own)."""
    target = resolve_inside(path, inside or os.path.dirname(path) or ".")
    text = read_settled(target, follow=False)
    new = text.text[: seen.start] + status + text.text[seen.end :]
    after = Text(target, ((BOM if text.bom else "") + new).encode("utf-8"))
    proof = find_status(after.text)
    if proof is None or proof.raw != status:
        raise ConflictError("its status line cannot be changed safely", place=Place(path, seen.line))
    os.makedirs(state, exist_ok=True)
    same = find_status(text.text) == seen
    if not same or not replace_unchanged(target, text.raw, after.raw, backup_path(state, target)):
        raise ConflictError("changed meanwhile", place=Place(path, seen.line), hint="bmad board repair")
