"""other-row: an agent's own row is its claim; every other row stays where it is."""

from collections.abc import Iterator, Mapping

from ..core.keys import Identity, identify
from ..core.statuses import DONE, REVIEW, Kind, read_status
from .look import WorkLook
from .objections import Objection, foul, listed


def other_rows(look: WorkLook) -> Iterator[Objection]:
    if look.rows_after is None:
        return
    before, after = look.rows_before, look.rows_after
    if {**before, look.key: ""} == {**after, look.key: ""}:
        return
    known = identify(dict.fromkeys((*before, *after)))
    moved = [
        key
        for key, row in known.items()
        if key != look.key and row.number != look.number and _jumped(row.kind, before.get(key), after.get(key))
    ]
    bad = [key for key in moved if not _ends_its_epic(key, known, look.key, after)]
    if bad:
        yield foul(
            "other-row",
            f"On the board {listed(bad)} went into or out of review or done; only {look.key} may change.",
        )


def _jumped(kind: Kind, before: str | None, after: str | None) -> bool:
    was, now = (read_status(raw, kind).meaning if raw is not None else "" for raw in (before, after))
    return was != now and bool({was, now} & {REVIEW, DONE})


def _ends_its_epic(key: str, known: Mapping[str, Identity], own: str, after: Mapping[str, str]) -> bool:
    """An agent of the last story that closes the epic says what we would say."""
    row = known[key]
    mine = known.get(own)
    if row.kind is not Kind.EPIC or mine is None or row.epic != mine.epic or key not in after:
        return False
    return all(
        read_status(after[other], Kind.STORY).meaning == DONE
        for other, one in known.items()
        if one.kind is Kind.STORY and one.epic == row.epic and other in after
    )
