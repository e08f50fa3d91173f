"""Reading bmad-autopilot.toml: every key known, every value of its type, or an error with the line."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from ..core.errors import FileError, Place
from ..files import Text, read_text
from .config import ROLES, CommandSettings, Config, GitHub, Role, WorktreeSettings
from .layers import Setting
from .schema import AMOUNT, ARRAYS, BOOL, KEYS, LIST, NUMBER, OPEN, TABLES, TEXT, Key
from .settings_errors import refusal, shown, suggest, unknown_key
from .toml import MAX_TOML, Table, load_toml

MAX_VALUE = 4000
MAX_ITEMS = 100

_KNOWN = {key.full_name: key for key in KEYS}


# A file of the project, by its path from the top: what a setting may refer to.
ReadFile: TypeAlias = Callable[[str], bytes]


def read_config(path: str) -> Config:
    """The file as it lies there, with the files it refers to beside it."""

    def read(name: str) -> bytes:
        from .settings_workflows import read_beside

        return read_beside(path, name)

    return _config(read_text(path, limit=MAX_TOML), read)


def config_from_bytes(data: bytes, path: str, read: ReadFile) -> Config:
    """The same from wherever it was found, such as a commit of the base branch: `path` is what messages call it,
    `read` gives the files it refers to, from the same place."""
    if len(data) > MAX_TOML:
        found, most = f"{len(data) / 1e6:.1f} MB", f"at most {MAX_TOML / 1e6:.0f} MB"
        raise FileError("is too large to be read", place=Place(path), found=found, expected=most)
    return _config(Text(path, data), read)


def keys_set(path: str, data: bytes | None = None) -> frozenset[str]:
    """The full names of the keys that a settings file sets, whatever their values. `data`: its text, where it was
    not read from `path`."""
    text = read_text(path, limit=MAX_TOML) if data is None else Text(path, data)
    return frozenset(_check(text, load_toml(text)))


def _config(text: Text, read: ReadFile) -> Config:
    values = _check(text, load_toml(text))
    config = _make(text.path, values)
    if all(name.startswith("commands.") for name in values):
        return config
    from .settings_rules import check_rules  # of no use to what `bmad init` writes

    check_rules(text, config, values)
    if config.depends:
        from .settings_depends import with_depends

        config = with_depends(text, config)
    if config.flow_files:
        from .settings_flows import with_flows

        config = with_flows(text, config, read)
    if not config.steps and not config.workflows:
        return config
    from .settings_workflows import with_workflows

    return with_workflows(text, config, read)


def _make(path: str, values: Mapping[str, object]) -> Config:
    """A Config from checked values; what is not set keeps its default."""
    own = [_KNOWN[name] for name in values if name in _KNOWN and _KNOWN[name].owner is Config]
    fields = {key.field: values[key.full_name] for key in own}
    if "board" in fields:
        fields["board"] = Setting(str(fields["board"]), path, "", "board")
    config = Config(
        path=path,
        roles={role: Role(**_inside(values, f"roles.{role}.")) for role in ROLES},
        commands=CommandSettings(**_inside(values, "commands.")),
        github=GitHub(**_inside(values, "github.")),
        worktrees=WorktreeSettings(**_inside(values, "worktrees.")),
        **cast(dict[str, Any], fields),
    )
    return _with_custom(config, values) if {*OPEN, *ARRAYS} & values.keys() else config


def _with_custom(config: Config, values: Mapping[str, object]) -> Config:
    from . import custom

    return config._replace(
        agents={name: custom.CustomAgent(**{"command": (), **parts}) for name, parts in _each(values, "agents")},
        launchers={name: custom.CustomLauncher(**parts) for name, parts in _each(values, "launchers")},
        workflows={name: custom.CustomWorkflow(**parts) for name, parts in _each(values, "workflows")},
        steps={name: custom.CustomStep(**parts) for name, parts in _each(values, "steps")},
        answers=_inside(values, "answers."),
        unattended=_inside(values, "unattended."),
        depends=_inside(values, "depends."),
        standing=tuple(custom.StandingAnswer(**parts) for parts in _rows(values, "standing_answers")),
    )


def _inside(values: Mapping[str, object], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def _each(values: Mapping[str, object], table: str) -> list[tuple[str, dict[str, Any]]]:
    """The tables of the user's own, by name. One without any key is there too."""
    names = cast(tuple[str, ...], values.get(table, ()))
    return [(name, _inside(values, f"{table}.{name}.")) for name in names]


