"""Reads `_dependencies_table.md`: the dependencies and points of tasks, as a table with columns in any order."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ..core.keys import normalize_number
from ..io.files import TextFile
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
    task: str  # all cells as written
    depends_on: str | None  # None: no such column
    points: str | None
    line: int


def read_task_table(text: TextFile) -> list[TableRow]:
    """The rows of all tables with a column for tasks and one for their dependencies or points."""
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


# Names of tasks: in file names, and in references from other tasks.

MAX_SLUG = 60
MAX_DEPENDENCIES = 200  # per cell

_STEM = re.compile(
    r"(?P<id>(?:[A-Za-z][A-Za-z0-9]{0,15}[-_ ]|[A-Za-z]{1,4})?\d{1,9}[a-z]?)(?:[-_. ]+(?P<slug>\S.*))?"
)
_LEADING = re.compile(r"(?:[A-Za-z][A-Za-z0-9]{0,15}[-_ ]|[A-Za-z]{1,4})?\d{1,9}[a-z]?(?![A-Za-z0-9])")
_RANGE = re.compile(r"([A-Za-z]{0,16}[-_ ]?)(\d{1,9})\s*(?:-|–|—|\.\.+|to)\s*([A-Za-z]{0,16}[-_ ]?)(\d{1,9})")
_LINK = re.compile(r"\[([^\[\]]*)\]\([^()]*\)")
_BETWEEN = re.compile(r"[,;&+/]|<br\s*/?>|\band\b", re.IGNORECASE)
_ASIDE = re.compile(r"\([^()]*\)")
_NOTHING = frozenset(
    ("", "-", "–", "—", "none", "no", "nothing", "n/a", "na", "nil", "null", "tbd", "0 dependencies")
)


def split_stem(stem: str) -> tuple[str, str]:
    """`AZ-12_login form` → `AZ-12` and `login-form`; a name without a number is both id and slug."""
    found = _STEM.fullmatch(stem)
    return (found["id"], slug_of(found["slug"] or "")) if found else (stem, slug_of(stem))


def slug_of(text: str) -> str:
    """The text as part of a board key."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:MAX_SLUG].strip("-")


def is_none(cell: str) -> bool:
    """Whether a cell says that there are no dependencies: `—`, `none`, `None (first task)`."""
    return _strip_marks(_ASIDE.sub("", cell)).lower() in _NOTHING


def split_names(cell: str) -> Iterator[str]:
    """The names in a cell or line of dependencies."""
    if is_none(cell):
        return
    plain = _LINK.sub(r"\1", cell)
    count = 0
    for part in _BETWEEN.split(
        _ASIDE.sub("", plain) if _strip_marks(_ASIDE.sub("", plain)) else plain.strip("() ")
    ):
        word = _strip_marks(part)
        if word.lower() in _NOTHING:
            continue
        count += 1
        if count > MAX_DEPENDENCIES:
            return
        yield word


def resolve_task_name(word: str, known: Mapping[str, str]) -> list[str]:
    """The task numbers that a word refers to; empty: no such task. `known`: every name of a task → its number."""
    for name in _name_forms(word):
        if name in known:
            return [known[name]]
    span = _RANGE.fullmatch(word)
    if span is None or (span[3] and normalize_number(span[3]) != normalize_number(span[1])):
        return []
    first, last = int(span[2]), int(span[4])
    inside = {number for name, number in known.items() if _is_within(name, normalize_number(span[1]), first, last)}
    return sorted(inside) if first < last else []


def _name_forms(word: str) -> Iterable[str]:
    """The forms to look up: `01_login` before `01`; last without a word such as `Task`."""
    yield normalize_number(word)
    leading = _LEADING.match(word)
    if leading is not None and not _RANGE.fullmatch(word):
        yield normalize_number(leading[0])
    bare = re.sub(r"^(?:task|story|no|nr)?[-_. #]*(?=\d)", "", word, flags=re.IGNORECASE)
    if bare != word:
        yield normalize_number(bare)


def _is_within(name: str, prefix: str, first: int, last: int) -> bool:
    head, _, digits = name.rpartition(".")
    return head == prefix and digits.isdigit() and first <= int(digits[:18]) <= last


def _strip_marks(text: str) -> str:
    return text.strip(" \t\r\n`*_[]\"'.#")
