"""Renders the settings schema: the commented file that `bmad init` writes, and the table of the documentation."""

import json

from .config import Commands
from .config_schema import AMOUNT, KEYS, LIST, TABLE_ARRAYS, TABLES, TEXT, USER_TABLES, ConfigKey

_HEAD = """\
# BMAD Autopilot: settings of this project. Commit this file.
# Everything works without it. A line such as `# name = value` shows the default, unless its comment calls it an
# example: such a key has no default.
"""
_SAMPLES = {TEXT: "…", LIST: ["…"], AMOUNT: 20.0}


def render_config(detected: Commands) -> str:
    """Render a file with every key: the detected commands are set, the others are comments with the default."""
    lines = [_HEAD]
    for table in TABLES:
        if table:
            # Readers of the file would treat an uncommented table as an entry of the user.
            own = table in (*USER_TABLES, *USER_TABLES.values())
            lines += ["", f"# [[{table}]]" if table in TABLE_ARRAYS else f"# [{table}]" if own else f"[{table}]"]
        for key in KEYS:
            if key.table == table:
                lines += _render_key(key, getattr(detected, key.name) if table == "commands" else None)
    return "\n".join(lines) + "\n"


def _render_key(key: ConfigKey, value: object) -> list[str]:
    lines = [f"# {key.doc}{_allowed_values(key)}"]
    if value:
        return [*lines, f"{key.name} = {_toml(value)}"]
    if key.default is not None:
        # The default applies to each table that the user adds.
        note = f"   # default of each [{key.table}]" if key.table in USER_TABLES.values() else ""
        return [*lines, f"# {key.name} = {_toml(key.default)}{note}"]
    sample = key.allowed[1] if key.allowed else _SAMPLES[key.type]
    return [*lines, f"# {key.name} = {_toml(sample)}   # {_unset_note(key)}"]


def _unset_note(key: ConfigKey) -> str:
    """The note on a key without a default."""
    if key.table in (*USER_TABLES, *USER_TABLES.values(), *TABLE_ARRAYS):
        return f"example of an entry in [{key.table}]"
    if key.table == "commands" and key.type == LIST:
        return "example; detected by default"
    if key.type == AMOUNT:
        return "example; no limit by default"
    return "example; unset by default"


def _allowed_values(key: ConfigKey) -> str:
    own = f", or your own [{key.refers_to}.NAME]" if key.refers_to and key.allowed else ""
    if key.allowed:
        return f" One of: {', '.join(key.allowed)}{own}."
    if key.refers_to:
        return f" The name of a [{key.refers_to}.NAME]."
    least = f"Above {key.least}, up" if key.type == AMOUNT else f"From {key.least}"
    return f" {least} to {key.most}." if key.most else ""


def _toml(value: object) -> str:
    """JSON strings, numbers and lists are valid TOML."""
    return json.dumps(value, ensure_ascii=False)


def render_table() -> str:
    """The table in docs/configuration.md."""
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key in KEYS:
        default = "unset" if key.default is None else f"`{_toml(key.default)}`"
        rows.append(f"| `{key.full_name}` | {key.type} | {default} | {key.doc}{_allowed_values(key)} |")
    return "\n".join(rows) + "\n"
