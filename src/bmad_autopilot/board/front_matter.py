"""The YAML at the top of stories and specs. A broken one is a diagnostic: the body is still worth reading."""

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import FileError, Place
from ..files import Text
from ..yamls import load
from . import markdown


def read_front_matter(text: Text, diagnostics: list[Diagnostic]) -> dict[str, object]:
    unified = markdown.unify_line_ends(text.text)
    found = markdown.front_matter(unified)
    if found is None:
        return {}
    start, end, _ = found
    # The empty first line stands for the `---`, so that an error names the line of the file.
    part = Text(text.path, b"\n" + unified[start:end].encode())
    try:
        data = load(part)
    except FileError as error:
        place = error.place or Place(text.path, 2)
        hint = error.hint or "mend the part between the `---` lines"
        diagnostics.append(Diagnostic(Severity.WARNING, "bad-front-matter", error.message, place, hint))
        return {}
    if data is None or isinstance(data, dict):
        return data or {}
    message = "the front matter is not a list of `key: value` lines"
    diagnostics.append(Diagnostic(Severity.WARNING, "bad-front-matter", message, Place(text.path, 2)))
    return {}


def text_field(fields: dict[str, object], *names: str) -> str | None:
    """The first of these fields that holds text."""
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
