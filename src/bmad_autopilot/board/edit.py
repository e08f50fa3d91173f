"""Changing one value of the board: a token is spliced, every other byte stays."""

import re
from typing import NamedTuple

from ..core.errors import AutopilotError, FileError, Place
from ..core.keys import identify
from ..core.lines import scan
from ..files import BOM, Text
from .cells import Cells, read_cells

# What may stand unquoted: it must read back as itself, as text, in every YAML.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_KEY = re.compile(r"[A-Za-z0-9][\w.-]*")
_NOT_TEXT = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

# The date forms BMAD and people write in `last_updated`; any other form is left alone.
_DATE_FORMS = (
    (re.compile(r"\d{4}-\d\d-\d\d"), "%Y-%m-%d"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d"), "%Y-%m-%d %H:%M"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d"), "%Y-%m-%d %H:%M:%S"),
    (re.compile(r"\d\d-\d\d-\d{4} \d\d:\d\d"), "%m-%d-%Y %H:%M"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"), "%Y-%m-%dT%H:%M:%SZ"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"), "%Y-%m-%dT%H:%M:%S"),
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4}"), "%Y-%m-%dT%H:%M:%S%z"),
)


class Splice(NamedTuple):
    start: int
    end: int
    token: str


def change_status(cells: Cells, index: int, status: str, *, now: float | None = None) -> Cells:
    """The board with one status changed (and the date, when `now` is given and there is one)."""
    _check(status)
    splices = [_value_splice(cells.text.text, cells.cell_span(index), status)]
    dated = _date_splice(cells, now) if now is not None else None
    if dated is not None:
        splices.append(dated)
    text, changed = _spliced(cells.text.text, splices)
    new = Text(cells.text.path, ((BOM if cells.text.bom else "") + text).encode("utf-8"))
    if cells.spans is None:
        after = _with_lines(cells, new, index, [_line_alone(text, start, end) for start, end in changed])
    else:
        after = read_cells(new)
    if after is None or not _is_same_but(cells, after, index, status):
        raise FileError(
            f"could not be changed without touching more than {cells.cells[index][0]}; nothing was written",
            place=Place(cells.text.path, cells.cells[index][2]),
            hint="edit this line by hand",
        )
    return after


def add_row(cells: Cells, key: str, status: str) -> Cells:
    """The board with a line more, below the row that comes before it by number."""
    _check(status)
    new = _with_line(cells, key, status)
    after = _read_again(new) if new is not None else None
    rows = [cell[:2] for cell in cells.cells]
    if after is None or after.fields.keys() != cells.fields.keys() or not _is_one_more(rows, after, (key, status)):
        raise FileError(
            f"has no place for a row {key} that we can be sure of; nothing was written",
            place=Place(cells.text.path),
            hint=f"add it by hand: {key}: {status}",
        )
    return after


def _with_line(cells: Cells, key: str, status: str) -> Text | None:
    if not cells.cells or not _KEY.fullmatch(key):
        return None
    order = {name: one.order for name, one in identify([*(cell[0] for cell in cells.cells), key]).items()}
    above = [cell for cell in cells.cells if order[cell[0]] <= order[key]]
    near, below = (above[-1], 1) if above else (cells.cells[0], 0)
    lines = cells.text.text.split("\n")
    model = lines[near[2] - 1]
    token = status if _PLAIN.fullmatch(status) and status.lower() not in _NOT_TEXT else f'"{status}"'
    line = f"{model[: len(model) - len(model.lstrip(' '))]}{key}: {token}" + ("\r" if model.endswith("\r") else "")
    lines.insert(near[2] - 1 + below, line)
    return Text(cells.text.path, ((BOM if cells.text.bom else "") + "\n".join(lines)).encode("utf-8"))


def _read_again(text: Text) -> Cells | None:
    try:
        return read_cells(text)
    except FileError:
        return None


def _is_one_more(rows: list[tuple[str, str | None]], after: Cells, row: tuple[str, str]) -> bool:
    now = [cell[:2] for cell in after.cells]
    return now.count(row) == 1 and [one for one in now if one != row] == rows


