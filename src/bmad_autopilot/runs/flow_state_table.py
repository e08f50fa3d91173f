"""The tables of a flow's state file: rows as people and agents leave them, and as they are written."""

import re
from collections.abc import Sequence
from itertools import count
from typing import NamedTuple

from ..files import Text
from .flow_state_page import Entry, Page, Section, clean, letters, note, says_nothing

_RULE = re.compile(r":?-+:?")
_FORM = re.compile(r"\[[^\]]*\]")
_CUT = re.compile(r"((?:[^|\\]|\\.?)*+)(?:\||\Z)", re.DOTALL)
_ESCAPED_PIPE = re.compile(r"(?<!\\)(\\+)\|")
_PIPE = re.compile(r"(?<!\\)(\\*)\|")


class Column(NamedTuple):
    title: str
    rule: str
    others: tuple[str, ...] = ()  # what else people call it, by its letters


COMPLETED = (
    Column("Step", "------"),
    Column("Name", "------", ("stepname",)),
    Column("Completed", "-----------", ("date", "completedat", "completedon", "when")),
    Column("Key Outcome", "-------------", ("outcome", "keyoutcomes", "result", "summary")),
)
RETRIES = (
    Column("Attempt", "---------"),
    Column("Step", "------"),
    Column("Name", "------", ("stepname",)),
    Column("SubStep", "---------"),
    Column("Failure Reason", "----------------", ("reason", "failure")),
    Column("Timestamp", "-----------", ("time", "date", "when", "at")),
)


class Table(NamedTuple):
    rows: list[Entry]
    last: int | None  # its last line; None: there is no table
    places: tuple[int, ...]  # where each known column stands
    width: int


def find_table(text: Text, page: Page, section: Section, columns: Sequence[Column]) -> Table:
    """Whatever looks like a row counts, after a blank line too. A header tells which column is which."""
    found = {number: cells for number, line in page.body(section) if (cells := split_row(line)) is not None}
    head = _header(found, columns)
    rule = next((number for number, cells in found.items() if _is_rule(cells)), None)
    begin = min((number for number in (head, rule) if number is not None), default=section.heading)
    places, width = _places(found[head] if head is not None else (), columns)
    rows, last = [], None
    for number, cells in found.items():
        if number < begin and not page.shown[number].lstrip().startswith("|"):
            continue  # a sentence before the table
        last = number
        value = tuple(_cell(cells[place]) if place < len(cells) else "" for place in places)
        if number == head or not is_row(value, columns):
            continue
        rows.append(Entry(number, number + 1, value, cells=cells))
        _judge(text, page, rows[-1], max(places) + 1, width)
    return Table(rows, last, places, width)


def _judge(text: Text, page: Page, row: Entry, needed: int, width: int) -> None:
    found = len(row.cells)
    if found < needed:
        message = f"this row has {found} cells of {needed}; the others are read as empty"
        page.diagnostics.append(note(text, "short-row", message, row.first))
    elif found > max(width, needed):
        message = f"this row has {found} cells, the table {width} columns; the last ones are not read"
        page.diagnostics.append(note(text, "long-row", message, row.first, r"write a | inside a cell as \|"))


def _header(found: dict[int, tuple[str, ...]], columns: Sequence[Column]) -> int | None:
    """The line of the header: it has the names of columns, or (in another language) a rule right below it."""
    for number, cells in found.items():
        if _is_header(cells, columns):
            return number
    first, second = [*found, None, None][:2]
    if first is None or second is None or _is_rule(found[first]) or not _is_rule(found[second]):
        return None
    return first if not _has_digit(found[first]) else None


def _is_header(cells: Sequence[str], columns: Sequence[Column]) -> bool:
    return not _has_digit(cells) and sum(place is not None for place in _named(cells, columns)) > 1


def _has_digit(cells: Sequence[str]) -> bool:
    """As every row has, and no header."""
    return any(char.isdigit() for cell in cells for char in cell)


def _named(cells: Sequence[str], columns: Sequence[Column]) -> list[int | None]:
    """Where the names of the known columns stand."""
    names = [letters(cell) for cell in cells]
    wanted = ((letters(column.title), *column.others) for column in columns)
    return [next((names.index(name) for name in known if name in names), None) for known in wanted]


def _places(head: Sequence[str], columns: Sequence[Column]) -> tuple[tuple[int, ...], int]:
    """Where each known column stands, and how many there are. What the header lacks stands behind its others."""
    named = _named(head, columns)
    usual = len(head) == len(columns) and all(place in (None, index) for index, place in enumerate(named))
    if usual or not _is_header(head, columns):
        return tuple(range(len(columns))), len(columns)
    behind = count(len(head))
    return tuple(next(behind) if place is None else place for place in named), len(head)


def is_row(value: Sequence[str], columns: Sequence[Column]) -> bool:
    """Not a rule, not a line of blanks or dots, not the header once more. Nor the `| 1 | [name] | [date] |` of the
    documented form: nobody has done that step."""
    is_form = all(_FORM.fullmatch(cell) for cell in value[1:])
    return not is_form and not says_nothing(tuple(value)) and not _is_header(value, columns)


def _is_rule(cells: tuple[str, ...]) -> bool:
    return all(_RULE.fullmatch(cell) for cell in cells)


def split_row(line: str) -> tuple[str, ...] | None:
    """The cells of a row, with or without outer pipes; None for a line that is none."""
    body = line.strip()
    cells = [match[1] for match in _CUT.finditer(body)]
    if body.startswith("|"):
        cells = cells[1:]
    elif len(cells) < 4:  # a sentence may hold a pipe
        return None
    # The pattern matches once more at the end: empty behind an outer pipe, and an empty rest otherwise.
    cells = cells[:-1]
    return tuple(cell.strip() for cell in cells) or None


def _cell(raw: str) -> str:
    return clean(_ESCAPED_PIPE.sub(lambda match: "\\" * (len(match[1]) // 2) + "|", raw))


def _written(text: str) -> str:
    return _PIPE.sub(lambda match: match[1] * 2 + r"\|", text)


def row_line(table: Table, value: Sequence[str], old: Entry | None = None) -> str:
    """A row as a line. Cells of columns that are not ours stay."""
    cells = list(old.cells if old else ())
    cells += [""] * (max(table.width, max(table.places) + 1) - len(cells))
    for place, text in zip(table.places, value, strict=True):
        cells[place] = _written(text)
    return f"| {' | '.join(cells)} |"


def new_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    table = Table([], None, tuple(range(len(columns))), len(columns))
    head = [f"| {' | '.join(column.title for column in columns)} |", f"|{'|'.join(c.rule for c in columns)}|"]
    return head + [row_line(table, row) for row in rows]
