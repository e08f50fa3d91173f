"""Reads and validates bmad-autopilot.toml. An unknown key or a wrong value is an error with its line."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias, cast

from ..core.errors import FileError, Location
from ..core.text import clip
from ..io.files import TextFile, read_text
from ..io.toml_reader import MAX_TOML, Table, find_line, load_toml
from .bmad_settings import Setting
from .config import ROLES, CommandSettings, Config, GitHubSettings, Role, WorktreeSettings
from .config_schema import AMOUNT, BOOL, KEYS, LIST, NUMBER, TABLE_ARRAYS, TABLES, TEXT, USER_TABLES, ConfigKey

# Errors about a setting: its line, the value found, a suggestion.


def config_error(
    text: TextFile, name: str, message: str, expected: str, found: str, hint: str | None = None
) -> FileError:
    table, _, key = name.rpartition(".")
    location = Location(text.path, find_line(text.text, table, key))
    return FileError(message, location=location, found=found or None, expected=expected or None, hint=hint)


def unknown_key_error(text: TextFile, name: str, shape: str, known: list[str]) -> FileError:
    """Suggests a very similar key of the same table, else the same key of another table, else a similar one."""
    table, _, last = shape.rpartition(".")
    beside = {other.rpartition(".")[2]: other for other in known if other.rpartition(".")[0] == table}
    # Show the user's name of the table where the schema has NAME.
    mine = {word: f"{name.rpartition('.')[0]}.{word}".lstrip(".") for word in beside}
    anywhere = {other.rpartition(".")[2]: other for other in known}
    same = {last: anywhere[last]} if last in anywhere else {}
    tries = (
        suggest_name(last, names, alike) for names, alike in ((mine, 0.8), (same, 1), (mine, 0.6), (anywhere, 0.6))
    )
    hint = next(filter(None, tries), f"here stand: {', '.join(beside)}")
    return config_error(text, name, f"unknown key `{name}`", "", "", hint)


def suggest_name(word: str, names: Mapping[str, str], cutoff: float = 0.6) -> str | None:
    """A hint with the closest of `names`, which maps each word to its display form."""
    from difflib import get_close_matches

    begun = [name for name in names if len(name) > 2 and word.startswith(name)]
    close = begun or get_close_matches(word, names, n=1, cutoff=cutoff)
    return f"did you mean `{names[close[0]]}`?" if close else None


def format_value(value: object) -> str:
    text = (
        f'"{value}"' if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    )
    return clip(text, 60)


MAX_VALUE = 4000
MAX_ITEMS = 100

_KEYS_BY_NAME = {key.full_name: key for key in KEYS}


# Reads a file that a setting refers to, by its path from the project's top.
ReadFile: TypeAlias = Callable[[str], bytes]


def read_config(path: str) -> Config:
    """Read the settings file at `path`; the files it refers to are relative to its folder."""

    def read(name: str) -> bytes:
        from .config_tables import read_project_file

        return read_project_file(path, name)

    return _parse_config(read_text(path, limit=MAX_TOML), read)


def config_from_bytes(data: bytes, path: str, read: ReadFile) -> Config:
    """Read settings from memory, e.g. from a commit of the base branch. Messages show `path`; `read` returns the
    files that the settings refer to, from the same commit."""
    if len(data) > MAX_TOML:
        found, most = f"{len(data) / 1e6:.1f} MB", f"at most {MAX_TOML / 1e6:.0f} MB"
        raise FileError("is too large to be read", location=Location(path), found=found, expected=most)
    return _parse_config(TextFile(path, data), read)


def read_set_keys(path: str, data: bytes | None = None) -> frozenset[str]:
    """The full names of the keys that a settings file sets, whatever their values. `data`: its content, if it is
    not to be read from `path`."""
    text = read_text(path, limit=MAX_TOML) if data is None else TextFile(path, data)
    return frozenset(_check_keys(text, load_toml(text)))


def _parse_config(text: TextFile, read: ReadFile) -> Config:
    values = _check_keys(text, load_toml(text))
    config = _build_config(text.path, values)
    if all(name.startswith("commands.") for name in values):
        return config
    from .config_rules import check_config  # skipped for the file that `bmad init` writes

    check_config(text, config, values)
    if config.depends:
        from .config_tables import normalize_depends

        config = normalize_depends(text, config)
    if config.flow_files:
        from .config_tables import load_flow_files

        config = load_flow_files(text, config, read)
    if not config.steps and not config.workflows:
        return config
    from .config_tables import load_workflows

    return load_workflows(text, config, read)


def _build_config(path: str, values: Mapping[str, object]) -> Config:
    """A Config from checked values; keys that are not set keep their default."""
    own = [
        _KEYS_BY_NAME[name] for name in values if name in _KEYS_BY_NAME and _KEYS_BY_NAME[name].record is Config
    ]
    fields = {key.field: values[key.full_name] for key in own}
    if "board" in fields:
        fields["board"] = Setting(str(fields["board"]), path, "", "board")
    config = Config(
        path=path,
        roles={role: Role(**_values_below(values, f"roles.{role}.")) for role in ROLES},
        commands=CommandSettings(**_values_below(values, "commands.")),
        github=GitHubSettings(**_values_below(values, "github.")),
        worktrees=WorktreeSettings(**_values_below(values, "worktrees.")),
        **cast(dict[str, Any], fields),
    )
    return _add_user_tables(config, values) if {*USER_TABLES, *TABLE_ARRAYS} & values.keys() else config


def _add_user_tables(config: Config, values: Mapping[str, object]) -> Config:
    from . import config as project_config

    return config._replace(
        agents={
            name: project_config.CustomAgent(**{"command": (), **parts})
            for name, parts in _user_tables(values, "agents")
        },
        launchers={
            name: project_config.CustomLauncher(**parts) for name, parts in _user_tables(values, "launchers")
        },
        workflows={
            name: project_config.CustomWorkflow(**parts) for name, parts in _user_tables(values, "workflows")
        },
        steps={name: project_config.CustomStep(**parts) for name, parts in _user_tables(values, "steps")},
        answers=_values_below(values, "answers."),
        unattended=_values_below(values, "unattended."),
        depends=_values_below(values, "depends."),
        standing=tuple(
            project_config.StandingAnswer(**parts) for parts in _array_rows(values, "standing_answers")
        ),
    )


def _values_below(values: Mapping[str, object], prefix: str) -> dict[str, Any]:
    return {name.removeprefix(prefix): value for name, value in values.items() if name.startswith(prefix)}


def _user_tables(values: Mapping[str, object], table: str) -> list[tuple[str, dict[str, Any]]]:
    """The user-named tables with their values, including empty ones."""
    names = cast(tuple[str, ...], values.get(table, ()))
    return [(name, _values_below(values, f"{table}.{name}.")) for name in names]


def _array_rows(values: Mapping[str, object], table: str) -> list[dict[str, Any]]:
    """The values of each table of an array of tables, by field name."""
    return [dict(cast(Mapping[str, Any], row)) for row in cast(tuple[object, ...], values.get(table, ()))]


def _check_keys(text: TextFile, data: Table) -> dict[str, object]:
    """Checked values by full name, and the names of user tables by the table that holds them. Raises a FileError
    with the line of an unknown key or a wrong type."""
    values: dict[str, object] = {}
    tables = {part for table in TABLES if table for part in _prefixes(table)}
    # Full name, its name in the schema, value.
    todo: list[tuple[str, str, object]] = [(name, name, value) for name, value in data.items()]
    while todo:
        name, shape, value = todo.pop(0)
        if shape in _KEYS_BY_NAME:
            values[name] = check_value(text, name, _KEYS_BY_NAME[shape], value)
        elif shape in TABLE_ARRAYS:
            from .config_tables import check_array

            values[name] = check_array(text, name, value, check_value)
        elif shape in tables:
            if not isinstance(value, dict):
                raise config_error(text, name, f"`{name}` must be a table", f"[{name}]", format_value(value))
            if shape in USER_TABLES:
                # Epic numbers contain dots, and there may be many: normalize_depends checks them.
                values[name] = _check_names(text, name, list(value)) if shape != "depends" else tuple(value)
            todo += [
                (f"{name}.{inner}", USER_TABLES.get(shape, f"{shape}.{inner}"), item)
                for inner, item in value.items()
            ]
        else:
            raise unknown_key_error(text, name, shape, [*_KEYS_BY_NAME, *tables])
    return values


def _check_names(text: TextFile, table: str, names: list[str]) -> tuple[str, ...]:
    from .config_rules import check_name

    return tuple(check_name(text, table, name, names) for name in names)


def _prefixes(table: str) -> list[str]:
    parts = table.split(".")
    return [".".join(parts[: count + 1]) for count in range(len(parts))]


def check_value(text: TextFile, name: str, key: ConfigKey, value: object) -> object:
    if key.type == NUMBER:
        if isinstance(value, bool) or not isinstance(value, int) or not key.least <= value <= key.most:
            expected = f"a whole number from {key.least} to {key.most}"
            raise config_error(text, name, f"`{name}` is out of range", expected, format_value(value))
        return value
    if key.type == AMOUNT:
        # The comparison also refuses nan and infinities.
        if isinstance(value, bool) or not isinstance(value, int | float) or not key.least < value <= key.most:
            expected = f"a number above {key.least}, up to {key.most}"
            raise config_error(text, name, f"`{name}` is out of range", expected, format_value(value))
        return float(value)
    if key.type == BOOL:
        if not isinstance(value, bool):
            raise config_error(text, name, f"`{name}` must be true or false", "true, false", format_value(value))
        return value
    if key.type == LIST:
        items = value if isinstance(value, list) else [value]
        if len(items) > MAX_ITEMS or not all(_is_text(item) for item in items):
            raise config_error(text, name, f"`{name}` is no list of texts", '["…", "…"]', format_value(value))
        return tuple(items)
    if key.type == TEXT and not _is_text(value):
        raise config_error(text, name, f"`{name}` must be a text", '"…"', format_value(value))
    if key.allowed and not key.refers_to and value not in key.allowed:
        expected = ", ".join(f'"{word}"' for word in key.allowed)
        hint = suggest_name(str(value), {word: word for word in key.allowed})
        raise config_error(text, name, f"`{name}` has an unknown value", expected, format_value(value), hint)
    return value


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value.strip()) <= len(value) <= MAX_VALUE and "\0" not in value
