"""Writing the board durably, beside other writers: lock, compare-and-set, backup, atomic replace, proof.

Our own processes take the lock. People and BMAD's skills do not, so the replace is an exchange: what was there
at that very moment comes out on the other side, and when it is not what we started from, the change is made
again on top of it. Nobody's edit is lost.
"""

import os
import time
from typing import NamedTuple

from ..core.errors import ConflictError, Place, UsageError
from ..core.keys import identify
from ..core.statuses import DONE, LIFE, PARKED, Kind, rank, read_status, suggest_status
from ..files import exchange, locked, read_bytes, read_settled, sync_folder, write_beside
from .cells import read_cells, remember
from .edit import change_status, find_cell

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
    expect: str | None = None,
    regress: bool = False,
    now: float | None = None,
) -> Change:
    """Set the status of the row with exactly this key. `state` is our folder for the lock and the backup;
    `expect` makes it a compare-and-set; a step back needs `regress`. What already stands is not written."""
    os.makedirs(state, exist_ok=True)
    target = os.path.realpath(path)
    with locked(os.path.join(state, "board.lock")):
        for _ in range(ROUNDS):
            cells = read_cells(read_settled(target))
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
            backup = os.path.join(state, os.path.basename(path) + ".bak")
            if _replace(target, cells.text.raw, after.text.raw, backup):
                remember(after)
                return change
            if _landed(target, key, status):
                return change
    raise ConflictError(
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
            hint=f"if it is meant: bmad board set {change.key} {change.after} --force",
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


def _replace(target: str, before: bytes, after: bytes, backup: str) -> bool:
    """Put the new board in place. False if the file was no longer the one we read, or is not the one we wrote."""
    temporary = write_beside(target, after)
    try:
        if exchange(temporary, target):
            if read_bytes(temporary) != before:
                _put_back(target, temporary, after)
                return False
        elif read_bytes(target) == before:  # no exchange on this file system: the smallest window there is
            os.replace(temporary, target)
            temporary = write_beside(backup, before)
        else:
            return False
        _keep(temporary, backup)
    finally:
        if os.path.exists(temporary):
            os.unlink(temporary)
    sync_folder(os.path.dirname(target))
    return read_bytes(target) == after


def _put_back(target: str, theirs: str, ours: bytes) -> None:
    """Their write came out in exchange for ours: theirs goes back, unless they wrote once more meanwhile."""
    if exchange(theirs, target) and read_bytes(theirs) != ours:
        exchange(theirs, target)


def _landed(target: str, key: str, status: str) -> bool:
    """Somebody wrote around us. Is our change in what stands there now?"""
    return any(cell[:2] == (key, status) for cell in read_cells(read_settled(target)).cells)


def _keep(old: str, backup: str) -> None:
    try:
        os.replace(old, backup)
    except OSError:  # another file system: copy
        os.replace(write_beside(backup, read_bytes(old)), backup)
