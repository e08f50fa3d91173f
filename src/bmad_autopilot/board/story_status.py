"""Reads the status in a story file without reading the rest of the file.

On the path of `bmad status`: no pattern is compiled for the template's form, which three in four files keep."""

from typing import NamedTuple

from ..core.statuses import STORY_LIFECYCLE
from ..io.files import TextFile, read_bytes

HEAD_BYTES = 4096


class StoryStatus(NamedTuple):
    raw: str  # as written, without the marks around it
    meaning: str  # one of the canonical words, PARKED or UNKNOWN
    line: int
    start: int  # the value's offsets in the file's text, for a splice
    end: int


def read_story_status(path: str) -> StoryStatus | None:
    """The status in a story file, from its first bytes alone if they contain it."""
    raw = read_bytes(path, head=HEAD_BYTES)
    if len(raw) < HEAD_BYTES:
        return find_status(TextFile(path, raw).text)
    head = TextFile(path, raw[: raw.rfind(b"\n") + 1]).text
    plain = _plain_status(head)
    if plain is not None:
        return plain
    from .status_line import find_any_status, is_head_complete

    return find_any_status(head if is_head_complete(head) else TextFile(path, read_bytes(path)).text)


def find_status(text: str) -> StoryStatus | None:
    """The status line in the first lines of a story, else the one in its front matter."""
    plain = _plain_status(text)
    if plain is not None:
        return plain
    from .status_line import find_any_status

    return find_any_status(text)


def _plain_status(text: str) -> StoryStatus | None:
    """The template's form: `# Story 1.2: Title`, an empty line, `Status: done`, below front matter or not. None:
    the full search is needed."""
    body = 0
    if text.startswith("---\n"):
        close = text.find("\n---", 3)
        if close < 0 or text[close + 4 : close + 5] != "\n" or "\n..." in text[:close]:
            return None
        body = close + 5
        while text.startswith("\n", body) and body < close + 8:
            body += 1
    title_end = text.find("\n", body)
    title = text[body : max(title_end, body)]
    if not title.startswith("# Story ") or not title[8:9].isdigit() or "|" in title:
        return None
    if not text.startswith("\n\nStatus: ", title_end):
        return None
    start = title_end + len("\n\nStatus: ")
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    value = text[start:end]
    if value not in STORY_LIFECYCLE or "\r" in text[:start]:
        return None
    return StoryStatus(value, value, text.count("\n", 0, start) + 1, start, end)
