"""Small JSON files that people and agents also write: tolerant reads, atomic writes."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from ..core.errors import FileError, Location
from ..core.json_types import ABSENT, ISO_8601, Moment
from .files import TextFile, read_bytes, write_atomic

MAX_BYTES = 4 * 1024 * 1024

JsonObject = dict[str, Any]


def read_json_object(path: str, *, hint: str | None = None) -> JsonObject | None:
    """The object in the file; None if there is no file. Links are refused: an agent may have created one that
    leads anywhere."""
    if os.path.islink(path):
        raise FileError("is a link", location=Location(path), expected="a file", hint=hint or f"rm {path}")
    if not os.path.lexists(path):
        return None
    text = TextFile(path, read_bytes(path, limit=MAX_BYTES, follow=False)).text
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        location = Location(path, error.lineno, error.colno)
        raise FileError(f"is no JSON: {error.msg}", location=location, hint=hint) from None
    except (ValueError, RecursionError):  # a number of 5,000 digits, a thousand nested brackets
        raise FileError("is no JSON that can be read", location=Location(path), hint=hint) from None
    if not isinstance(data, dict):
        found = f"a {type(data).__name__}"
        raise FileError("is no JSON object", location=Location(path), found=found, expected="{ … }", hint=hint)
    return data


def write_json_object(
    path: str, data: JsonObject, *, durable: bool = True, one_line_per_field: bool = False
) -> None:
    """Write the object atomically. `one_line_per_field`: ten times faster with thousands of items."""
    if os.path.islink(path):
        raise FileError("is a link", location=Location(path), expected="a file", hint=f"rm {path}")
    write = _one_line_per_field if one_line_per_field else _indented
    try:
        raw = write(data, ascii=False).encode()
    except UnicodeEncodeError:  # a lone surrogate, from a path or from an escape in foreign JSON
        raw = write(data, ascii=True).encode()
    write_atomic(path, raw + b"\n", durable=durable)


def _indented(data: JsonObject, *, ascii: bool) -> str:
    return json.dumps(data, indent=2, ensure_ascii=ascii)


def _one_line_per_field(data: JsonObject, *, ascii: bool) -> str:
    fields = (f"  {json.dumps(name)}: {json.dumps(value, ensure_ascii=ascii)}" for name, value in data.items())
    return "{\n" + ",\n".join(fields) + "\n}"


# Records: a NamedTuple or a dataclass is written as the object that its fields describe.

_PLAIN = (str, int, float, bool, NoneType)


def document(kind: str, record: object) -> JsonObject:
    """A `--json` document: its version and kind, then the fields of the record."""
    return {"version": 1, "kind": kind, **to_json(record)}


def to_json(value: Any) -> Any:
    """The value in JSON's types. A record becomes an object without its absent fields, a `Moment` ISO 8601."""
    kind: type = type(value)
    if kind in _PLAIN:
        return value
    fields = _record_fields(kind)
    if fields is not None:
        return {
            name: encode(inner) if encode else inner
            for name, encode in fields
            if (inner := getattr(value, name)) is not ABSENT
        }
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, Mapping):
        return {to_json(name): to_json(inner) for name, inner in value.items()}
    return [to_json(inner) for inner in value]


@cache
def _record_fields(kind: type) -> tuple[tuple[str, Callable[[Any], Any] | None], ...] | None:
    """The fields of a record's type in order, each with its encoder. None if it is no record."""
    names = getattr(kind, "_fields", None) or getattr(kind, "__dataclass_fields__", None)
    if names is None:
        return None
    return tuple((name, _encoder(kind.__annotations__[name])) for name in names)


def _encoder(hint: Any) -> Callable[[Any], Any] | None:
    """None: `json.dumps` writes the field's values as they are."""
    choices = set(_choices(hint))
    if Moment in choices:
        return lambda value: None if value is None else to_iso(value)
    return None if choices.issubset(_PLAIN) else to_json


def _choices(hint: Any) -> Iterator[Any]:
    """The types of a field's values: the members of its unions, without annotations other than `Moment`."""
    origin = get_origin(hint)
    if origin is Annotated and ISO_8601 in hint.__metadata__:
        yield Moment
    elif origin is Annotated:
        yield from _choices(hint.__origin__)
    elif origin in (Union, UnionType):
        for one in get_args(hint):
            yield from _choices(one)
    else:
        yield hint


def as_text(value: object, default: str = "") -> str:
    """The value as text, whatever its type; `default` for null or empty."""
    if isinstance(value, str) or value is None:
        return value or default
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    return str(value)


def as_count(value: object, default: int = 0) -> int:
    """The value as a count: `3`, `"3"` and `3.0` are the same."""
    if type(value) is int:  # the usual case; a list of runs calls this 20,000 times
        return value if 0 <= value < 1_000_000_000 else default
    if isinstance(value, str) and value.strip().isdecimal() and len(value) < 10:
        return int(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9:
        return int(value)
    return default


def as_amount(value: object) -> float | None:
    """The value as seconds or dollars; None if it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < 1e9 else None


def as_list(value: object) -> list[Any]:
    """The value as a list; a single value becomes a list of one, null an empty list."""
    if value is None or value == "":
        return []
    return value if isinstance(value, list) else [value]


# Timestamps: written as ISO 8601 in UTC, read in the forms people and programs use.

_LATEST = 253_402_300_799.0  # the last second of the year 9999, the end of ISO 8601


def to_iso(at: float) -> str:
    """`2026-02-26T12:00:00.250Z`; a whole second without its fraction."""
    seconds, thousandths = divmod(round(min(max(at, 0.0), _LATEST) * 1000), 1000)
    text = datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{thousandths:03}Z" if thousandths else f"{text}Z"


def parse_timestamp(value: object) -> float:
    """Seconds since 1970; 0 if it is no timestamp. A date alone means midnight, a time without a zone is UTC."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return 0.0
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value.strip())
            value = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return 0.0
    return float(value) if 0 <= value <= _LATEST else 0.0
