"""A flow's state file as lines: its sections, their `key: value` lines and bullets. People edit it: it is read as
it comes, and every place is kept, so that one line can be replaced without touching another."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..board import markdown
from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import Place
from ..files import Text

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
_NOTHING = frozenset("none na nothing noneyet nonesofar".split())


class Section(NamedTuple):
    heading: int  # line numbers count from 0 here
    end: int


class Field(NamedTuple):
    line: int
    lead: str  # indent and bullet
    start: int  # of the value in its line
    end: int
    text: str


class Entry(NamedTuple):
    """One item of a list, one row of a table."""

    first: int
    end: int  # the line after it
    value: tuple[str, ...]
    lead: str = ""
    cells: tuple[str, ...] = ()  # a row's cells as they stand there


class Page(NamedTuple):
    lines: list[str]  # as they are, with their ends
    shown: list[str]  # without ends, and blank where code, a comment or front matter stands
    sections: dict[str, Section]  # by their letters: `completedsteps`; the first of each
    diagnostics: list[Diagnostic]

    def body(self, section: Section) -> Iterator[tuple[int, str]]:
        return ((number, self.shown[number]) for number in range(section.heading + 1, section.end))


def read_page(text: Text, known: Sequence[str]) -> Page:
    lines = _LINE.findall(text.text)[:-1]
    diagnostics: list[Diagnostic] = []
    visible = _visible(text, diagnostics)
    shown = [line[: len(cut_end(raw)[0])] for raw, line in zip(lines, visible.split("\n"), strict=False)]
    sections: dict[str, Section] = {}
    headings = markdown.sections(visible)
    ends = [one.line - 1 for one in headings[1:]] + [len(lines)]
    for one, end in zip(headings, ends, strict=False):
        name = letters(one.title)
        if name in sections and name in known:
            first = sections[name].heading + 1
            message = f"the section {one.title[:80]} comes twice; the first one counts"
            hint = f"bring both together at line {first}"
            diagnostics.append(note(text, "duplicate-section", message, one.line - 1, hint))
        sections.setdefault(name, Section(one.line - 1, end))
    return Page(lines, shown, sections, diagnostics)


def _visible(text: Text, diagnostics: list[Diagnostic]) -> str:
    """The prose. A fence or comment that never ends hides nothing: below it stands what was recorded."""
    unified = markdown.unify_line_ends(text.text)
    found = markdown.prose(unified)
    for _ in range(MAX_UNCLOSED):
        at = found.unclosed
        if at is None:
            return found.text
        line = markdown.line_at(unified, at) - 1
        message = f"{unified[at : at + 4].strip()} begins here and never ends; what follows is read all the same"
        diagnostics.append(note(text, "unclosed-block", message, line, "close it"))
        unified = f"{unified[:at]}?{unified[at + 1 :]}"
        found = markdown.prose(unified)
    return found.text[: found.unclosed] + unified[len(found.text[: found.unclosed]) :]


def find_fields(text: Text, page: Page, section: Section, names: Sequence[str]) -> dict[str, Field]:
    """The `key: value` lines with these keys, however they are spaced, bulleted or marked; the first of each."""
    known = {letters(name): name for name in names}
    found: dict[str, Field] = {}
    for number, line in page.body(section):
        match = _FIELD.match(line)
        name = known.get(letters(match["key"])) if match else None
        if match is None or name is None:
            continue
        if name in found:
            message = f"{name} comes twice; line {found[name].line + 1} counts"
            page.diagnostics.append(note(text, "duplicate-key", message, number, "keep one of the lines"))
            continue
        remark = _REMARK.search(line[match.end() :])
        rest = line[match.end() :][: remark.start() if remark else None]
        start = match.end() + len(rest) - len(rest.lstrip()) if rest.strip() else match.end()
        value = rest.strip()
        plain = _ESCAPED_ARROW.sub(lambda one: one[1][1:] + "←", value)
        found[name] = Field(number, match["lead"], start, start + len(value), clean(plain))
    return found


def field_text(value: str) -> str:
    """As it is written behind a key: an arrow after a blank would begin a remark."""
    return _ARROW.sub(lambda one: f"{one[1]}\\←", value)


def find_items(page: Page, section: Section) -> tuple[list[Entry], list[Entry]]:
    """The bullets of a section, with the lines they go on in; and those that say `none`."""
    found: list[tuple[int, str, list[str]]] = []
    for number, line in page.body(section):
        match = _BULLET.match(line)
        if match is not None:
            found.append((number, match["lead"], [clean(match["text"])]))
        elif found and found[-1][0] + len(found[-1][2]) == number and line[:1] in (" ", "\t") and line.strip():
            found[-1][2].append(clean(line))
    items = [Entry(at, at + len(texts), (" ".join(texts).strip(),), lead) for at, lead, texts in found]
    return [one for one in items if not says_nothing(one.value)], [one for one in items if says_nothing(one.value)]


def says_nothing(value: tuple[str, ...]) -> bool:
    """A line of dashes, dots or blanks is no row and no item; nor is the `none` of an empty list."""
    word = "".join(char for text in value for char in text.lower() if char.isalnum())
    return not word or (len(value) == 1 and word in _NOTHING)


def clean(text: str) -> str:
    """One line, as it can stand in the file."""
    return _UNPRINTED.sub(" ", text).strip()


def letters(text: str) -> str:
    return "".join(char for char in text.lower() if char.isalpha())


def cut_end(line: str) -> tuple[str, str]:
    """A line and its end."""
    body = line.rstrip("\r\n")
    return body, line[len(body) :]


def note(text: Text, code: str, message: str, line: int, hint: str | None = None) -> Diagnostic:
    return Diagnostic(Severity.WARNING, code, message, Place(text.path, line + 1), hint)
