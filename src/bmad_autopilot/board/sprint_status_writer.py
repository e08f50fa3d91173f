"""Writes statuses and rows to the board: one token or line changes, every other byte stays."""

import os
import re
import time
from typing import NamedTuple

from ..core.errors import AutopilotError, ConflictError, FileError, Location, UsageError, command
from ..core.keys import identify
from ..core.statuses import DONE, LIFECYCLES, PARKED, RowKind, read_status, status_rank, suggest_status
from ..io.exchange import replace_if_unchanged
from ..io.files import BOM, TextFile, hold_lock, read_stable, refuse_links, resolve_inside
from ..io.yaml_scanner import scan_yaml
from .sprint_status_cells import Cells, cache_cells, read_cells

# Values that need no quotes: every YAML parser reads them back as the same text.
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
_KEY = re.compile(r"[A-Za-z0-9][\w.-]*")
_NOT_TEXT = {"null", "true", "false", "yes", "no", "on", "off", "y", "n"}

# The date formats that BMAD and people write in `last_updated`; any other format stays unchanged.
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
    """The board with one status changed (and the date, if `now` is given and the board has one)."""
    _check_text(status)
    splices = [_value_splice(cells.text.text, cells.cell_span(index), status)]
    dated = _date_splice(cells, now) if now is not None else None
    if dated is not None:
        splices.append(dated)
    text, changed = _apply_splices(cells.text.text, splices)
    new = TextFile(cells.text.path, ((BOM if cells.text.bom else "") + text).encode("utf-8"))
    if cells.spans is None:
        after = _update_lines(cells, new, index, [_parse_line(text, start, end) for start, end in changed])
    else:
        after = read_cells(new)
    if after is None or not _is_only_status_changed(cells, after, index, status):
        raise FileError(
            f"could not be changed without touching more than {cells.cells[index][0]}; nothing was written",
            location=Location(cells.text.path, cells.cells[index][2]),
            hint="edit this line by hand",
        )
    return after


def add_row(cells: Cells, key: str, status: str) -> Cells:
    """The board with one more line, below the row that precedes it by number."""
    _check_text(status)
    new = _insert_line(cells, key, status)
    after = _read_again(new) if new is not None else None
    rows = [cell[:2] for cell in cells.cells]
    if (
        after is None
        or after.fields.keys() != cells.fields.keys()
        or not _is_only_row_added(rows, after, (key, status))
    ):
        raise FileError(
            f"has no place for a row {key} that we can be sure of; nothing was written",
            location=Location(cells.text.path),
            hint=f"add it by hand: {key}: {status}",
        )
    return after


def _insert_line(cells: Cells, key: str, status: str) -> TextFile | None:
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
    return TextFile(cells.text.path, ((BOM if cells.text.bom else "") + "\n".join(lines)).encode("utf-8"))


def _read_again(text: TextFile) -> Cells | None:
    try:
        return read_cells(text)
    except FileError:
        return None


def _is_only_row_added(rows: list[tuple[str, str | None]], after: Cells, row: tuple[str, str]) -> bool:
    now = [cell[:2] for cell in after.cells]
    return now.count(row) == 1 and [one for one in now if one != row] == rows


def _check_text(status: str) -> None:
    quotes = any(char in status for char in "\"'\\")
    if not status or quotes or not status.isprintable() or status.strip() != status:
        raise AutopilotError("not a status", found=repr(status), expected="a word such as in-progress")


def _parse_line(text: str, start: int, end: int) -> tuple[str, str | None] | None:
    """Parse one line. In a regular file each line is independent: a regular new line affects no other."""
    flat = scan_yaml(text[start:end].strip(" \r"))
    return flat.top[0][:2] if flat is not None and len(flat.top) == 1 else None


def _update_lines(
    cells: Cells, text: TextFile, index: int, lines: list[tuple[str, str | None] | None]
) -> Cells | None:
    """Update a regular board for some changed lines, without parsing the others again."""
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
        raise FileError(
            f"has no row {key}", location=Location(cells.text.path), hint="see them all: bmad status --all"
        )
    lines = ", ".join(str(cells.cells[index][2]) for index in found)
    raise FileError(
        f"has {key} more than once; which one is meant cannot be told",
        location=Location(cells.text.path, cells.cells[found[-1]][2]),
        found=f"lines {lines}",
        hint="keep one of the lines",
    )


def _date_splice(cells: Cells, now: float) -> Splice | None:
    """A new `last_updated` in the format of the old one; None if there is none or its format is unknown."""
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


def _apply_splices(text: str, splices: list[Splice]) -> tuple[str, list[tuple[int, int]]]:
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


