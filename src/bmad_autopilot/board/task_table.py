"""`_dependencies_table.md`: which task needs which, and how much each is, as a table in any order of columns."""

import re
from collections.abc import Iterator
from typing import NamedTuple

from ..files import Text
from .markdown import unify_line_ends

MAX_ROWS = 5000
_CELL = re.compile(r"(?<!\\)\|")
_RULE = re.compile(r"\s*\|?[\s:|-]*-[\s:|-]*\|?\s*")
_COLUMNS = {
    "task": re.compile(r"task(?: id| no\.?| file)?|id|#|ticket|key|tracker(?: id)?"),
    "needs": re.compile(r"dependenc(?:y|ies)|depends(?: on)?|needs|requires|blocked by|prerequisites?"),
    "points": re.compile(r"(?:complexity|story|sp)?\s*(?:points?|sp)|complexity.*|estimate.*|size"),
}


class TableRow(NamedTuple):
    task: str  # cells as they are written
    needs: str | None  # None: no such column
    points: str | None
    line: int


def read_task_table(text: Text) -> list[TableRow]:
    """The rows of all tables that have a column for tasks and one for their dependencies or points."""
    rows: list[TableRow] = []
    columns: dict[str, int] = {}
    for number, line in enumerate(unify_line_ends(text.text).split("\n"), 1):
        cells = _cells(line)
        if len(cells) < 2:
            columns = {}
            continue
        if _RULE.fullmatch(line):
            continue
        if not columns:
            columns = dict(_header(cells))
            if "task" not in columns or len(columns) < 2:
                columns = {}
            continue
        if len(rows) >= MAX_ROWS:
            break
        named = {name: cells[at] if at < len(cells) else "" for name, at in columns.items()}
        if named["task"]:
            rows.append(TableRow(named["task"], named.get("needs"), named.get("points"), number))
    return rows


def _cells(line: str) -> list[str]:
    stripped = line.strip()
    if "|" not in stripped or len(stripped) > 20_000:
        return []
    parts = [part.replace("\\|", "|").strip() for part in _CELL.split(stripped)]
    if stripped.startswith("|"):
        parts = parts[1:]
    return parts[:-1] if stripped.endswith("|") and parts else parts


def _header(cells: list[str]) -> Iterator[tuple[str, int]]:
    found = set()
    for at, cell in enumerate(cells):
        word = cell.strip("*_` :").lower()
        for name, pattern in _COLUMNS.items():
            if name not in found and pattern.fullmatch(word):
                found.add(name)
                yield name, at
                break
