"""Finds the status line of a story file in every form that people and agents write."""

import re

from ..core.statuses import READY, UNKNOWN, RowKind, read_status
from .markdown import front_matter, unify_line_ends
from .story_status import StoryStatus

MAX_LINES = 15  # below the front matter; further down `status:` is code
_VALUE_LINES = 3  # between a `## Status` heading and its value

_WORD = r"(?:status|statut|estado|stato|статус|状态|狀態|ステータス|상태|trạng thái)"
_LABEL = re.compile(
    rf"[ \t>]*(?:[-*+][ \t]+|\d{{1,3}}[.)][ \t]+)?(?P<hash>#{{1,6}}[ \t]*)?[*_`]{{0,3}}"
    rf"(?:(?:current|story)[ \t]+)?{_WORD}[*_`]{{0,3}}[ \t]*(?P<colon>[:：])?[*_`]{{0,3}}[ \t]*",
    re.IGNORECASE,
)
_CELL = re.compile(
    rf"\|[ \t]*[*_]{{0,3}}{_WORD}[ \t]*[:：]?[*_]{{0,3}}[ \t]*[|:：][*_]{{0,3}}[ \t]*", re.IGNORECASE
)
_FIELD = re.compile(rf"^[\"']?{_WORD}[\"']?[ \t]*:[ \t]+", re.IGNORECASE | re.MULTILINE)
_VALUE_END = re.compile(r"\||<!--|[ \t][(（\[#]|（")
_ARROW = re.compile(r"→|➜|⇒|➔|=>|-->|->")
_BREAK = re.compile(r"\s[-–—]\s|[—–,;:：(（\[|]|\.\s")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DATE = re.compile(r"[\s,]{1,3}(?:on\s)?\d{4}-\d{2}-\d{2}$")
_MARKS = " \t*_`'\"~"


def find_any_status(text: str) -> StoryStatus | None:
    """The status line in the first lines of a story, else the one in its front matter."""
    text = unify_line_ends(text)
    matter = front_matter(text)
    return status_in_body(text, matter[2] if matter else 0) or status_in_front_matter(text)


def is_head_complete(head: str) -> bool:
    """Whether this head contains every line that may hold the status, completely."""
    head = unify_line_ends(head)
    matter = front_matter(head)
    if matter is None and head.startswith("---"):
        return False
    return head.count("\n", matter[2] if matter else 0) > MAX_LINES + _VALUE_LINES


def status_in_front_matter(text: str) -> StoryStatus | None:
    matter = front_matter(text)
    field = _FIELD.search(text, matter[0], matter[1]) if matter else None
    return _status(text, field.end()) if field else None


def status_in_body(text: str, body: int) -> StoryStatus | None:
    lines = _visible_lines(text, body)
    for index, (start, line) in enumerate(lines[:MAX_LINES]):
        label = _LABEL.match(line)
        if label is not None and label["colon"]:
            found = _status(text, start + label.end())
            if found is not None:
                return found
        if label is not None and label["hash"] and not line[label.end() :].strip(_MARKS):
            return _status_below(text, lines[index + 1 : index + 1 + _VALUE_LINES])
        cell = _CELL.search(line)
        if cell is not None and not _is_table_rule(lines, index + 1):
            found = _status(text, start + cell.end())
            if found is not None:
                return found
    return None


def _visible_lines(text: str, body: int) -> list[tuple[int, str]]:
    """The first lines with their offsets; those in a code fence or a comment are empty."""
    lines: list[tuple[int, str]] = []
    hidden_until = ""
    at = body
    for _ in range(MAX_LINES + _VALUE_LINES):
        end = text.find("\n", at)
        end = len(text) if end < 0 else end
        line = text[at:end]
        bare = line.strip()
        if hidden_until:
            visible = ""
            if (hidden_until == "-->" and hidden_until in bare) or bare.startswith(hidden_until):
                hidden_until = ""
        elif bare.startswith(("```", "~~~")):
            visible, hidden_until = "", bare[:3]
        elif bare.startswith("<!--"):
            visible = ""
            hidden_until = "" if "-->" in bare else "-->"
        else:
            visible = line
        lines.append((at, visible))
        if end >= len(text):
            break
        at = end + 1
    return lines


def _status_below(text: str, lines: list[tuple[int, str]]) -> StoryStatus | None:
    """The value under a `## Status` heading."""
    for start, line in lines:
        label = _LABEL.match(line)
        if label is not None and label["colon"]:
            return _status(text, start + label.end())
        bare = line.lstrip(" \t>-+").lstrip()
        if bare.startswith(("#", "|")):
            return None
        if bare:
            found = _status(text, start + line.index(bare))
            # Only BMAD 4 has this form, and there a story is approved *for* development.
            if found is not None and found.raw.lower() == "approved":
                return found._replace(meaning=READY)
            return found
    return None


def _is_table_rule(lines: list[tuple[int, str]], index: int) -> bool:
    """Whether this line is the `|---|---|` under a table's header."""
    bare = lines[index][1].strip() if index < len(lines) else ""
    return len(bare) > 2 and not bare.strip("|-: ")


def _status(text: str, start: int) -> StoryStatus | None:
    """The status whose value starts at `start`, without trailing remarks."""
    line_end = text.find("\n", start)
    line_end = len(text) if line_end < 0 else line_end
    stop = _VALUE_END.search(text, start, line_end)
    end = stop.start() if stop else line_end
    start, end = _unwrap(text, start, end)
    raw = text[start:end]
    if not any(map(str.isalnum, raw)):
        return None
    return StoryStatus(raw, _meaning(raw), text.count("\n", 0, start) + 1, start, end)


def _unwrap(text: str, start: int, end: int) -> tuple[int, int]:
    """Strip blanks, quotes and emphasis around a value, including half of a pair whose other half is elsewhere."""
    for mark in ("", "**", "__", "~~", "*", "_", "`", '"', "'"):
        value, size = text[start:end], len(mark)
        odd = bool(mark) and value.count(mark) % 2 == 1
        both = value.startswith(mark) and value.endswith(mark) and len(value) > 2 * size
        if both or (odd and value.startswith(mark)):
            start += size
        if both or (odd and value.endswith(mark) and not value.startswith(mark)):
            end -= size
        value = text[start:end]
        start, end = end - len(value.lstrip()), start + len(value.rstrip())
    return start, max(start, end)


def _meaning(raw: str) -> str:
    """`review → done` is done: the last of a chain counts. Of `Approved — done by X` the first known part does."""
    last = [part for part in _ARROW.split(raw) if part.strip()][-1]
    text = _CAMEL.sub(" ", last.replace("*", "").replace("`", ""))
    for part in (text, *_BREAK.split(text)):
        meaning = read_status(_DATE.sub("", _strip_punctuation(part)), RowKind.STORY).meaning
        if meaning != UNKNOWN:
            return meaning
    return UNKNOWN


def _strip_punctuation(text: str) -> str:
    """The text without emoji and punctuation at either end."""
    start, end = 0, len(text)
    while start < end and not text[start].isalnum():
        start += 1
    while start < end and not text[end - 1].isalnum():
        end -= 1
    return text[start:end]
