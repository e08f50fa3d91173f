"""other-row: an agent's own row is its claim; every other row stays where it is."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..core.keys import Identity, identify
from ..core.statuses import BACKLOG, DONE, OPTIONAL, READY, REVIEW, Kind, read_status
from .asked import wants_row_gone
from .look import WorkLook
from .objections import Objection, foul, listed


class Moved(NamedTuple):
    """What became of a row; a status is empty where the row was not there, or is not any more."""

    key: str
    before: str
    after: str


def other_rows(look: WorkLook) -> Iterator[Objection]:
    if look.rows_after is None:
        return
    before, after = look.rows_before, look.rows_after
    if {**before, look.key: ""} == {**after, look.key: ""}:
        return
    known = identify(dict.fromkeys((*before, *after)))
    others = [row for row in _pairs(before, after, known) if not _is_own(look, row.key, known)]
    gone = [row.key for row in others if not row.after and not wants_row_gone(look.asked, row.key)]
    new = [row.key for row in others if not row.before and _is_begun(known[row.key].kind, row.after)]
    jumped = [row.key for row in others if row.before and row.after and _jumped(known[row.key].kind, row)]
    jumped = [key for key in jumped if not _ends_its_epic(key, known, look.key, after)]
    parts = [
        *([f"{listed(jumped)} went into or out of review or done"] if jumped else []),
        *([f"{listed(gone)} is gone"] if gone else []),
        *([f"{listed(new)} is new and already begun"] if new else []),
    ]
    if parts:
        yield foul("other-row", f"On the board {'; '.join(parts)}. Only {look.key} may change.")


def moved_rows(look: WorkLook) -> list[Moved]:
    """All rows but its own that are not as they were, to be shown and put back. New ones that nobody has begun are
    let be: planning adds them."""
    if look.rows_after is None:
        return []
    before, after = look.rows_before, look.rows_after
    known = identify(dict.fromkeys((*before, *after)))
    return [
        row
        for row in _pairs(before, after, known)
        if not _is_own(look, row.key, known) and (row.before or _is_begun(known[row.key].kind, row.after))
    ]


def claims_end(row: Moved) -> bool:
    """Whether the row went into review or done."""
    kind = identify([row.key])[row.key].kind
    return _jumped(kind, row) and read_status(row.after, kind).meaning in (REVIEW, DONE)


def strayed_rows(look: WorkLook, epic: str) -> list[Moved]:
    """Rows of other epics that are not as they were."""
    moved = moved_rows(look)
    known = identify(dict.fromkeys((*look.rows_before, *(look.rows_after or ())))) if moved else {}
    return [row for row in moved if known[row.key].epic not in (None, epic)]


def with_rows_back(look: WorkLook, moved: Iterable[Moved]) -> WorkLook:
    """As it looks once these are where they were."""
    rows = dict(look.rows_after or {})
    rows.update((row.key, as_before(row.key, row.before)) for row in moved)
    return look._replace(rows_after=rows)


def as_before(key: str, before: str) -> str:
    """What a row is set back to: one that is new, to where nothing of it is begun."""
    kind = identify([key])[key].kind
    return before or (OPTIONAL if kind is Kind.RETROSPECTIVE else BACKLOG)


def _is_own(look: WorkLook, key: str, known: Mapping[str, Identity]) -> bool:
    return key == look.key or known[key].number == look.number


def _pairs(before: Mapping[str, str], after: Mapping[str, str], known: Mapping[str, Identity]) -> Iterator[Moved]:
    """Each row that differs, as it was and as it is; one that got another key, under the new one."""
    names = {(known[key].kind, known[key].number): key for key in after if key not in before}
    renamed = {key: names.get((known[key].kind, known[key].number)) for key in before if key not in after}
    for key, status in before.items():
        name = renamed.get(key) or key
        if after.get(name) != status:
            yield Moved(name, status, after.get(name, ""))
    for key, status in after.items():
        if key not in before and key not in renamed.values():
            yield Moved(key, "", status)


def _jumped(kind: Kind, row: Moved) -> bool:
    was, now = (read_status(raw, kind).meaning for raw in (row.before, row.after))
    return was != now and bool({was, now} & {REVIEW, DONE})


def _is_begun(kind: Kind, status: str) -> bool:
    """A new story waits for its turn; of epics and retrospectives a new row must only not claim an end."""
    meaning = read_status(status, kind).meaning
    return meaning not in (BACKLOG, READY) if kind is Kind.STORY else meaning in (REVIEW, DONE)


def _ends_its_epic(key: str, known: Mapping[str, Identity], own: str, after: Mapping[str, str]) -> bool:
    """An agent of the last story that closes the epic says what we would say."""
    row = known[key]
    mine = known.get(own)
    if row.kind is not Kind.EPIC or mine is None or row.epic != mine.epic:
        return False
    return all(
        read_status(after[other], Kind.STORY).meaning == DONE
        for other, one in known.items()
        if one.kind is Kind.STORY and one.epic == row.epic and other in after
    )
