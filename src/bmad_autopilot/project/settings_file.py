"""Reading bmad-autopilot.toml: every key known, every value of its type, or an error with the line."""

from collections.abc import Mapping
from typing import Any, cast

from ..core.errors import FileError, Place
from ..files import Text, read_text
from .config import ROLES, Commands, Config, Role
from .layers import Setting
from .schema import KEYS, LIST, NUMBER, TABLES, TEXT, Key
from .toml import MAX_TOML, Table, line_of, load_toml

MAX_VALUE = 4000
MAX_ITEMS = 100


def read_config(path: str) -> Config:
    text = read_text(path, limit=MAX_TOML)
    return _make(path, _check(text, load_toml(text)))


def _make(path: str, values: Mapping[str, object]) -> Config:
    """A Config from checked values; what is not set keeps its default."""
    fields = {name: value for name, value in values.items() if "." not in name}
    if "board" in fields:
        fields["board"] = Setting(str(fields["board"]), path, "", "board")
    roles = {role: Role(**_inside(values, f"roles.{role}.")) for role in ROLES}
    commands = Commands(**_inside(values, "commands."))
    return Config(path=path, roles=roles, commands=commands, **cast(dict[str, Any], fields))


def _inside(values: Mapping[str, object], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def _check(text: Text, data: Table) -> dict[str, object]:
    """Every value under its full name, each of a known key and of its type; else a FileError with the line."""
    values: dict[str, object] = {}
    known = {key.full_name: key for key in KEYS}
    tables = {part for table in TABLES if table for part in _prefixes(table)}
    todo: list[tuple[str, object]] = [(name, value) for name, value in data.items()]
    while todo:
        name, value = todo.pop(0)
        if name in known:
            values[name] = _value(text, known[name], value)
        elif name in tables:
            if not isinstance(value, dict):
                raise _error(text, name, f"`{name}` must be a table", f"[{name}]", _shown(value))
            todo += [(f"{name}.{inner}", item) for inner, item in value.items()]
        else:
            raise _unknown(text, name, [*known, *tables])
    return values


def _prefixes(table: str) -> list[str]:
    parts = table.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]


def _value(text: Text, key: Key, value: object) -> object:
    if key.type == NUMBER:
        if isinstance(value, bool) or not isinstance(value, int) or not key.least <= value <= key.most:
            expected = f"a whole number from {key.least} to {key.most}"
            raise _error(text, key.full_name, f"`{key.full_name}` is out of range", expected, _shown(value))
        return value
    if key.type == LIST:
        items = value if isinstance(value, list) else [value]
        if len(items) > MAX_ITEMS or not all(_is_text(item) for item in items):
            raise _error(
                text, key.full_name, f"`{key.full_name}` is no list of texts", '["…", "…"]', _shown(value)
            )
        return tuple(items)
    if key.type == TEXT and not _is_text(value):
        raise _error(text, key.full_name, f"`{key.full_name}` must be a text", '"…"', _shown(value))
    if key.allowed and value not in key.allowed:
        expected = ", ".join(f'"{word}"' for word in key.allowed)
        hint = _suggest(str(value), {word: word for word in key.allowed})
        raise _error(text, key.full_name, f"`{key.full_name}` has an unknown value", expected, _shown(value), hint)
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value.strip()) <= len(value) <= MAX_VALUE and "\0" not in value


def _shown(value: object) -> str:
    text = (
        f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    )
    return text if len(text) <= 60 else f"{text[:59]}…"


def _unknown(text: Text, name: str, known: list[str]) -> FileError:
    """A name beside it that is spelled alike, else the same name in another table."""
    table, _, last = name.rpartition(".")
    beside = {other.rpartition(".")[2]: other for other in known if other.rpartition(".")[0] == table}
    anywhere = {other.rpartition(".")[2]: other for other in known}
    hint = _suggest(last, beside) or _suggest(last, anywhere) or f"here stand: {', '.join(beside)}"
    return _error(text, name, f"unknown key `{name}`", "", "", hint)


def _suggest(word: str, names: Mapping[str, str]) -> str | None:
    """`names` maps a word to what is shown for it."""
    from difflib import get_close_matches

    begun = [name for name in names if len(name) > 2 and word.startswith(name)]
    close = begun or get_close_matches(word, names, n=1)
    return f"did you mean `{names[close[0]]}`?" if close else None


def _error(text: Text, name: str, message: str, expected: str, found: str, hint: str | None = None) -> FileError:
    table, _, key = name.rpartition(".")
    place = Place(text.path, line_of(text.text, table, key))
    return FileError(message, place=place, found=found or None, expected=expected or None, hint=hint)
