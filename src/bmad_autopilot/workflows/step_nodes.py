"""Nodes of a step file: values looked for by their key, and each mistake with its line."""

from collections.abc import Iterable

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import FileError, Place
from ..files import Text
from ..project.settings_errors import shown, suggest
from ..yamls import Mapping as Table
from ..yamls import Node, Scalar

MAX_TEXT = 20_000


class Nodes:
    """Reads nodes of one file, and collects what is merely odd."""

    def __init__(self, text: Text) -> None:
        self.text = text
        self.notes: list[Diagnostic] = []

    # words about the file

    def error(
        self, line: int, message: str, found: str = "", expected: str = "", hint: str | None = None
    ) -> FileError:
        place = Place(self.text.path, line)
        return FileError(message, place=place, found=found or None, expected=expected or None, hint=hint)

    def shown(self, node: Node) -> str:
        if isinstance(node, Scalar):
            return "nothing" if node.value is None else shown(node.value)
        return "a mapping" if isinstance(node, Table) else "a list"

    def line_in(self, node: Scalar, part: str) -> int:
        """Where in a text of several lines."""
        at = self.text.text.find(part, node.start, node.end)
        return self.text.text.count("\n", 0, at) + 1 if at >= 0 else node.line

    def warn_unknown(self, table: Table, known: Iterable[str], what: str) -> None:
        names = {name: name for name in known}
        for key, _ in table.items:
            if key.value not in names:
                hint = suggest(key.value or "", names) or f"{what} has: {', '.join(names)}"
                message = f"{shown(key.value or '')} is not known, and passed over"
                place = Place(self.text.path, key.line)
                self.notes.append(Diagnostic(Severity.WARNING, "unknown-key", message, place, hint))

    def refuse_twice(self, table: Table, what: str) -> None:
        seen: dict[str | None, int] = {}
        for key, _ in table.items:
            if key.value in seen:
                found = f"{self.shown(key)}, also on line {seen[key.value]}"
                raise self.error(key.line, f"a key stands twice in {what}", found, "each key once")
            seen[key.value] = key.line

    # values

    def value(self, table: Node | None, key: str) -> Node | None:
        items = table.items if isinstance(table, Table) else ()
        return next((value for name, value in items if name.value == key), None)

    def line_of(self, table: Node | None, key: str) -> int | None:
        items = table.items if isinstance(table, Table) else ()
        return next((name.line for name, _ in items if name.value == key), None)

    def text_node(self, table: Node | None, key: str, most: int = MAX_TEXT) -> Scalar | None:
        """None: not there, or empty."""
        node = self.value(table, key)
        if node is None or (isinstance(node, Scalar) and not (node.value or "").strip()):
            return None
        if not isinstance(node, Scalar) or node.value is None:
            line = self.line_of(table, key) or node.line
            raise self.error(line, f"`{key}` is not a text", self.shown(node), "a text")
        self.check_text(node, key, most)
        return node

    def text_value(self, table: Node | None, key: str, most: int = MAX_TEXT) -> str | None:
        node = self.text_node(table, key, most)
        return node.value if node is not None else None

    def check_text(self, node: Scalar, key: str, most: int) -> None:
        value = node.value or ""
        if len(value) > most:
            raise self.error(node.line, f"`{key}` is too long", f"{len(value)} characters", f"at most {most}")
        odd = next((char for char in value if char < " " and char not in "\n\t"), None)
        if odd is not None:
            raise self.error(node.line, f"`{key}` holds a control character", repr(odd), "text")