def _check(status: str) -> None:
    quotes = any(char in status for char in "\"'\\")
    if not status or quotes or not status.isprintable() or status.strip() != status:
        raise AutopilotError("not a status", found=repr(status), expected="a word such as in-progress")


def _line_alone(text: str, start: int, end: int) -> tuple[str, str | None] | None:
    """In a regular file every line is read by itself: a changed line that is regular changes no other."""
    flat = scan(text[start:end].strip(" \r"))
    return flat.top[0][:2] if flat is not None and len(flat.top) == 1 else None


def _with_lines(cells: Cells, text: Text, index: int, lines: list[tuple[str, str | None] | None]) -> Cells | None:
    """A regular board after some of its lines changed, without reading all the others again."""
    rows = list(cells.cells)
    fields = dict(cells.fields)
    for line in lines:
        if line is None:
            return None
        key, value = line
        if key == rows[index][0]:
            rows[index] = (key, value, rows[index][2])
        elif key in fields:
            fields[key] = (key, value, fields[key][2])
        else:
            return None
    return cells._replace(text=text, cells=rows, fields=fields)


def find_cell(cells: Cells, key: str) -> int:
    """The index of the one cell with this key."""
    found = [index for index, cell in enumerate(cells.cells) if cell[0] == key]
    if len(found) == 1:
        return found[0]
    if not found:
        raise FileError(f"has no row {key}", place=Place(cells.text.path), hint="see them all: bmad status --all")
    lines = ", ".join(str(cells.cells[index][2]) for index in found)
    raise FileError(
        f"has {key} more than once; which one is meant cannot be told",
        place=Place(cells.text.path, cells.cells[found[-1]][2]),
        found=f"lines {lines}",
        hint="keep one of the lines",
    )


def _date_splice(cells: Cells, now: float) -> Splice | None:
    """A new `last_updated` in the form the old one has; None where there is none or its form is free."""
    value = cells.fields["last_updated"][1] if "last_updated" in cells.fields else None
    for form, template in _DATE_FORMS if value else ():
        if form.fullmatch(value or ""):
            import time

            moment = time.gmtime(now) if template.endswith("Z") else time.localtime(now)
            span = cells.field_span("last_updated")
            return _value_splice(cells.text.text, span, time.strftime(template, moment), plain=True)
    return None


def _value_splice(text: str, span: tuple[int, int], value: str, *, plain: bool = False) -> Splice:
    start, end = span
    quote = text[start] if start < end and text[start] in "\"'" else ""
    if not quote and not plain and (not _PLAIN.fullmatch(value) or value.lower() in _NOT_TEXT):
        quote = '"'
    token = f"{quote}{value}{quote}"
    return Splice(start, end, token if start < end else " " + token)  # `key:` had no value


def _spliced(text: str, splices: list[Splice]) -> tuple[str, list[tuple[int, int]]]:
    """The new text, and the spans of the lines that changed in it."""
    parts: list[str] = []
    position = length = 0
    tokens = []
    for start, end, token in sorted(splices):
        parts += (text[position:start], token)
        length += start - position
        tokens.append((length, length + len(token)))
        length += len(token)
        position = end
    new = "".join([*parts, text[position:]])
    return new, [_line_around(new, start, end) for start, end in tokens]


def _line_around(text: str, start: int, end: int) -> tuple[int, int]:
    stop = text.find("\n", end)
    return text.rfind("\n", 0, start) + 1, stop if stop >= 0 else len(text)


def _is_same_but(before: Cells, after: Cells, index: int, status: str) -> bool:
    if len(before.cells) != len(after.cells) or after.cells[index][1] != status:
        return False
    same = before.cells[:index] == after.cells[:index] and before.cells[index + 1 :] == after.cells[index + 1 :]
    changed = {name for name, cell in before.fields.items() if after.fields.get(name) != cell}
    return same and changed <= {"last_updated"} and before.fields.keys() == after.fields.keys()
