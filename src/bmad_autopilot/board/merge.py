"""Three-way merge of boards: rows by their statuses, everything else line by line."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Set
from itertools import accumulate
from typing import NamedTuple

from ..core.errors import FileError
from ..core.statuses import DONE, PARKED, RowKind, status_rank
from ..io.files import BOM, TextFile
from ..io.yaml_scanner import line_comment
from .sprint_status import Board, Row, board_from_text, inline_comments
from .sprint_status_cells import Cells
from .three_way import Region, merge_lines

# Decide which rows the merged board has, and their statuses.


class RowVersions(NamedTuple):
    """One row in three boards; None: that board does not have it."""

    base: Row | None
    ours: Row | None
    theirs: Row | None


class RowDecision(NamedTuple):
    key: str  # the base's, else the sides'
    row: Row | None  # the row whose status is kept; None: the row is deleted
    versions: RowVersions
    note: str = ""
    is_restored: bool = False  # deleted on one side, changed on the other


class HumanEdits(NamedTuple):
    """Keys of the rows that a person edited, on each side."""

    ours: Set[str] = frozenset()
    theirs: Set[str] = frozenset()


def decide_rows(base: Board, ours: Board, theirs: Board, human_edits: HumanEdits) -> list[RowDecision]:
    """A status that a person set on one side only is kept, even if it is a step back."""
    in_ours, in_theirs = _by_base_key(base, ours), _by_base_key(base, theirs)
    keys = dict.fromkeys((*base.rows, *in_ours, *in_theirs))
    found = [
        _decide(key, RowVersions(base.rows.get(key), in_ours.get(key), in_theirs.get(key)), human_edits)
        for key in keys
    ]
    return [_keep_commented_row(one, base, ours, theirs) if one.row is None else one for one in found]


def _keep_commented_row(decision: RowDecision, base: Board, ours: Board, theirs: Board) -> RowDecision:
    """Keep a row that one side deleted if the other side added a comment to it."""
    before, here, there = decision.versions
    side, kept = (ours, here) if here is not None else (theirs, there)
    if kept is None or before is None:
        return decision
    comment = inline_comments(side, [kept]).get(kept.key)
    if comment in (None, inline_comments(base, [before]).get(before.key)):
        return decision
    where = "here" if here is None else "there"
    note = f"{kept.key}: deleted {where}, a comment beside it on the other side; kept"
    return decision._replace(row=kept, note=note, is_restored=True)


def _by_base_key(base: Board, side: Board) -> dict[str, Row]:
    """The side's rows by the base's keys. A key with a new slug is the same row if its number is unique."""
    gone: dict[tuple[RowKind, str], list[str]] = {}
    for key, row in base.rows.items():
        if key not in side.rows:
            gone.setdefault((row.kind, row.number), []).append(key)
    found: dict[str, Row] = {}
    for key, row in side.rows.items():
        before = gone.pop((row.kind, row.number), ()) if key not in base.rows else ()
        found[before[0] if len(before) == 1 else key] = row
    return found


def _decide(key: str, versions: RowVersions, human_edits: HumanEdits) -> RowDecision:
    _, ours, theirs = versions
    was, here, there = (row.status.raw if row else None for row in versions)
    if there in (here, was):
        return RowDecision(key, ours, versions)
    if here == was:
        return RowDecision(key, theirs, versions)
    kept = ours or theirs
    assert kept is not None
    if ours is None or theirs is None:
        where = "here" if ours is None else "there"
        note = f"{kept.key}: deleted {where}, changed to {kept.status.raw} on the other side; kept"
        return RowDecision(key, kept, versions, note, True)
    keys = (key, ours.key, theirs.key)
    here_by_hand, there_by_hand = (not side.isdisjoint(keys) for side in human_edits)
    if here_by_hand != there_by_hand:
        row = theirs if there_by_hand else ours
    else:
        row = theirs if _is_further(theirs, ours) else ours
    return RowDecision(key, row, versions, f"{row.key}: {here} here, {there} there; {row.status.raw} stands")


def _is_further(one: Row, other: Row) -> bool:
    """Whether a row has the later status; of two words for one status the canonical one is later."""
    return (_merge_rank(one), not one.status.is_legacy) > (_merge_rank(other), not other.status.is_legacy)


def _merge_rank(row: Row) -> float:
    """A person parks a row on purpose: only done ranks above it."""
    if row.meaning == PARKED:
        return status_rank(DONE, RowKind.STORY) - 0.5
    if row.meaning == DONE:
        return status_rank(DONE, RowKind.STORY)
    # `review` is no status of an epic, and yet ranks above the backlog.
    return status_rank(row.meaning, RowKind.STORY if row.kind is RowKind.EPIC else row.kind)


# Regions where both sides changed lines: rows and fields are matched by name.

_DATES = (
    re.compile(r"(?P<y>\d{4})-(?P<m>\d\d)-(?P<d>\d\d)(?:[T ](?P<time>\d\d:\d\d(?::\d\d)?))?"),
    re.compile(r"(?P<m>\d\d)-(?P<d>\d\d)-(?P<y>\d{4})(?: (?P<time>\d\d:\d\d))?"),
)


class BoardLine(NamedTuple):
    text: str
    name: str = ""  # of a row or a field; empty: comments, blanks, and parts of larger values
    is_row: bool = False

    @property
    def is_blank_or_comment(self) -> bool:
        """The line has no content for YAML."""
        return self.text.strip()[:1] in ("", "#")


_NamedLines = dict[tuple[str, int], BoardLine]


def resolve_region(region: Region[BoardLine]) -> list[BoardLine] | None:
    """Merge both sides: keep every added line, drop every deleted one. None: both rewrote the same text."""
    plain = [[line.text for line in lines if not line.name and not line.is_blank_or_comment] for lines in region]
    if plain[0] and plain[1] not in (plain[0], plain[2]) and plain[2] != plain[0]:
        return None
    base, ours, theirs = (_lines_by_name(lines) for lines in region)
    kept = {
        name: merge_line(base.get(name), line, theirs[name]) if name in theirs else line
        for name, line in ours.items()
        if name in theirs or not _is_deleted(line, base.get(name))
    }
    return list(_interleave(kept, theirs, base))


def _lines_by_name(lines: Iterable[BoardLine]) -> _NamedLines:
    """Lines by their name or text and its occurrence number."""
    seen: dict[str, int] = {}
    found: _NamedLines = {}
    for line in lines:
        name = line.name or f"={line.text.rstrip()}"
        seen[name] = seen.get(name, 0) + 1
        found[name, seen[name]] = line
    return found


def _is_deleted(line: BoardLine, before: BoardLine | None) -> bool:
    """Whether the other side deleted the line. A field that this side changed stays; rows were decided before."""
    return before is not None and (line.is_row or line == before)


def merge_line(base: BoardLine | None, ours: BoardLine, theirs: BoardLine) -> BoardLine:
    """Merge two versions of a line, with the comments of both sides."""
    if base is not None and ours == base:
        return theirs
    if ours == theirs or theirs == base or not ours.name:
        return ours
    if not ours.is_row:
        return theirs if _date_in(theirs.text) > _date_in(ours.text) else ours
    mine, other = line_comment(ours.text), line_comment(theirs.text)
    if not mine and base is not None:
        return theirs
    was = line_comment(base.text) if base is not None else None
    if other in (None, was, mine):
        return ours
    end = "\r" if ours.text.endswith("\r") else ""
    return ours._replace(text=f"{ours.text.rstrip()} {'' if mine else ' '}# {other}{end}")


def _date_in(text: str) -> tuple[str, ...]:
    """The date in a text as a sort key; a text without one sorts first."""
    for form in _DATES:
        if found := form.search(text):
            return found["y"], found["m"], found["d"], found["time"] or ""
    return ()


def _interleave(kept: _NamedLines, theirs: _NamedLines, base: _NamedLines) -> Iterable[BoardLine]:
    """Insert their new lines between the same lines as on their side, below ours. A block stays together."""
    behind: dict[tuple[str, int] | None, list[BoardLine]] = {}
    anchor = None
    for name, line in theirs.items():
        if name in kept:
            anchor = name
        elif not _is_deleted(line, base.get(name)):
            behind.setdefault(anchor, []).append(line)
    anchor = None
    for name, line in kept.items():
        if name in theirs:
            yield from behind.pop(anchor, ())
            anchor = name
        yield line
    for rest in behind.values():
        yield from rest


# One of the three boards: its lines, with the decided statuses filled in.

_FIELD = re.compile(r"""(\#[ ]*)?(["']?)([A-Za-z_][\w.-]*)\2:(?=\s|\Z)""")
_DATED = frozenset(("generated", "last_updated"))  # BMAD writes them as comments too


class BoardSide:
    def __init__(self, board: Board) -> None:
        self.board = board
        self._cells = board.cells
        self._index = {cell[0]: at for at, cell in enumerate(self._cells.cells)}
        self._numbers = _line_numbers(self._cells)

    def token(self, row: Row) -> str:
        """Its status as written, with its quotes."""
        start, end = self._cells.cell_span(self._index[row.key])
        return self._cells.text.text[start:end]

    def lines(self, rows: Iterable[tuple[Row, RowDecision, str | None]]) -> list[BoardLine]:
        """The board's lines with the token decided for each row; None: without its line. The three versions then
        differ only in things other than statuses."""
        splices: list[tuple[int, int, str]] = []
        names: dict[int, str] = {}
        left_out: set[int] = set()
        for row, decision, token in rows:
            at = self._index[row.key]
            names[self._numbers[at]] = decision.key
            if token is None:
                left_out.add(self._numbers[at])
            elif decision.row is not None and row.status.raw != decision.row.status.raw:
                start, end = self._cells.cell_span(at)
                splices.append((start, end, token if start < end else f" {token}"))  # `key:` had no value
        lines = _apply_splices(self._cells.text.text, splices).split("\n")
        return [
            BoardLine(text, f"row {names[at]}", True) if at in names else BoardLine(text, _field_name(text))
            for at, text in enumerate(lines)
            if at not in left_out
        ]


def _apply_splices(text: str, splices: list[tuple[int, int, str]]) -> str:
    parts: list[str] = []
    position = 0
    for start, end, token in sorted(splices):
        parts += (text[position:start], token)
        position = end
    return "".join([*parts, text[position:]])


def _line_numbers(cells: Cells) -> list[int]:
    """The line of each cell, counted from 0 by line feeds only: YAML also has other line ends."""
    if cells.spans is None:
        return [cell[2] - 1 for cell in cells.cells]
    starts = list(accumulate((len(line) + 1 for line in cells.text.text.split("\n")), initial=0))
    return [bisect_right(starts, span[0]) - 1 for span in cells.spans]


def _field_name(line: str) -> str:
    found = _FIELD.match(line)
    if found is None or (found[1] and found[3] not in _DATED):
        return ""
    return f"{'remark' if found[1] else 'field'} {found[3]}"


_EMPTY_BOARD = b"development_status:\n"


class MergeResult(NamedTuple):
    data: bytes
    notes: tuple[str, ...]  # rows that both sides changed, and the result
    contested: tuple[str, ...] = ()  # keys of the rows with a different status on each side


def merge_boards(
    base: bytes | None,
    ours: bytes,
    theirs: bytes,
    *,
    human_rows_theirs: Set[str] = frozenset(),
    human_rows_ours: Set[str] = frozenset(),
) -> MergeResult | None:
    """Merge three versions of a board. The side that changed a row wins; if both did, the person's edit
    (`human_rows_theirs`: keys of the rows a person set on their side, `human_rows_ours` on ours), else the later
    status. No row is lost, and the comments of both sides are kept. None: one version is no board, or both sides
    rewrote something other than rows.

    `base` None: both sides created the file."""
    try:
        return _merge(
            _EMPTY_BOARD if base is None else base, ours, theirs, HumanEdits(human_rows_ours, human_rows_theirs)
        )
    except FileError:
        return None


def _merge(base: bytes, ours: bytes, theirs: bytes, human_edits: HumanEdits) -> MergeResult | None:
    named = (("base", base), ("ours", ours), ("theirs", theirs))
    boards = [board_from_text(TextFile(name, raw)) for name, raw in named]
    decisions = decide_rows(boards[0], boards[1], boards[2], human_edits)
    sides = [BoardSide(board) for board in boards]
    tokens = [(decision, _token(sides, decision)) for decision in decisions]
    # A restored row is left out of the base, so that it counts as new.
    versions = [
        side.lines(
            (row, decision, None if at == 0 and decision.is_restored else token)
            for decision, token in tokens
            if (row := decision.versions[at]) is not None
        )
        for at, side in enumerate(sides)
    ]
    lines = merge_lines(
        Region(versions[0], *_deduplicate_new_rows(versions[1], versions[2], decisions)), resolve_region
    )
    if lines is None:
        return None
    text = "\n".join(line.text for line in lines)
    merged = TextFile("merged", ((BOM if boards[1].cells.text.bom else "") + text).encode())
    if not _is_complete(board_from_text(merged), boards, decisions):
        return None
    contested = tuple(one.key for one in decisions if one.note and not one.is_restored)
    return MergeResult(merged.raw, tuple(one.note for one in decisions if one.note), contested)


def _token(sides: list[BoardSide], decision: RowDecision) -> str:
    """The row's token. Skipped if all three are equal, as for most rows: the lookup walks through the file."""
    if decision.row is None or len({row.status.raw for row in decision.versions if row is not None}) == 1:
        return ""
    return sides[1 if decision.row is decision.versions.ours else 2].token(decision.row)


def _deduplicate_new_rows(
    ours: list[BoardLine], theirs: list[BoardLine], decisions: list[RowDecision]
) -> tuple[list[BoardLine], list[BoardLine]]:
    """Keep a row that both sides added only at our position."""
    new = {f"row {one.key}" for one in decisions if one.versions.base is None and None not in one.versions[1:]}
    there = {line.name: line for line in theirs if line.name in new}
    return (
        [merge_line(None, line, there[line.name]) if line.name in there else line for line in ours],
        [line for line in theirs if line.name not in there],
    )


def _is_complete(merged: Board, boards: list[Board], decisions: list[RowDecision]) -> bool:
    """Whether the result has exactly the decided rows, each once with its status, and all fields of both sides."""
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
