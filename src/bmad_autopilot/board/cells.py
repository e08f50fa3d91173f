"""The board as text: which `key: status` cells it has and where their tokens stand. No meaning yet."""

from collections.abc import Mapping as Readonly
from types import MappingProxyType
from typing import Any, NamedTuple

from ..core.errors import FileError, Place
from ..core.lines import scan, value_span
from ..core.statuses import STORY_LIFE
from ..files import Text
from ..yamls import Mapping, Node, Scalar, Sequence, parse

SECTION = "development_status"
REASONS = ("blocked_reason", "blocked_reasons")  # blocks that say why: `blocked_reasons: {1-3-x: waits for DNS}`

NOTHING: Readonly[str, Any] = MappingProxyType({})

Cell = tuple[str, str | None, int]  # key, value, line


class Cells(NamedTuple):
    text: Text
    cells: list[Cell]
    fields: dict[str, Cell]  # top-level values: generated, last_updated, project, story_location …
    spans: list[tuple[int, int]] | None = None  # None: a regular file, where the line tells
    field_spans: Readonly[str, tuple[int, int]] = NOTHING
    reasons: Readonly[str, str] = NOTHING
    others: Readonly[str, Node] = NOTHING  # what else stands at the top: action_items and whatever a project adds

    def cell_span(self, index: int) -> tuple[int, int]:
        return self.spans[index] if self.spans is not None else value_span(self.text.text, self.cells[index][2])

    def field_span(self, name: str) -> tuple[int, int]:
        if self.spans is not None:
            return self.field_spans[name]
        return value_span(self.text.text, self.fields[name][2])


_last: Cells | None = None


def read_cells(text: Text) -> Cells:
    """The cells of a board. One that has not changed since the last look, or that we wrote ourselves, is not
    read again: whoever watches a board looks far more often than it changes."""
    last = _last
    if last is not None and last.text.raw == text.raw and last.text.path == text.path:
        return last
    return remember(_read(text))


def remember(cells: Cells) -> Cells:
    global _last
    _last = cells
    return cells


def _read(text: Text) -> Cells:
    flat = scan(text.text)
    if flat is not None and SECTION in flat.nested:
        fields = {line[0]: line for line in flat.top if line[0] not in flat.nested}
        why = {key: value for name in REASONS for key, value, _ in flat.nested.get(name, ()) if value is not None}
        return Cells(text, flat.nested[SECTION], fields, reasons=why)
    root = parse(text)
    section = _section(text, root)
    assert isinstance(root, Mapping)
    cells: list[Cell] = []
    spans: list[tuple[int, int]] = []
    reasons: dict[str, str] = {}
    for key, node in section:
        scalar, reason = _status(text, key, node)
        cells.append((key.value or "", scalar.value, scalar.line))
        spans.append((scalar.start, scalar.end))
        if reason:
            reasons[key.value or ""] = reason
    others: dict[str, Node] = {key.value or "": node for key, node in root.items if key.value != SECTION}
    scalars = {name: node for name, node in others.items() if isinstance(node, Scalar)}
    return Cells(
        text,
        cells,
        {name: (name, scalar.value, scalar.line) for name, scalar in scalars.items()},
        spans,
        {name: (scalar.start, scalar.end) for name, scalar in scalars.items()},
        _reasons(others) | reasons,
        others,
    )


def _section(text: Text, root: Node | None) -> list[tuple[Scalar, Node]]:
    sections = [node for key, node in root.items if key.value == SECTION] if isinstance(root, Mapping) else []
    if len(sections) == 1 and isinstance(sections[0], Mapping):
        return sections[0].items
    if len(sections) == 1 and isinstance(sections[0], Scalar) and sections[0].value is None:
        return []
    line = 1
    if len(sections) > 1:
        line, found = sections[-1].line, f"{SECTION} {len(sections)} times"
    elif sections:
        kind = "list" if isinstance(sections[0], Sequence) else "text"
        line, found = sections[0].line, f"{SECTION} that is a {kind}"
    elif isinstance(root, Mapping):
        line, found = root.line, "the keys " + ", ".join(str(key.value) for key, _ in root.items[:6])
    else:
        found = "nothing" if root is None else "a list or a text"
    raise FileError(
        "is not a board",
        place=Place(text.path, line, 1),
        found=found,
        expected=f"one mapping {SECTION}: with a line `1-1-story-key: backlog` per story",
        hint="make it with BMAD's sprint-planning, or name another with `board = …` in bmad-autopilot.toml",
    )


def _status(text: Text, key: Scalar, node: Node) -> tuple[Scalar, str | None]:
    """A row's status token; in a row that is a mapping, its `status` and `blocked_reason`."""
    if isinstance(node, Scalar):
        return node, None
    if isinstance(node, Mapping):
        inside = {inner.value: value for inner, value in node.items if isinstance(value, Scalar)}
        if "status" in inside:
            reason = inside.get("blocked_reason") or inside.get("reason")
            return inside["status"], reason.value if reason else None
    raise FileError(
        f"has no status for {key.value or 'a row without a key'}",
        place=Place(text.path, key.line, 1),
        found="a list" if isinstance(node, Sequence) else "a mapping without `status`",
        expected=f"{key.value}: one of {', '.join(STORY_LIFE)}",
    )


def _reasons(others: dict[str, Node]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for name in REASONS:
        node = others.get(name)
        for key, value in node.items if isinstance(node, Mapping) else ():
            if key.value and isinstance(value, Scalar) and value.value:
                reasons[key.value] = value.value
    return reasons
