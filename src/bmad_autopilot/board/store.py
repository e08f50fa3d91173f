"""Writing the board durably, beside other writers: lock, compare-and-set, backup, atomic replace, proof.

Our own processes take the lock. People and BMAD's skills do not: what they wrote meanwhile comes to light when the
files are exchanged, and the change is made again on top of it.
"""

import os
import time
from typing import NamedTuple

from ..core.commands import command
from ..core.errors import ConflictError, Place, UsageError
from ..core.keys import identify
from ..core.statuses import DONE, LIFE, PARKED, Kind, rank, read_status, suggest_status
from ..exchange import replace_unchanged
from ..files import locked, read_settled, refuse_links, resolve_inside
from .cells import read_cells, remember
from .edit import add_row, change_status, find_cell

ROUNDS = 20  # how often a foreign write may come between before we say so


class Change(NamedTuple):
    key: str
    before: str
    after: str
    line: int


def set_status(
    path: str,
    key: str,
    status: str,
    *,
    state: str,
    inside: str = "",
    expect: str | None = None,
    regress: bool = False,
    now: float | None = None,
) -> Change:
    """Set the status of the row with exactly this key. `state` is our folder for the lock and the backup;
    `inside` the folder that a symbolic link may not lead out of (default: the board's own);
    `expect` makes it a compare-and-set; a step back needs `regress`. What already stands is not written."""
    _make_state(state)
    target = resolve_inside(path, inside or os.path.dirname(path) or ".")
    with locked(os.path.join(state, "board.lock")):
        for _ in range(ROUNDS):
            cells = read_cells(read_settled(target, follow=False))
            index = find_cell(cells, key)
            change = Change(key, cells.cells[index][1] or "", status, cells.cells[index][2])
            if expect is not None and change.before != expect:
                raise ConflictError(
                    f"{key} is not {expect} any more",
                    place=Place(path, change.line),
                    found=change.before,
                    hint="look again: bmad status",
                )
            if change.before == status:
                return change
            if not regress:
                _refuse_step_back(path, change)
            after = change_status(cells, index, status, now=time.time() if now is None else now)
            if replace_unchanged(target, cells.text.raw, after.text.raw, backup_path(state, target)):
                remember(after)
                return change
            if _landed(target, key, status):
                return change
    raise _never_still(path, key)


def put_row(path: str, key: str, status: str, *, state: str, inside: str = "") -> None:
    """A row that is missing, with this status. ConflictError: it is there."""
    _make_state(state)
    target = resolve_inside(path, inside or os.path.dirname(path) or ".")
    with locked(os.path.join(state, "board.lock")):
        for _ in range(ROUNDS):
            cells = read_cells(read_settled(target, follow=False))
            if any(cell[0] == key for cell in cells.cells):
                raise ConflictError(f"{key} is there again", place=Place(path), hint="look again: bmad status")
            after = add_row(cells, key, status)
            if replace_unchanged(target, cells.text.raw, after.text.raw, backup_path(state, target)):
                remember(after)
                return
    raise _never_still(path, key)


def _make_state(state: str) -> None:
    refuse_links(state, state)
    os.makedirs(state, exist_ok=True)


def backup_path(state: str, target: str) -> str:
    """Where the previous content of a file is kept; two boards of one repository do not share it."""
    from zlib import crc32

    return os.path.join(state, f"{os.path.basename(target)}.{crc32(os.fsencode(target)):08x}.bak")


def _never_still(path: str, key: str) -> ConflictError:
    return ConflictError(
        f"was changed {ROUNDS} times by somebody else while {key} was being set",
        place=Place(path),
        hint="find who writes it, then try again",
    )


def _refuse_step_back(path: str, change: Change) -> None:
    kind = identify([change.key])[change.key].kind
    before, after = (read_status(word, kind).meaning for word in (change.before, change.after))
    if 0 <= rank(after, kind) < rank(before, kind) or (before == DONE and after == PARKED):
        raise UsageError(
            f"{change.key} is {change.before}; {change.after} would be a step back",
            place=Place(path, change.line),
            hint=f"if it is meant: {command('board', 'set', change.key, change.after, '--force')}",
        )


def check_word(status: str, kind: Kind) -> None:
    """Refuse a status that nobody can act on, unless it is one people park with."""
    if status in LIFE[kind] or (read_status(status, kind).meaning == PARKED and kind is not Kind.RETROSPECTIVE):
        return
    near = suggest_status(status, kind)
    raise UsageError(
        f"{status} is not a status of {kind.with_article}",
        expected=", ".join(LIFE[kind]) + (", or a parked one such as blocked" if kind is Kind.STORY else ""),
        hint=f"did you mean {near}?" if near else None,
    )


def _landed(target: str, key: str, status: str) -> bool:
    """Somebody wrote around us. Is our change in what stands there now?"""
    return any(cell[:2] == (key, status) for cell in read_cells(read_settled(target, follow=False)).cells)
