"""What a task's own file says of it, in lines such as `**Dependencies**: 01, 02`."""

import re
from typing import NamedTuple

from ..files import Text
from .markdown import unify_line_ends

MAX_LINES = 120  # of its head; what stands further down is its text
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_HEADING = re.compile(r"#\s+(?P<title>\S.*)")
_FIELD = re.compile(
    r"\s{0,8}(?:[-*+>]\s+)?(?:\*\*|__)?\s*(?P<name>[A-Za-z][A-Za-z _-]{1,30}?)\s*(?:\*\*|__)?\s*:\s*(?:\*\*|__)?"
    r"\s*(?P<value>.*)"
)
_NAMES = {
    **dict.fromkeys(("task", "task id", "id"), "task"),
    **dict.fromkeys(("name", "title"), "name"),
    **dict.fromkeys(("complexity", "points", "story points", "complexity points", "estimate"), "points"),
    **dict.fromkeys(("dependencies", "dependency", "depends on", "blocked by", "requires", "needs"), "needs"),
}


class Said(NamedTuple):
    value: str
    line: int


class TaskHead(NamedTuple):
    title: str = ""
    task: Said | None = None
    points: Said | None = None
    needs: Said | None = None


def read_task_head(text: Text) -> TaskHead:
    """The first of each counts. Code is passed over."""
    found: dict[str, Said] = {}
    title = ""
    is_code = False
    for number, line in enumerate(unify_line_ends(text.text).split("\n", MAX_LINES)[:MAX_LINES], 1):
        if _FENCE.match(line):
            is_code = not is_code
            continue
        if is_code or len(line) > 4000:
            continue
        heading = _HEADING.match(line)
        if heading is not None:
            title = title or heading["title"].strip(" #*`")
            continue
        field = _FIELD.fullmatch(line)
        name = _NAMES.get(" ".join(field["name"].lower().replace("_", " ").split())) if field else None
        if field is not None and name is not None:
            found.setdefault(name, Said(field["value"].strip(), number))
    called = found.get("name")
    return TaskHead(
        (called.value.strip("*_`\"' ") if called else "") or title,
        found.get("task"),
        found.get("points"),
        found.get("needs"),
    )


def points_in(text: str) -> int | None:
    """`3`, `3 points`, `5 SP (large)`; None: no number is said."""
    found = re.search(r"(?<![\w.])\d{1,4}(?![\w.]*\d)", text)
    return int(found[0]) if found else None
