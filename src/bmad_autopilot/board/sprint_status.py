"""Reads sprint-status.yaml, the board: its rows with their kinds, numbers and statuses."""

import re
from collections.abc import Callable, Iterable
from functools import partial
from typing import NamedTuple

from ..core.errors import FileError, Location, UsageError
from ..core.keys import Order, identify_all
from ..core.statuses import OPTIONAL, RowKind, RowStatus, read_status
from ..core.text import clip
from ..io.files import TextFile, read_stable
from ..io.yaml_reader import MappingNode, Node, ScalarNode, SequenceNode
from ..io.yaml_scanner import line_comment
from .sprint_status_cells import Cells, read_cells

MAX_KEY_BYTES = 200  # a key becomes a file name: `{key}.agent-state.json`
_ORDINARY_KEYS = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9-]{0,199}\n)*")


class Row(NamedTuple):
    """One line of the board."""

    key: str
    status: RowStatus
    kind: RowKind
    epic: str | None
    number: str
    order: tuple[Order, Order]
    line: int
    reason: str | None = None  # why it is blocked, if the board says so

    @property
    def meaning(self) -> str:
        return self.status.meaning


class ActionItem(NamedTuple):
    epic: str
    action: str
    owner: str
    status: str


class Board(NamedTuple):
    """The content of one board file. Of two rows with one key the last one counts, as in YAML."""

    cells: Cells
    rows: dict[str, Row]
    shadowed: tuple[Row, ...]  # earlier rows whose key is repeated below

    @property
    def path(self) -> str:
        return self.cells.text.path

    def of_kind(self, kind: RowKind) -> list[Row]:
        """Rows of one kind in natural order."""
        rows = [row for row in self.rows.values() if row.kind is kind]
        rows.sort(key=lambda row: row.order)
        return rows

    def field(self, name: str) -> str | None:
        cell = self.cells.fields.get(name)
        return cell[1] if cell else None


def read_board(path: str) -> Board:
    return board_from_text(read_stable(path))


def board_from_text(text: TextFile) -> Board:
    cells = read_cells(text)
    if not cells.cells:
        return Board(cells, {}, ())
    keys, values, lines = zip(*cells.cells, strict=True)
    _check_keys(cells, keys)
    kinds, epics, numbers, orders = zip(*identify_all(list(keys)), strict=True)
    columns = (keys, _statuses(values, kinds), kinds, epics, numbers, orders, lines, map(cells.reasons.get, keys))
    # Column by column, so that no bytecode runs per row: boards have thousands of them.
    every = list(map(_NEW_ROW, zip(*columns, strict=True)))
    rows = dict(zip(keys, every, strict=True))
    if len(rows) == len(every):
        return Board(cells, rows, ())
    shadowed = tuple(row for row in every if rows[row.key] is not row)
    return Board(cells, {row.key: row for row in every if rows[row.key] is row}, shadowed)


_NEW_ROW: Callable[[Iterable[object]], Row] = partial(tuple.__new__, Row)


def _statuses(values: tuple[str | None, ...], kinds: tuple[RowKind, ...]) -> list[RowStatus]:
    """Parse each distinct status once. Only for retrospectives does a word have another meaning."""
    known = {value: read_status(value or "", RowKind.STORY) for value in set(values)}
    if not any(status.raw == OPTIONAL for status in known.values()):
        return [known[value] for value in values]
    retro = {value: read_status(value or "", RowKind.RETROSPECTIVE) for value in known}
    return [
        (retro if kind is RowKind.RETROSPECTIVE else known)[value]
        for value, kind in zip(values, kinds, strict=True)
    ]


def _check_keys(cells: Cells, keys: tuple[str, ...]) -> None:
    """Keys become parts of paths: refuse the board if a key could lead elsewhere."""
    joined = "\n".join([*keys, ""])
    if _ORDINARY_KEYS.fullmatch(joined) and joined.count("\n") == len(keys):
        return
    for key, _, line in cells.cells:
        unfit = not key or key[0] in ".-" or any(c in "/\\" or not c.isprintable() for c in key)
        if unfit or len(key.encode("utf-8", "replace")) > MAX_KEY_BYTES:
            shown = key if key.isprintable() else repr(key)
            raise FileError(
                "has a key that cannot name a story file",
                location=Location(cells.text.path, line, _column(cells, line)),
                found=clip(shown, 60) or "an empty key",
                expected=f"no / and no .., at most {MAX_KEY_BYTES} bytes, such as 1-2-account-management",
                hint="rename the key",
            )


