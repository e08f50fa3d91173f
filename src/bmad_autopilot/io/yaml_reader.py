"""Reads YAML. Values are strings with positions; nothing is converted to a date or a boolean."""

from typing import TYPE_CHECKING, NamedTuple, NoReturn, TypeAlias

from ..core.errors import FileError, Location
from .files import TextFile
from .yaml_scanner import scan_yaml

if TYPE_CHECKING:
    import yaml


MAX_DEPTH = 50
_NULLS = ("null", "Null", "NULL", "~", "")


class ScalarNode(NamedTuple):
    value: str | None
    line: int
    start: int  # offsets of the token in the text, quotes included
    end: int


class MappingNode(NamedTuple):
    items: list[tuple[ScalarNode, "Node"]]
    line: int
    flow: bool


class SequenceNode(NamedTuple):
    items: list["Node"]
    line: int
    flow: bool


Node: TypeAlias = ScalarNode | MappingNode | SequenceNode


def load_yaml(text: TextFile) -> object:
    """The file as dicts, lists, strings and None. The last of two equal keys wins."""
    flat = scan_yaml(text.text)
    if flat is not None and flat.top:
        data: dict[str, object] = {key: value for key, value, _ in flat.top}
        for block, lines in flat.nested.items():
            data[block] = {key: value for key, value, _ in lines}
        return data
    return to_data(parse_yaml(text))


def to_data(node: Node | None) -> object:
    if isinstance(node, MappingNode):
        return {key.value or "": to_data(value) for key, value in node.items}
    if isinstance(node, SequenceNode):
        return [to_data(item) for item in node.items]
    return node.value if node is not None else None


def parse_yaml(text: TextFile) -> Node | None:
    """Parse the file into nodes with positions, using PyYAML's C parser; None for an empty file."""
    import yaml

    try:
        # Built without libyaml, PyYAML has no C loader; the Python one gives the same events, slower.
        loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)(text.text)
        try:
            return _Builder(text, loader).document()
        finally:
            loader.dispose()
    except yaml.YAMLError as error:
        _raise_parse_error(text, error)


class _Builder:
    """Builds nodes from events without recursion, so MAX_DEPTH and not the C stack bounds the depth."""

    def __init__(self, text: TextFile, loader: "yaml.BaseLoader | yaml.CBaseLoader") -> None:
        self.text = text
        self.next_event = loader.get_event

    def document(self) -> Node | None:
        import yaml

        stack: list[tuple[MappingNode | SequenceNode, list[ScalarNode]]] = []
        root: Node | None = None
        documents = 0
        while True:
            event = self.next_event()
            if isinstance(event, yaml.ScalarEvent):
                node: Node = self._scalar(event)
            elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
                kind = MappingNode if isinstance(event, yaml.MappingStartEvent) else SequenceNode
                node = kind([], _line(event), bool(event.flow_style))
                self._check_depth(event, len(stack))
            elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
                stack.pop()
                continue
            elif isinstance(event, yaml.AliasEvent):
                raise self._error(event, "uses a YAML alias", f"*{event.anchor}", "write the value out")
            elif isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self._error(event, "holds several YAML documents", "---", "keep one document")
                continue
            elif isinstance(event, yaml.StreamEndEvent):
                return root
            else:
                continue
            if stack:
                self._attach(event, stack, node)
            else:
                root = node
            if not isinstance(node, ScalarNode):
                stack.append((node, []))

    def _attach(
        self, event: "yaml.Event", stack: list[tuple[MappingNode | SequenceNode, list[ScalarNode]]], node: Node
    ) -> None:
        parent, pending = stack[-1]
        if isinstance(parent, SequenceNode):
            parent.items.append(node)
        elif pending:
            parent.items.append((pending.pop(), node))
        elif isinstance(node, ScalarNode):
            pending.append(node)
        else:
            raise self._error(event, "has a key that is not text", "a list or a mapping", "use a plain key")

    def _scalar(self, event: "yaml.ScalarEvent") -> ScalarNode:
        value: str | None = event.value
        if not event.style and value in _NULLS:
            value = None
        start, end = event.start_mark, event.end_mark
        assert start is not None
        assert end is not None
        return ScalarNode(value, start.line + 1, start.index, end.index)

    def _check_depth(self, event: "yaml.Event", depth: int) -> None:
        if depth >= MAX_DEPTH:
            raise self._error(event, "is nested too deeply", f"{depth + 1} levels", "flatten it")

    def _error(self, event: "yaml.Event", message: str, found: str, hint: str) -> FileError:
        mark = event.start_mark
        assert mark is not None
        location = Location(self.text.path, mark.line + 1, mark.column + 1)
        return FileError(message, location=location, found=found, hint=hint)


def _line(event: "yaml.Event") -> int:
    assert event.start_mark is not None
    return event.start_mark.line + 1


def _raise_parse_error(text: TextFile, error: Exception) -> NoReturn:
    mark = getattr(error, "problem_mark", None)
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "cannot be parsed"
    if mark is None:
        position = min(getattr(error, "position", 0) or 0, len(text.text))
        line = text.text.count("\n", 0, position) + 1
        column = position - text.text.rfind("\n", 0, position)
        raise FileError(f"is not valid YAML: {problem}", location=Location(text.path, line, column)) from None
    if "could not find expected ':'" in problem:
        mark = getattr(error, "context_mark", None) or mark  # the line without the colon, not the one after it
    rows = text.text.splitlines()
    row = rows[mark.line] if mark.line < len(rows) else ""
    raise FileError(
        f"is not valid YAML: {problem}",
        location=Location(text.path, mark.line + 1, mark.column + 1),
        found=_excerpt(row, mark.column) or "the end of the file",
        hint=_likely_fix(str(problem), row, rows[mark.line - 1] if 0 < mark.line <= len(rows) else ""),
    ) from None


def _excerpt(row: str, column: int, width: int = 60) -> str:
    first = max(0, min(column - width // 2, len(row) - width))
    cut = row[first : first + width].strip()
    return f"{'…' if first else ''}{cut}{'…' if first + width < len(row) else ''}"


def _likely_fix(problem: str, row: str, before: str) -> str | None:
    if "\t" in row[: len(row) - len(row.lstrip())] or "'\\t'" in problem:
        return "indent with spaces, not tabs"
    if "mapping values" in problem:
        key, _, value = row.partition(":")
        if ": " in value or value.rstrip().endswith(":"):
            return f'put the value in quotes: {key.strip()}: "…"'
        if len(row) - len(row.lstrip()) > len(before) - len(before.lstrip()):
            return "indent this line like the line above it"
    if "block end" in problem or "block mapping" in problem:
        return "indent this line like the other keys of its block"
    if "quoted scalar" in problem or "end of stream" in problem:
        return "close the quote or the bracket"
    if "could not find expected ':'" in problem:
        return "write the line as `key: value`, or start it with #"
    return None
