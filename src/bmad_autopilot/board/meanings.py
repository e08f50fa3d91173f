"""The files that are merged by what they mean, each in its own way."""

from enum import StrEnum

from ..core.errors import FileError
from ..files import Text
from .merging import Merged, merge_boards
from .merging_deferred import merge_deferred
from .sprint import board_from_text

MOST_TOLD = 5


class Meaning(StrEnum):
    BOARD = "board"
    DEFERRED = "deferred"


def merge(meaning: Meaning, base: bytes, ours: bytes, theirs: bytes) -> Merged | None:
    """None: nobody but a person can. An empty base is what git gives where both sides began the file."""
    if b"\0" in base + ours + theirs:  # UTF-16 has line ends that are none of ours
        return None
    if meaning is Meaning.BOARD:
        return merge_boards(base or None, ours, theirs)
    data = merge_deferred(base or None, ours, theirs)
    return Merged(data, ()) if data is not None else None


def difference(meaning: Meaning, wanted: bytes, found: bytes) -> str:
    """What a merge has made other than it should be, for a person."""
    told = _rows(wanted, found) if meaning is Meaning.BOARD else []
    if not told:
        has = {line.rstrip() for line in found.splitlines()}
        lost = [line for line in wanted.splitlines() if line.rstrip() not in has]
        told = [f"without {line.decode('utf-8', 'replace').strip()!r}" for line in lost]
    more = f" and {len(told) - MOST_TOLD} more" if len(told) > MOST_TOLD else ""
    return ", ".join(told[:MOST_TOLD]) + more if told else "other lines, or in another order"


def _rows(wanted: bytes, found: bytes) -> list[str]:
    try:
        rows, now = (board_from_text(Text("merged", raw)).rows for raw in (wanted, found))
    except FileError as error:
        return [f"it {error.message}"]
    told = []
    for key, row in rows.items():
        if key not in now:
            told.append(f"no {key} ({row.status.raw})")
        elif now[key].status.raw != row.status.raw:
            told.append(f"{key} {now[key].status.raw}, not {row.status.raw}")
    return told + [f"{key} again" for key in now if key not in rows]
