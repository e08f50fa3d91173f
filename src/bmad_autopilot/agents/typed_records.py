"""Records of ours read back as what they were: every field known and of its type, or an error that names it."""

import json
from dataclasses import MISSING, Field, fields
from types import UnionType
from typing import Any, TypeVar, get_origin, get_type_hints

from ..core.errors import FileError, Place
from ..files import read_bytes
from .outcomes import Spend, Tokens

MAX_RECORD = 1024 * 1024

Record = TypeVar("Record")


def read_record(path: str, kind: type[Record]) -> Record:
    """Fields of a newer version are passed over."""
    known, types = _known(kind, read_object(path)), _types(kind)
    wrong = [name for name, value in known.items() if not isinstance(value, types[name])]
    missing = [one.name for one in fields(kind) if one.name not in known and _is_needed(one)]  # type: ignore[arg-type]
    if wrong or missing:
        problem = f"`{wrong[0]}` is not what it should be" if wrong else f"`{missing[0]}` is missing"
        raise FileError(problem, place=Place(path), hint="it is no record of ours, or of another version")
    return kind(**known)


def read_object(path: str) -> dict[str, Any]:
    try:
        data = json.loads(read_bytes(path, limit=MAX_RECORD))
    except (ValueError, RecursionError) as error:
        raise FileError(f"is no JSON: {error}", place=Place(path)) from None
    if not isinstance(data, dict):
        raise FileError("is no JSON object", place=Place(path))
    return data


def spend_of(data: object) -> Spend:
    """Money and tokens, as JSON has them."""
    found = data if isinstance(data, dict) else {}
    dollars, tokens = found.get("dollars"), found.get("tokens")
    counts = {name: count for name, count in tokens.items() if isinstance(count, int)} if tokens else {}
    return Spend(dollars if isinstance(dollars, int | float) else None, Tokens(**_known(Tokens, counts)))


def _known(kind: type, data: dict[str, Any]) -> dict[str, Any]:
    names = {one.name: one.type for one in fields(kind)}
    return {name: _shaped(names[name], value) for name, value in data.items() if name in names}


def _shaped(kind: object, value: object) -> object:
    """JSON has lists for tuples, and objects for records."""
    if kind is Spend:
        return spend_of(value)
    return tuple(value) if isinstance(value, list) else value


def _is_needed(one: Field[Any]) -> bool:
    return one.default is MISSING and one.default_factory is MISSING


def _types(kind: type) -> dict[str, Any]:
    """What `isinstance` takes."""
    return {name: _loose(hint) for name, hint in get_type_hints(kind).items()}


def _loose(hint: Any) -> Any:
    """A whole number will do where a time is wanted."""
    if isinstance(hint, UnionType):
        return tuple(_loose(inner) for inner in hint.__args__)
    return (int, float) if hint is float else get_origin(hint) or hint
