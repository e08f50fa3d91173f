"""Parses the board's text into `key: status` cells and the positions of their tokens, uninterpreted."""

from collections.abc import Mapping as Readonly
from types import MappingProxyType
from typing import Any, NamedTuple

from ..core.errors import FileError, Location
from ..core.statuses import STORY_LIFECYCLE
from ..io.files import TextFile
from ..io.yaml_reader import MappingNode, Node, ScalarNode, SequenceNode, parse_yaml
from ..io.yaml_scanner import scan_yaml, value_span

SECTION = "development_status"
REASON_KEYS = ("blocked_reason", "blocked_reasons")  # mappings such as `blocked_reasons: {1-3-x: waits for DNS}`

EMPTY: Readonly[str, Any] = MappingProxyType({})

Cell = tuple[str, str | None, int]  # key, value, line


class Cells(NamedTuple):
    text: TextFile
    cells: list[Cell]
    fields: dict[str, Cell]  # top-level values: generated, last_updated, project, story_location …
    spans: list[tuple[int, int]] | None = None  # None: a regular file, where the line is enough
    field_spans: Readonly[str, tuple[int, int]] = EMPTY
    reasons: Readonly[str, str] = EMPTY
    others: Readonly[str, Node] = EMPTY  # other top-level nodes: action_items and the project's additions

    def cell_span(self, index: int) -> tuple[int, int]:
        return self.spans[index] if self.spans is not None else value_span(self.text.text, self.cells[index][2])

    def field_span(self, name: str) -> tuple[int, int]:
        if self.spans is not None:
            return self.field_spans[name]
        return value_span(self.text.text, self.fields[name][2])


_cached: Cells | None = None


def read_cells(text: TextFile) -> Cells:
    """The cells of a board. An unchanged board, or one we wrote ourselves, comes from the cache: watchers poll far
    more often than the board changes."""
    last = _cached
    if last is not None and last.text.raw == text.raw and last.text.path == text.path:
        return last
    return cache_cells(_read(text))


def cache_cells(cells: Cells) -> Cells:
    global _cached
    _cached = cells
    return cells


def _read(text: TextFile) -> Cells:
    flat = scan_yaml(text.text)
    if flat is not None and SECTION in flat.nested:
        fields = {line[0]: line for line in flat.top if line[0] not in flat.nested}
        why = {
            key: value for name in REASON_KEYS for key, value, _ in flat.nested.get(name, ()) if value is not None
        }
        return Cells(text, flat.nested[SECTION], fields, reasons=why)
    root = parse_yaml(text)
    section = _section(text, root)
    assert isinstance(root, MappingNode)
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
    scalars = {name: node for name, node in others.items() if isinstance(node, ScalarNode)}
    return Cells(
        text,
        cells,
        {name: (name, scalar.value, scalar.line) for name, scalar in scalars.items()},
        spans,
        {name: (scalar.start, scalar.end) for name, scalar in scalars.items()},
        _reasons(others) | reasons,
        others,
    )


def _section(text: TextFile, root: Node | None) -> list[tuple[ScalarNode, Node]]:
    sections = [node for key, node in root.items if key.value == SECTION] if isinstance(root, MappingNode) else []
    if len(sections) == 1 and isinstance(sections[0], MappingNode):
        return sections[0].items
    if len(sections) == 1 and isinstance(sections[0], ScalarNode) and sections[0].value is None:
        return []
    line = 1
    if len(sections) > 1:
        line, found = sections[-1].line, f"{SECTION} {len(sections)} times"
    elif sections:
        kind = "list" if isinstance(sections[0], SequenceNode) else "text"
        line, found = sections[0].line, f"{SECTION} that is a {kind}"
    elif isinstance(root, MappingNode):
        line, found = root.line, "the keys " + ", ".join(str(key.value) for key, _ in root.items[:6])
    else:
        found = "nothing" if root is None else "a list or a text"
    raise FileError(
        "is not a board",
        location=Location(text.path, line, 1),
        found=found,
        expected=f"one mapping {SECTION}: with a line `1-1-story-key: backlog` per story",
        hint="make it with BMAD's sprint-planning, or name another with `board = …` in bmad-autopilot.toml",
    )


def _status(text: TextFile, key: ScalarNode, node: Node) -> tuple[ScalarNode, str | None]:
    """A row's status token and reason; from `status` and `blocked_reason` if the row is a mapping."""
    if isinstance(node, ScalarNode):
        return node, None
    if isinstance(node, MappingNode):
        inside = {inner.value: value for inner, value in node.items if isinstance(value, ScalarNode)}
        if "status" in inside:
            reason = inside.get("blocked_reason") or inside.get("reason")
            return inside["status"], reason.value if reason else None
    raise FileError(
        f"has no status for {key.value or 'a row without a key'}",
        location=Location(text.path, key.line, 1),
        found="a list" if isinstance(node, SequenceNode) else "a mapping without `status`",
        expected=f"{key.value}: one of {', '.join(STORY_LIFECYCLE)}",
    )


def _reasons(others: dict[str, Node]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    for name in REASON_KEYS:
        node = others.get(name)
        for key, value in node.items if isinstance(node, MappingNode) else ():
            if key.value and isinstance(value, ScalarNode) and value.value:
                reasons[key.value] = value.value
    return reasons
