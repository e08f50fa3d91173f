"""Small JSON files that people and agents write too: read as they come, written whole."""

import json
import os
from typing import Any

from ..core.errors import FileError, Place
from ..files import Text, read_bytes, write_atomic

MAX_BYTES = 4 * 1024 * 1024

Object = dict[str, Any]


def read_object(path: str, *, hint: str | None = None) -> Object | None:
    """The object in the file; None where there is no file. A link is refused: an agent may have put it there, and
    it could lead anywhere."""
    if os.path.islink(path):
        raise FileError("is a link", place=Place(path), expected="a file", hint=hint or f"rm {path}")
    if not os.path.lexists(path):
        return None
    text = Text(path, read_bytes(path, limit=MAX_BYTES, follow=False)).text
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        place = Place(path, error.lineno, error.colno)
        raise FileError(f"is no JSON: {error.msg}", place=place, hint=hint) from None
    except (ValueError, RecursionError):  # a number of 5,000 digits, a thousand brackets
        raise FileError("is no JSON that can be read", place=Place(path), hint=hint) from None
    if not isinstance(data, dict):
        found = f"a {type(data).__name__}"
        raise FileError("is no JSON object", place=Place(path), found=found, expected="{ … }", hint=hint)
    return data


def write_object(path: str, data: Object, *, durable: bool = True, long: bool = False) -> None:
    """`long`: one line for each field, which takes a tenth of the time where there are thousands of items."""
    if os.path.islink(path):
        raise FileError("is a link", place=Place(path), expected="a file", hint=f"rm {path}")
    write = _by_field if long else _indented
    try:
        raw = write(data, ascii=False).encode()
    except UnicodeEncodeError:  # half a character, from a path or from an escape in somebody's JSON
        raw = write(data, ascii=True).encode()
    write_atomic(path, raw + b"\n", durable=durable)


def _indented(data: Object, *, ascii: bool) -> str:
    return json.dumps(data, indent=2, ensure_ascii=ascii)


def _by_field(data: Object, *, ascii: bool) -> str:
    fields = (f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=ascii)}" for name, value in data.items())
    return "{\n" + ",\n".join(fields) + "\n}"


def text_of(value: object, default: str = "") -> str:
    """A text, whatever was put in its place; `default` for nothing."""
    if isinstance(value, str) or value is None:
        return value or default
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def number_of(value: object, default: int = 0) -> int:
    """A count: `3`, `"3"` and `3.0` are the same."""
    if type(value) is int:  # nearly always, and a list of runs asks twenty thousand times
        return value if 0 <= value < 1_000_000_000 else default
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        return int(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9:
        return int(value)
    return default


def figure_of(value: object) -> float | None:
    """Seconds or dollars; None for what is none, or no finite one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e9 else None


def list_of(value: object) -> list[Any]:
    """A list; one thing alone counts as a list of it, nothing as an empty one."""
    if value is None or value == "":
        return []
    return value if isinstance(value, list) else [value]