def _is_only_status_changed(before: Cells, after: Cells, index: int, status: str) -> bool:
    if len(before.cells) != len(after.cells) or after.cells[index][1] != status:
        return False
    same = before.cells[:index] == after.cells[:index] and before.cells[index + 1 :] == after.cells[index + 1 :]
    changed = {name for name, cell in before.fields.items() if after.fields.get(name) != cell}
    return same and changed <= {"last_updated"} and before.fields.keys() == after.fields.keys()


# Durable writes beside other writers: lock, compare-and-set, backup, atomic replace, verification.
#
# Our own processes take the lock. People and BMAD's skills do not: the exchange of the files detects their writes,
# and the change is applied again on top of them.

MAX_ATTEMPTS = 20  # attempts while other writers interfere


class StatusChange(NamedTuple):
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
    allowed_root: str = "",
    expect: str | None = None,
    regress: bool = False,
    now: float | None = None,
) -> StatusChange:
    """Set the status of the row with exactly this key. `state`: our folder for the lock and the backup;
    `allowed_root`: the folder that a symbolic link may not lead out of (default: the board's own); `expect` makes
    it a compare-and-set; a step back needs `regress`. An equal status is not written."""
    _make_state(state)
    target = resolve_inside(path, allowed_root or os.path.dirname(path) or ".")
    with hold_lock(os.path.join(state, "board.lock")):
        for _ in range(MAX_ATTEMPTS):
            cells = read_cells(read_stable(target, follow=False))
            index = find_cell(cells, key)
            change = StatusChange(key, cells.cells[index][1] or "", status, cells.cells[index][2])
            if expect is not None and change.before != expect:
                raise ConflictError(
                    f"{key} is not {expect} any more",
                    location=Location(path, change.line),
                    found=change.before,
                    hint="look again: bmad status",
                )
            if change.before == status:
                return change
            if not regress:
                _refuse_step_back(path, change)
            after = change_status(cells, index, status, now=time.time() if now is None else now)
            if replace_if_unchanged(target, cells.text.raw, after.text.raw, backup_path(state, target)):
                cache_cells(after)
                return change
            if _is_written(target, key, status):
                return change
    raise _too_many_writes(path, key)


def insert_row(path: str, key: str, status: str, *, state: str, allowed_root: str = "") -> None:
    """Insert a missing row with this status. Raises a ConflictError if it exists."""
    _make_state(state)
    target = resolve_inside(path, allowed_root or os.path.dirname(path) or ".")
    with hold_lock(os.path.join(state, "board.lock")):
        for _ in range(MAX_ATTEMPTS):
            cells = read_cells(read_stable(target, follow=False))
            if any(cell[0] == key for cell in cells.cells):
                raise ConflictError(
                    f"{key} is there again", location=Location(path), hint="look again: bmad status"
                )
            after = add_row(cells, key, status)
            if replace_if_unchanged(target, cells.text.raw, after.text.raw, backup_path(state, target)):
                cache_cells(after)
                return
    raise _too_many_writes(path, key)


def _make_state(state: str) -> None:
    refuse_links(state, state)
    os.makedirs(state, exist_ok=True)


def backup_path(state: str, target: str) -> str:
    """The backup path of a file; two boards of one repository have different ones."""
    from zlib import crc32

    return os.path.join(state, f"{os.path.basename(target)}.{crc32(os.fsencode(target)):08x}.bak")


def _too_many_writes(path: str, key: str) -> ConflictError:
    return ConflictError(
        f"was changed {MAX_ATTEMPTS} times by somebody else while {key} was being set",
        location=Location(path),
        hint="find who writes it, then try again",
    )


def _refuse_step_back(path: str, change: StatusChange) -> None:
    kind = identify([change.key])[change.key].kind
    before, after = (read_status(word, kind).meaning for word in (change.before, change.after))
    if 0 <= status_rank(after, kind) < status_rank(before, kind) or (before == DONE and after == PARKED):
        raise UsageError(
            f"{change.key} is {change.before}; {change.after} would be a step back",
            location=Location(path, change.line),
            hint=f"if it is meant: {command('board', 'set', change.key, change.after, '--force')}",
        )


def check_status(status: str, kind: RowKind) -> None:
    """Refuse a status that is neither in the kind's life cycle nor a parked one."""
    if status in LIFECYCLES[kind] or (
        read_status(status, kind).meaning == PARKED and kind is not RowKind.RETROSPECTIVE
    ):
        return
    near = suggest_status(status, kind)
    raise UsageError(
        f"{status} is not a status of {kind.with_article}",
        expected=", ".join(LIFECYCLES[kind])
        + (", or a parked one such as blocked" if kind is RowKind.STORY else ""),
        hint=f"did you mean {near}?" if near else None,
    )


def _is_written(target: str, key: str, status: str) -> bool:
    """Whether our change is in the file after another writer interfered."""
    return any(cell[:2] == (key, status) for cell in read_cells(read_stable(target, follow=False)).cells)
