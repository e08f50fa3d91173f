"""Parses a flow's state file into sections, `key: value` lines, bullets and tables, and edits single lines.

People edit the file by hand, so parsing is tolerant, and every line position is kept so that one line can be
replaced without touching the others."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from ..board import markdown
from ..core.errors import Diagnostic, Location, Severity
from ..io.files import TextFile

MAX_UNCLOSED = 20

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\n|\r|\Z)")
_LEAD = r"(?P<lead>[ \t>]*(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?)"
_FIELD = re.compile(
    _LEAD + r"(?P<mark>[*_`]{0,3})(?P<key>[A-Za-z][A-Za-z _-]{0,30}?)"
    r"(?:(?P=mark)[ \t]*[:：]|[ \t]*[:：](?P=mark))[ \t]*"
)
_BULLET = re.compile(r"(?P<lead>[ \t>]*(?:[-*+]|\d{1,3}[.)])[ \t]+)(?P<text>.*)")
_REMARK = re.compile(r"(?:^|(?<=\s))←")
_ESCAPED_ARROW = re.compile(r"(?:^|(?<=\s))(\\+)←")
_ARROW = re.compile(r"(?:^|(?<=\s))(\\*)←")
_UNPRINTED = re.compile("\r\n|[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")
_EMPTY_WORDS = frozenset("none na nothing noneyet nonesofar".split())


class PageSection(NamedTuple):
    heading: int  # line numbers count from 0 here
    end: int


class PageField(NamedTuple):
    line: int
    lead: str  # indent and bullet
    start: int  # of the value within the line
    end: int
    text: str


class PageEntry(NamedTuple):
    """A list item or a table row."""

    first: int
    end: int  # the line after it
    value: tuple[str, ...]
    lead: str = ""
    cells: tuple[str, ...] = ()  # a row's raw cells


class MarkdownPage(NamedTuple):
    lines: list[str]  # raw, with line endings
    visible_lines: list[str]  # without line endings; code, comments and front matter are blanked
    sections: dict[str, PageSection]  # by their letters: `completedsteps`; the first of each name
    diagnostics: list[Diagnostic]

    def body(self, section: PageSection) -> Iterator[tuple[int, str]]:
        return ((number, self.visible_lines[number]) for number in range(section.heading + 1, section.end))


def read_page(text: TextFile, known: Sequence[str]) -> MarkdownPage:
    lines = _LINE.findall(text.text)[:-1]
    diagnostics: list[Diagnostic] = []
    visible = _visible(text, diagnostics)
    shown = [line[: len(split_line_end(raw)[0])] for raw, line in zip(lines, visible.split("\n"), strict=False)]
    sections: dict[str, PageSection] = {}
    headings = markdown.sections(visible)
    ends = [one.line - 1 for one in headings[1:]] + [len(lines)]
    for one, end in zip(headings, ends, strict=False):
        name = letters_only(one.title)
        if name in sections and name in known:
            first = sections[name].heading + 1
            message = f"the section {one.title[:80]} comes twice; the first one counts"
            hint = f"bring both together at line {first}"
            diagnostics.append(make_warning(text, "duplicate-section", message, one.line - 1, hint))
        sections.setdefault(name, PageSection(one.line - 1, end))
    return MarkdownPage(lines, shown, sections, diagnostics)


def _visible(text: TextFile, diagnostics: list[Diagnostic]) -> str:
    """The prose. An unclosed fence or comment hides nothing: recorded data follows below it."""
    unified = markdown.unify_line_ends(text.text)
    found = markdown.prose(unified)
    for _ in range(MAX_UNCLOSED):
        at = found.unclosed
        if at is None:
            return found.text
        line = markdown.line_at(unified, at) - 1
        message = f"{unified[at : at + 4].strip()} begins here and never ends; what follows is read all the same"
        diagnostics.append(make_warning(text, "unclosed-block", message, line, "close it"))
        unified = f"{unified[:at]}?{unified[at + 1 :]}"
        found = markdown.prose(unified)
    return found.text[: found.unclosed] + unified[len(found.text[: found.unclosed]) :]


def find_fields(
    text: TextFile, page: MarkdownPage, section: PageSection, names: Sequence[str]
) -> dict[str, PageField]:
    """The first `key: value` line of each key, whatever its spacing, bullet or emphasis."""
    known = {letters_only(name): name for name in names}
    found: dict[str, PageField] = {}
    for number, line in page.body(section):
        match = _FIELD.match(line)
        name = known.get(letters_only(match["key"])) if match else None
        if match is None or name is None:
            continue
        if name in found:
            message = f"{name} comes twice; line {found[name].line + 1} counts"
            page.diagnostics.append(make_warning(text, "duplicate-key", message, number, "keep one of the lines"))
            continue
        remark = _REMARK.search(line[match.end() :])
        rest = line[match.end() :][: remark.start() if remark else None]
        start = match.end() + len(rest) - len(rest.lstrip()) if rest.strip() else match.end()
        value = rest.strip()
        plain = _ESCAPED_ARROW.sub(lambda one: one[1][1:] + "←", value)
        found[name] = PageField(number, match["lead"], start, start + len(value), clean_line(plain))
    return found


def escape_field(value: str) -> str:
    """Escapes a value: an arrow after a blank would start a remark."""
    return _ARROW.sub(lambda one: f"{one[1]}\\←", value)


def find_items(page: MarkdownPage, section: PageSection) -> tuple[list[PageEntry], list[PageEntry]]:
    """The bullets of a section with their continuation lines, and separately those that say `none`."""
    found: list[tuple[int, str, list[str]]] = []
    for number, line in page.body(section):
        match = _BULLET.match(line)
        if match is not None:
            found.append((number, match["lead"], [clean_line(match["text"])]))
        elif found and found[-1][0] + len(found[-1][2]) == number and line[:1] in (" ", "\t") and line.strip():
            found[-1][2].append(clean_line(line))
    items = [PageEntry(at, at + len(texts), (" ".join(texts).strip(),), lead) for at, lead, texts in found]
    return [one for one in items if not is_empty_value(one.value)], [
        one for one in items if is_empty_value(one.value)
    ]


def is_empty_value(value: tuple[str, ...]) -> bool:
    """True for dashes, dots or blanks, and for the `none` of an empty list."""
    word = "".join(char for text in value for char in text.lower() if char.isalnum())
    return not word or (len(value) == 1 and word in _EMPTY_WORDS)


def clean_line(text: str) -> str:
    """One printable line."""
    return _UNPRINTED.sub(" ", text).strip()


def letters_only(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalpha())


def split_line_end(line: str) -> tuple[str, str]:
    """The line without its ending, and the ending."""
    body = line.rstrip("\r\n")
    return body, line[len(body) :]


def make_warning(text: TextFile, code: str, message: str, line: int, hint: str | None = None) -> Diagnostic:
    return Diagnostic(Severity.WARNING, code, message, Location(text.path, line + 1), hint)


# Tables: reading hand-edited rows and writing rows.

_RULE = re.compile(r":?-+:?")
_PLACEHOLDER = re.compile(r"\[[^\]]*\]")
_CUT = re.compile(r"((?:[^|\\]|\\.?)*+)(?:\||\Z)", re.DOTALL)
_ESCAPED_PIPE = re.compile(r"(?<!\\)(\\+)\|")
_PIPE = re.compile(r"(?<!\\)(\\*)\|")


class Column(NamedTuple):
    title: str
    rule: str
    others: tuple[str, ...] = ()  # other common names, letters only


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
    rows: list[PageEntry]
    last: int | None  # last line; None: no table
    column_indexes: tuple[int, ...]  # index of each known column
    width: int


def find_table(text: TextFile, page: MarkdownPage, section: PageSection, columns: Sequence[Column]) -> Table:
    """Every line that looks like a row counts, even after a blank line. The header determines the columns."""
    found = {number: cells for number, line in page.body(section) if (cells := split_row(line)) is not None}
    head = _find_header(found, columns)
    rule = next((number for number, cells in found.items() if _is_rule(cells)), None)
    begin = min((number for number in (head, rule) if number is not None), default=section.heading)
    column_indexes, width = _column_indexes(found[head] if head is not None else (), columns)
    rows, last = [], None
    for number, cells in found.items():
        if number < begin and not page.visible_lines[number].lstrip().startswith("|"):
            continue  # a sentence before the table
        last = number
        value = tuple(_parse_cell(cells[column]) if column < len(cells) else "" for column in column_indexes)
        if number == head or not is_row(value, columns):
            continue
        rows.append(PageEntry(number, number + 1, value, cells=cells))
        _check_row(text, page, rows[-1], max(column_indexes) + 1, width)
    return Table(rows, last, column_indexes, width)


def _check_row(text: TextFile, page: MarkdownPage, row: PageEntry, needed: int, width: int) -> None:
    found = len(row.cells)
    if found < needed:
        message = f"this row has {found} cells of {needed}; the others are read as empty"
        page.diagnostics.append(make_warning(text, "short-row", message, row.first))
    elif found > max(width, needed):
        message = f"this row has {found} cells, the table {width} columns; the last ones are not read"
        page.diagnostics.append(
            make_warning(text, "long-row", message, row.first, r"write a | inside a cell as \|")
        )


def _find_header(found: dict[int, tuple[str, ...]], columns: Sequence[Column]) -> int | None:
    """Line of the header: it has column names, or (in another language) a rule right below it."""
    for number, cells in found.items():
        if _is_header(cells, columns):
            return number
    first, second = [*found, None, None][:2]
    if first is None or second is None or _is_rule(found[first]) or not _is_rule(found[second]):
        return None
    return first if not _has_digit(found[first]) else None


def _is_header(cells: Sequence[str], columns: Sequence[Column]) -> bool:
    return not _has_digit(cells) and sum(column is not None for column in _named_columns(cells, columns)) > 1


def _has_digit(cells: Sequence[str]) -> bool:
    """Every row has a digit, no header does."""
    return any(char.isdigit() for cell in cells for char in cell)


def _named_columns(cells: Sequence[str], columns: Sequence[Column]) -> list[int | None]:
    """Index of each known column in the header; None if missing."""
    names = [letters_only(cell) for cell in cells]
    wanted = ((letters_only(column.title), *column.others) for column in columns)
    return [next((names.index(name) for name in known if name in names), None) for known in wanted]


def _column_indexes(head: Sequence[str], columns: Sequence[Column]) -> tuple[tuple[int, ...], int]:
    """Index of each known column, and the table width. Columns missing from the header come after its last one."""
    named = _named_columns(head, columns)
    usual = len(head) == len(columns) and all(column in (None, index) for index, column in enumerate(named))
    if usual or not _is_header(head, columns):
        return tuple(range(len(columns))), len(columns)
    behind = count(len(head))
    return tuple(next(behind) if column is None else column for column in named), len(head)


def is_row(value: Sequence[str], columns: Sequence[Column]) -> bool:
    """False for a rule, a line of blanks or dots, a repeated header, and the placeholder row
    `| 1 | [name] | [date] |` of the documented template."""
    is_form = all(_PLACEHOLDER.fullmatch(cell) for cell in value[1:])
    return not is_form and not is_empty_value(tuple(value)) and not _is_header(value, columns)


def _is_rule(cells: tuple[str, ...]) -> bool:
    return all(_RULE.fullmatch(cell) for cell in cells)


def split_row(line: str) -> tuple[str, ...] | None:
    """The cells of a row, with or without outer pipes; None if the line is not a row."""
    body = line.strip()
    cells = [match[1] for match in _CUT.finditer(body)]
    if body.startswith("|"):
        cells = cells[1:]
    elif len(cells) < 4:  # a sentence may hold a pipe
        return None
    # The pattern matches once more at the end, with an empty rest.
    cells = cells[:-1]
    return tuple(cell.strip() for cell in cells) or None


def _parse_cell(raw: str) -> str:
    return clean_line(_ESCAPED_PIPE.sub(lambda match: "\\" * (len(match[1]) // 2) + "|", raw))


def _escape_cell(text: str) -> str:
    return _PIPE.sub(lambda match: match[1] * 2 + r"\|", text)


def format_row(table: Table, value: Sequence[str], old: PageEntry | None = None) -> str:
    """Formats a row as a line. Cells of unknown columns are kept."""
    cells = list(old.cells if old else ())
    cells += [""] * (max(table.width, max(table.column_indexes) + 1) - len(cells))
    for column, text in zip(table.column_indexes, value, strict=True):
        cells[column] = _escape_cell(text)
    return f"| {' | '.join(cells)} |"


def format_table(columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[str]:
    table = Table([], None, tuple(range(len(columns))), len(columns))
    head = [f"| {' | '.join(column.title for column in columns)} |", f"|{'|'.join(c.rule for c in columns)}|"]
    return head + [format_row(table, row) for row in rows]


# Edits: replacements of single lines and insertions below them.

Row = tuple[str, ...]


class PageEdits:
    def __init__(self, page: MarkdownPage) -> None:
        self.page = page
        self._replacements: dict[int, str | None] = {}  # None: delete the line
        self._insertions: dict[int, list[str]] = {}

    def add(self, line: int, new: Sequence[str]) -> None:
        self._insertions.setdefault(line, []).extend(new)

    def set_value(self, field: PageField, value: str) -> None:
        """Replaces the value after its key; a remark after it is kept."""
        line = split_line_end(self.page.lines[field.line])[0]
        head, rest = line[: field.start], line[field.end :]
        if not value:
            self._replacements[field.line] = head + rest if rest.strip() else head.rstrip()
            return
        before = "" if head[-1:].isspace() else " "
        behind = " " if rest and not rest[0].isspace() else ""
        self._replacements[field.line] = head + before + value + behind + rest

    def set_entries(
        self, old: Sequence[PageEntry], new: Sequence[Row], line: Callable[[Row, PageEntry | None], str], last: int
    ) -> None:
        """Keeps the common head and tail unchanged. `last`: the line below which new entries are appended."""
        both = min(len(old), len(new))
        begin = next((at for at in range(both) if old[at].value != tuple(new[at])), both)
        both -= begin
        rest = next((at for at in range(both) if old[-1 - at].value != tuple(new[-1 - at])), both)
        removed, added = old[begin : len(old) - rest], new[begin : len(new) - rest]
        for index, entry in enumerate(removed):
            self._replacements |= dict.fromkeys(range(entry.first, entry.end))
            if index < len(added):
                self._replacements[entry.first] = line(added[index], entry)
        below = old[len(old) - rest].first - 1 if rest else last
        self.add(below, [line(one, None) for one in added[len(removed) :]])

    def render(self) -> str:
        """The edited text. A new line uses its neighbour's line ending."""
        usual = next(filter(None, (split_line_end(line)[1] for line in self.page.lines)), "\n")
        out: list[str] = []
        for number, line in enumerate(self.page.lines):
            end = split_line_end(line)[1]
            new = self._replacements.get(number)
            if number not in self._replacements:
                out.append(line)
            elif new is not None:
                out.append(new + end)
            for added in self._insertions.get(number, ()):
                if out and not split_line_end(out[-1])[1]:
                    out[-1] += usual
                out.append(added + end)
        return "".join(out)
