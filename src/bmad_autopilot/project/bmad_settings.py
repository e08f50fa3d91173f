"""Reads BMAD's settings: four TOML layers since 6.4, one YAML file per module in every version, one file in v4.

The TOML layers take precedence. Several of BMAD's skills still read `bmm/config.yaml`, so folders.py warns when
the two differ."""

import os
from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

from ..core.errors import Diagnostic, FileError, Location, Severity
from ..io import yaml_reader
from ..io.files import read_text
from ..io.toml_reader import Table, find_line, read_toml

TOML_LAYERS = ("config.toml", "config.user.toml", "custom/config.toml", "custom/config.user.toml")
V4_CONFIG = "core-config.yaml"

# The settings that name folders, across all versions.
FOLDER_KEYS = (
    "output_folder",
    "planning_artifacts",
    "implementation_artifacts",
    "sprint_artifacts",
    "dev_story_location",
)
LANGUAGE = "communication_language"
_KEYS = (*FOLDER_KEYS, LANGUAGE)
_V4_KEYS = {"devStoryLocation": "dev_story_location"}
_MERGE_KEYS = ("code", "id")


class Setting(NamedTuple):
    """A value and where it was set."""

    value: str
    file: str
    table: str  # the TOML table; "" in YAML
    key: str

    @property
    def location(self) -> Location:
        try:
            text = read_text(self.file).text
        except FileError:
            return Location(self.file)
        if self.file.endswith(".toml"):
            return Location(self.file, find_line(text, self.table, self.key))
        lines = enumerate(text.splitlines(), 1)
        return Location(
            self.file, next((n for n, line in lines if line.lstrip().startswith(f"{self.key}:")), None)
        )


class BmadSettings(NamedTuple):
    """The folders and the language set in BMAD's configuration."""

    values: Mapping[str, Setting]  # by FOLDER_KEYS and LANGUAGE
    shadowed: Mapping[str, Setting]  # values of bmm/config.yaml that a TOML layer overrides
    diagnostics: tuple[Diagnostic, ...]

    @property
    def language(self) -> str:
        setting = self.values.get(LANGUAGE)
        return setting.value if setting else ""


def read_settings(folder: str | None) -> BmadSettings:
    """Read the settings of the BMAD folder; empty without a folder."""
    if folder is None:
        return BmadSettings({}, {}, ())
    if os.path.isfile(f"{folder}/{V4_CONFIG}"):
        return _read_v4(f"{folder}/{V4_CONFIG}")
    notes: list[Diagnostic] = []
    values = _toml_settings(folder, notes)
    shadowed: dict[str, Setting] = {}
    for module in ("bmm", "core"):
        for key, setting in _yaml_settings(f"{folder}/{module}/config.yaml", notes).items():
            first = values.setdefault(key, setting)
            is_second = first is not setting and module == "bmm" and first.file.endswith(".toml")
            if is_second and key in FOLDER_KEYS:
                shadowed[key] = setting
    return BmadSettings(values, shadowed, tuple(notes))


def merge_layers(layers: Iterable[Table]) -> Table:
    """BMAD's rule: scalars override, tables merge deeply, arrays of tables are matched by `code` or `id`,
    other arrays append."""
    merged: Table = {}
    for layer in layers:
        merged = cast(Table, _merge(merged, layer))
    return merged


def _merge(base: object, over: object) -> object:
    if isinstance(base, dict) and isinstance(over, dict):
        return {**base, **{key: _merge(base[key], value) if key in base else value for key, value in over.items()}}
    if isinstance(base, list) and isinstance(over, list):
        return _merge_arrays(base, over)
    return over


def _merge_arrays(base: list[object], over: list[object]) -> list[object]:
    name = _shared_key([*base, *over])
    if name is None:
        return [*base, *over]
    rows = {cast(Table, row)[name]: row for row in base}
    rows.update({cast(Table, row)[name]: row for row in over})
    return list(rows.values())


def _shared_key(rows: list[object]) -> str | None:
    tables = [row for row in rows if isinstance(row, dict)]
    if not rows or len(tables) < len(rows):
        return None
    return next((key for key in _MERGE_KEYS if all(isinstance(row.get(key), str) for row in tables)), None)


def _toml_settings(folder: str, notes: list[Diagnostic]) -> dict[str, Setting]:
    paths = [path for name in TOML_LAYERS if os.path.isfile(path := f"{folder}/{name}")]
    layers = [(path, read_toml(path)) for path in paths]
    merged = merge_layers(layer for _, layer in layers)
    values: dict[str, Setting] = {}
    for table in ("modules.bmm", "core"):
        for key, value in _descend(merged, table).items():
            if key not in _KEYS or key in values:
                continue
            source = next(path for path, layer in reversed(layers) if key in _descend(layer, table))
            _add_setting(values, key, value, Setting("", source, table, key), notes)
    return values


def _descend(data: Table, table: str) -> Table:
    inner: object = data
    for part in table.split("."):
        inner = inner.get(part) if isinstance(inner, dict) else None
    return inner if isinstance(inner, dict) else {}


def _yaml_settings(path: str, notes: list[Diagnostic]) -> dict[str, Setting]:
    if not os.path.lexists(path):
        return {}
    data = yaml_reader.load_yaml(read_text(path))
    values: dict[str, Setting] = {}
    if isinstance(data, dict):
        for key in _KEYS:
            if data.get(key) is not None:
                _add_setting(values, key, data[key], Setting("", path, "", key), notes)
    elif data is not None:
        raise FileError("is not a list of settings", location=Location(path, 1), expected="`key: value` lines")
    return values


def _add_setting(
    values: dict[str, Setting], key: str, value: object, setting: Setting, notes: list[Diagnostic]
) -> None:
    if isinstance(value, str) and value.strip():
        values[key] = setting._replace(value=value.strip())
    elif value != "":
        found = type(value).__name__
        wanted = "language" if key == LANGUAGE else "folder"
        message = f"`{setting.key}` must be a {wanted}, and is ignored: found a {found}"
        notes.append(Diagnostic(Severity.WARNING, "wrong-type", message, setting.location))


def _read_v4(path: str) -> BmadSettings:
    data = yaml_reader.load_yaml(read_text(path))
    values: dict[str, Setting] = {}
    notes: list[Diagnostic] = []
    if isinstance(data, dict):
        for theirs, ours in _V4_KEYS.items():
            if data.get(theirs) is not None:
                _add_setting(values, ours, data[theirs], Setting("", path, "", theirs), notes)
        prd = data.get("prd")
        document = prd.get("prdFile") if isinstance(prd, dict) else None
        if isinstance(document, str):
            folder = document.replace("\\", "/").rpartition("/")[0] or "."
            values["planning_artifacts"] = Setting(folder, path, "", "prdFile")
    return BmadSettings(values, {}, tuple(notes))
