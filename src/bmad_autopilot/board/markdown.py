"""The Markdown helpers that the readers share: line ends, front matter, prose without code and comments, sections.

Every function keeps offsets: character i of the result is character i of the file's text, so that a value found
here can be spliced there."""

import re
from bisect import bisect_right
from typing import NamedTuple

from ..core.errors import Diagnostic, FileError, Location, Severity
from ..io.files import TextFile
from ..io.yaml_reader import load_yaml

_OPENING = re.compile(r"^[ \t]*(`{3,}|~{3,}|<!--)", re.MULTILINE)
_HEADING = re.compile(r"^ {0,3}(#{1,6})(?![^ \t\n])([^\n]*)$", re.MULTILINE)
_MAX_NESTING = 3
_NOT_NEWLINE = re.compile(r"[^\n]")


class Prose(NamedTuple):
    """A text with fenced code, comments and front matter blanked."""

    text: str
    unclosed: int | None  # the offset of a fence or comment that is never closed


def unify_line_ends(text: str) -> str:
    """Replace every line end by a newline at the same offset: the CR of a CRLF becomes a blank."""
    if "\r" not in text:
        return text
    return text.replace("\r\n", " \n").replace("\r", "\n")


def front_matter(text: str) -> tuple[int, int, int] | None:
    """(start, end) of the YAML between the `---` lines at the very top, and the start of the body."""
    if not text.startswith("---"):
        return None
    first = text.find("\n")
    if first < 0 or text[3:first].strip():
        return None
    at = first + 1
    while at < len(text):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        if text[at:end].rstrip() in ("---", "..."):
            return first + 1, at, min(end + 1, len(text))
        at = end + 1
    return None


def prose(text: str) -> Prose:
    """Blank out front matter, code and comments. An unclosed fence hides the rest, as when rendered."""
    matter = front_matter(text)
    at = matter[2] if matter else 0
    pieces = [_blank(text[:at])]
    while (opening := _OPENING.search(text, at)) is not None:
        end = _closing(text, opening)
        if end == 0:  # inline code that starts a line
            end = opening.end()
            pieces.append(text[at:end])
        elif end < 0:
            pieces += (text[at : opening.start()], _blank(text[opening.start() :]))
            return Prose("".join(pieces), opening.start(1))
        else:
            pieces += (text[at : opening.start()], _blank(text[opening.start() : end]))
        at = end
    pieces.append(text[at:])
    return Prose("".join(pieces), None)


def _closing(text: str, opening: re.Match[str]) -> int:
    """The end of the block that starts here; -1: it is never closed, 0: it is no block."""
    mark = opening[1]
    if mark == "<!--":
        found = text.find("-->", opening.end())
        return found + 3 if found >= 0 else -1
    line_end = text.find("\n", opening.end())
    line_end = len(text) if line_end < 0 else line_end
    if mark[0] == "`" and "`" in text[opening.end() : line_end]:
        return 0
    return _fence_end(text, mark, line_end)


def _fence_end(text: str, mark: str, start: int) -> int:
    """The end of a fence; -1 if there is none.

    Markdown has no fence inside a fence of the same length, yet agents write them (`yaml` in a `gherkin` block),
    and in a strict reading the remaining closing line would hide the next story. So an opening with a language
    counts as nested, unless that leaves the fence without an end."""
    depth, strict = 1, -1
    for match in re.compile(rf"^[ \t]*{mark[0]}{{{len(mark)},}}([^\n]*)$", re.MULTILINE).finditer(text, start):
        if match[1].strip():
            depth += "`" not in match[1]
        else:
            depth -= 1
            strict = match.end() if strict < 0 else strict
            if depth == 0:
                return match.end()
        if depth > _MAX_NESTING:
            break
    if strict < 0 and depth > _MAX_NESTING:
        closing = re.compile(rf"^[ \t]*{mark[0]}{{{len(mark)},}}[ \t]*$", re.MULTILINE).search(text, start)
        return closing.end() if closing else -1
    return strict


def _blank(text: str) -> str:
    return _NOT_NEWLINE.sub(" ", text)


def line_at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


class Section(NamedTuple):
    level: int
    title: str
    line: int
    start: int  # offsets of the body, deeper headings included
    end: int


def drop_nested(sections: list[Section]) -> list[Section]:
    """Drop the sections inside another one: the result is in order and without overlaps."""
    found: list[Section] = []
    for section in sections:
        if not found or section.start >= found[-1].end:
            found.append(section)
    return found


def is_within(outer: list[Section], offset: int) -> bool:
    """Whether an offset is in one of these sections, none of which is nested."""
    index = bisect_right(outer, offset, key=lambda section: section.start) - 1
    return index >= 0 and offset < outer[index].end


def sections(text: str) -> list[Section]:
    """All headings of a prose text."""
    found: list[Section] = []
    following = [len(text)] * 7  # the next heading of each level, filled from the end
    for match in reversed(list(_HEADING.finditer(text))):
        level = len(match[1])
        end = min(following[: level + 1])
        title = match[2].strip().rstrip("#").strip()
        found.append(Section(level, title, match.start(), min(match.end() + 1, end), end))
        following[level] = match.start()
    line, at = 1, 0
    result = []
    for section in reversed(found):
        line += text.count("\n", at, section.line)
        at = section.line
        result.append(section._replace(line=line))
    return result


# The YAML at the top of stories and specs. Invalid YAML is a diagnostic: the body is still read.


def read_front_matter(text: TextFile, diagnostics: list[Diagnostic]) -> dict[str, object]:
    unified = unify_line_ends(text.text)
    found = front_matter(unified)
    if found is None:
        return {}
    start, end, _ = found
    # The empty first line replaces the `---`, so that errors have the line of the file.
    part = TextFile(text.path, b"\n" + unified[start:end].encode())
    try:
        data = load_yaml(part)
    except FileError as error:
        location = error.location or Location(text.path, 2)
        hint = error.hint or "mend the part between the `---` lines"
        diagnostics.append(Diagnostic(Severity.WARNING, "bad-front-matter", error.message, location, hint))
        return {}
    if data is None or isinstance(data, dict):
        return data or {}
    message = "the front matter is not a list of `key: value` lines"
    diagnostics.append(Diagnostic(Severity.WARNING, "bad-front-matter", message, Location(text.path, 2)))
    return {}


def text_field(fields: dict[str, object], *names: str) -> str | None:
    """The first of these fields that contains text."""
    for name in names:
        value = fields.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None


def list_field(fields: dict[str, object], name: str) -> tuple[str, ...]:
    """A field as lines of text: one value, a list of them, or a list of mappings (their summaries)."""
    value = fields.get(name)
    items = value if isinstance(value, list) else [value]
    return tuple(text for item in items if (text := _summary(item)))


def _summary(item: object) -> str:
    if isinstance(item, dict):
        values = [value for value in item.values() if isinstance(value, str)]
        item = next((item[key] for key in ("summary", "title") if isinstance(item.get(key), str)), None)
        item = item if item is not None else next(iter(values), "")
    return item.strip() if isinstance(item, str) else ""