def _rows(values: Mapping[str, object], table: str) -> list[dict[str, Any]]:
    """What stands in each of several tables of one name, by the fields of their owner."""
    return [dict(cast(Mapping[str, Any], row)) for row in cast(tuple[object, ...], values.get(table, ()))]


def _check(text: Text, data: Table) -> dict[str, object]:
    """Every value under its full name, each of a known key and of its type; the names of the user's own tables
    under the table they stand in; else a FileError with the line."""
    values: dict[str, object] = {}
    tables = {part for table in TABLES if table for part in _prefixes(table)}
    # Name, what the schema calls it, value.
    todo: list[tuple[str, str, object]] = [(name, name, value) for name, value in data.items()]
    while todo:
        name, shape, value = todo.pop(0)
        if shape in _KNOWN:
            values[name] = check_value(text, name, _KNOWN[shape], value)
        elif shape in ARRAYS:
            from .settings_people import check_array

            values[name] = check_array(text, name, value, check_value)
        elif shape in tables:
            if not isinstance(value, dict):
                raise refusal(text, name, f"`{name}` must be a table", f"[{name}]", shown(value))
            if shape in OPEN:
                # Epics' numbers have dots, and there may be many: settings_depends.py looks at them.
                values[name] = _names(text, name, list(value)) if shape != "depends" else tuple(value)
            todo += [
                (f"{name}.{inner}", OPEN.get(shape, f"{shape}.{inner}"), item) for inner, item in value.items()
            ]
        else:
            raise unknown_key(text, name, shape, [*_KNOWN, *tables])
    return values


def _names(text: Text, table: str, names: list[str]) -> tuple[str, ...]:
    from .settings_rules import check_name

    return tuple(check_name(text, table, name, names) for name in names)


def _prefixes(table: str) -> list[str]:
    parts = table.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]


def check_value(text: Text, name: str, key: Key, value: object) -> object:
    if key.type == NUMBER:
        if isinstance(value, bool) or not isinstance(value, int) or not key.least <= value <= key.most:
            expected = f"a whole number from {key.least} to {key.most}"
            raise refusal(text, name, f"`{name}` is out of range", expected, shown(value))
        return value
    if key.type == AMOUNT:
        # Neither nan nor an infinity is between two numbers.
        if isinstance(value, bool) or not isinstance(value, int | float) or not key.least < value <= key.most:
            expected = f"a number above {key.least}, up to {key.most}"
            raise refusal(text, name, f"`{name}` is out of range", expected, shown(value))
        return float(value)
    if key.type == BOOL:
        if not isinstance(value, bool):
            raise refusal(text, name, f"`{name}` must be true or false", "true, false", shown(value))
        return value
    if key.type == LIST:
        items = value if isinstance(value, list) else [value]
        if len(items) > MAX_ITEMS or not all(_is_text(item) for item in items):
            raise refusal(text, name, f"`{name}` is no list of texts", '["…", "…"]', shown(value))
        return tuple(items)
    if key.type == TEXT and not _is_text(value):
        raise refusal(text, name, f"`{name}` must be a text", '"…"', shown(value))
    if key.allowed and not key.refers and value not in key.allowed:
        expected = ", ".join(f'"{word}"' for word in key.allowed)
        hint = suggest(str(value), {word: word for word in key.allowed})
        raise refusal(text, name, f"`{name}` has an unknown value", expected, shown(value), hint)
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value.strip()) <= len(value) <= MAX_VALUE and "\0" not in value