def _column(cells: Cells, line: int) -> int:
    row = cells.text.text.splitlines()[line - 1]
    return len(row) - len(row.lstrip()) + 1


def action_items(board: Board) -> tuple[ActionItem, ...]:
    """The action items that retrospectives added."""
    node: Node | None = board.cells.others.get("action_items")
    items = []
    for item in node.items if isinstance(node, SequenceNode) else ():
        if isinstance(item, MappingNode):
            texts = {key.value: value.value or "" for key, value in item.items if isinstance(value, ScalarNode)}
            items.append(ActionItem(*(texts.get(name, "") for name in ActionItem._fields)))
    return tuple(items)


def inline_comments(board: Board, rows: Iterable[Row]) -> dict[str, str]:
    """The comments on the lines of these rows, by key, without the #."""
    lines = board.cells.text.text.split("\n")
    found = {}
    for row in rows:
        line = lines[row.line - 1] if row.line <= len(lines) else ""
        comment = line_comment(line)
        if comment:
            found[row.key] = comment
    return found


def find_row(board: Board, wanted: str, kind: RowKind = RowKind.STORY) -> Row:
    """Look up a row by `1-2`, `1.2`, the full key, `epic-1`, or a prefix that only one key has."""
    from ..core.keys import normalize_number

    exact = board.rows.get(wanted)
    if exact is not None and exact.kind is kind:
        return exact
    rows = board.of_kind(kind)
    label = wanted.lower().removeprefix("epic-").removeprefix("epic ") if kind is RowKind.EPIC else wanted
    number = normalize_number(label)
    matches = [row for row in rows if row.number == number]
    if not matches and _may_be_prefix(wanted, kind):
        matches = [row for row in rows if _has_prefix(row.key.lower(), wanted.lower())]
    if len(matches) == 1:
        return matches[0]
    raise _lookup_error(board, wanted, kind, matches or rows, ambiguous=bool(matches))


def _may_be_prefix(wanted: str, kind: RowKind) -> bool:
    """A bare `3` is an epic's number, not a prefix of `3-1-search`; an empty word is no prefix."""
    return bool(wanted.strip()) and (kind is not RowKind.STORY or not re.fullmatch(r"\d+[a-z]?", wanted))


def _has_prefix(key: str, prefix: str) -> bool:
    """Whole numbers only: `2-1` is no prefix of `2-10-export`."""
    return key.startswith(prefix) and not (prefix[-1:].isdigit() and key[len(prefix) :][:1].isdigit())


def _lookup_error(board: Board, wanted: str, kind: RowKind, rows: list[Row], *, ambiguous: bool) -> UsageError:
    if ambiguous:
        shown = ", ".join(row.key for row in rows[:6]) + (" …" if len(rows) > 6 else "")
        return UsageError(
            f"{wanted} names several {_plural(kind)}",
            location=Location(board.path),
            found=shown,
            hint="give the full key",
        )
    from difflib import get_close_matches

    close = get_close_matches(wanted, [row.key for row in rows], n=3, cutoff=0.5)
    return UsageError(
        f"no {kind.value} {_without_epic_prefix(wanted, kind) or '(empty)'} on the board",
        location=Location(board.path),
        expected=f"perhaps {', '.join(close)}" if close else None,
        hint=_hint(board, wanted),
    )


def _without_epic_prefix(wanted: str, kind: RowKind) -> str:
    return wanted.removeprefix("epic-") if kind is RowKind.EPIC else wanted


def _hint(board: Board, wanted: str) -> str:
    epic = board.rows.get(f"epic-{wanted}")
    return f"is {epic.key} meant? Write it so" if epic else "see them all: bmad status --all"


def _plural(kind: RowKind) -> str:
    return {RowKind.STORY: "stories", RowKind.EPIC: "epics"}.get(kind, kind.value + "s")


def short_key(row: Row, siblings: Iterable[Row]) -> str:
    """The shortest form a user can type for a story: `1-2`, if its key starts with it and no other story of the
    epic has that number."""
    short = row.number.replace(".", "-")
    alone = sum(other.number == row.number for other in siblings) == 1
    return short if alone and row.key.lower().startswith(short + "-") else row.key
