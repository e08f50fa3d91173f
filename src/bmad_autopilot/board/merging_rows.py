"""Which status a row has after a merge, and which rows there are."""

from collections.abc import Set
from typing import NamedTuple

from ..core.statuses import DONE, PARKED, Kind, rank
from .sprint import Board, Row, inline_comments


class Versions(NamedTuple):
    """One row in three boards; None: it is not there."""

    base: Row | None
    ours: Row | None
    theirs: Row | None


class Decision(NamedTuple):
    key: str  # the base's, or where it has none the sides'
    row: Row | None  # the row whose status stands; None: there is none any more
    versions: Versions
    note: str = ""
    is_put_back: bool = False  # deleted on one side, changed on the other


class Hands(NamedTuple):
    """Keys of rows that a person set, on each side."""

    ours: Set[str] = frozenset()
    theirs: Set[str] = frozenset()


def decide_rows(base: Board, ours: Board, theirs: Board, hands: Hands) -> list[Decision]:
    """What a person set on one side alone stands, even if it is a step back."""
    in_ours, in_theirs = _by_base_key(base, ours), _by_base_key(base, theirs)
    keys = dict.fromkeys((*base.rows, *in_ours, *in_theirs))
    found = [
        _decide(key, Versions(base.rows.get(key), in_ours.get(key), in_theirs.get(key)), hands) for key in keys
    ]
    return [_with_remark(one, base, ours, theirs) if one.row is None else one for one in found]


def _with_remark(decision: Decision, base: Board, ours: Board, theirs: Board) -> Decision:
    """A row that one side deleted stays if the other has written something beside it."""
    before, here, there = decision.versions
    side, kept = (ours, here) if here is not None else (theirs, there)
    if kept is None or before is None:
        return decision
    said = inline_comments(side, [kept]).get(kept.key)
    if said in (None, inline_comments(base, [before]).get(before.key)):
        return decision
    where = "here" if here is None else "there"
    note = f"{kept.key}: deleted {where}, a comment beside it on the other side; kept"
    return decision._replace(row=kept, note=note, is_put_back=True)


def _by_base_key(base: Board, side: Board) -> dict[str, Row]:
    """The side's rows by the base's keys. A key with a new slug is the same row, if its number tells so."""
    gone: dict[tuple[Kind, str], list[str]] = {}
    for key, row in base.rows.items():
        if key not in side.rows:
            gone.setdefault((row.kind, row.number), []).append(key)
    found: dict[str, Row] = {}
    for key, row in side.rows.items():
        before = gone.pop((row.kind, row.number), ()) if key not in base.rows else ()
        found[before[0] if len(before) == 1 else key] = row
    return found


def _decide(key: str, versions: Versions, hands: Hands) -> Decision:
    _, ours, theirs = versions
    was, here, there = (row.status.raw if row else None for row in versions)
    if there in (here, was):
        return Decision(key, ours, versions)
    if here == was:
        return Decision(key, theirs, versions)
    kept = ours or theirs
    assert kept is not None
    if ours is None or theirs is None:
        where = "here" if ours is None else "there"
        note = f"{kept.key}: deleted {where}, changed to {kept.status.raw} on the other side; kept"
        return Decision(key, kept, versions, note, True)
    keys = (key, ours.key, theirs.key)
    here_by_hand, there_by_hand = (not side.isdisjoint(keys) for side in hands)
    if here_by_hand != there_by_hand:
        row = theirs if there_by_hand else ours
    else:
        row = theirs if _is_further(theirs, ours) else ours
    return Decision(key, row, versions, f"{row.key}: {here} here, {there} there; {row.status.raw} stands")


def _is_further(one: Row, other: Row) -> bool:
    """Of two words for one status the canonical one is the further."""
    return (_place(one), not one.status.is_legacy) > (_place(other), not other.status.is_legacy)


def _place(row: Row) -> float:
    """Parked is what a person took out of the row on purpose: only done goes before that."""
    if row.meaning == PARKED:
        return rank(DONE, Kind.STORY) - 0.5
    if row.meaning == DONE:
        return rank(DONE, Kind.STORY)
    # An epic in review is a word too many, and yet further than one in the backlog.
    return rank(row.meaning, Kind.STORY if row.kind is Kind.EPIC else row.kind)
