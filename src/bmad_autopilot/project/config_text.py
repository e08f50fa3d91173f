"""The table of settings as text: the commented file `bmad init` writes, and the table of the documentation."""

import json

from .config import Commands
from .schema import AMOUNT, ARRAYS, KEYS, LIST, OPEN, TABLES, TEXT, Key

_HEAD = """\
# BMAD Autopilot: settings of this project. Commit this file.
# Everything works without it. A line such as `# name = value` shows the default, unless its comment calls it an
# example: such a key has no default.
"""
_SAMPLES = {TEXT: "…", LIST: ["…"], AMOUNT: 20.0}


def render_config(detected: Commands) -> str:
    """A file with every key: the detected commands set, all others as comments that show the default."""
    lines = [_HEAD]
    for table in TABLES:
        if table:
            # An empty table of the user's own names would be looked into by everything that reads the file.
            own = table in (*OPEN, *OPEN.values())
            lines += ["", f"# [[{table}]]" if table in ARRAYS else f"# [{table}]" if own else f"[{table}]"]
        for key in KEYS:
            if key.table == table:
                lines += _entry(key, getattr(detected, key.name) if table == "commands" else None)
    return "\n".join(lines) + "\n"


def _entry(key: Key, value: object) -> list[str]:
    lines = [f"# {key.doc}{_choice(key)}"]
    if value:
        return [*lines, f"{key.name} = {_toml(value)}"]
    if key.default is not None:
        # The key of a table that is not there has no effect: its default belongs to each table the user adds.
        note = f"   # default of each [{key.table}]" if key.table in OPEN.values() else ""
        return [*lines, f"# {key.name} = {_toml(key.default)}{note}"]
    sample = key.allowed[1] if key.allowed else _SAMPLES[key.type]
    return [*lines, f"# {key.name} = {_toml(sample)}   # {_unset(key)}"]


def _unset(key: Key) -> str:
    """What holds while a key without a default is not set."""
    if key.table in (*OPEN, *OPEN.values(), *ARRAYS):
        return f"example of an entry in [{key.table}]"
    if key.table == "commands" and key.type == LIST:
        return "example; detected by default"
    if key.type == AMOUNT:
        return "example; no limit by default"
    return "example; unset by default"


def _choice(key: Key) -> str:
    own = f", or your own [{key.refers}.NAME]" if key.refers and key.allowed else ""
    if key.allowed:
        return f" One of: {', '.join(key.allowed)}{own}."
    if key.refers:
        return f" The name of a [{key.refers}.NAME]."
    least = f"Above {key.least}, up" if key.type == AMOUNT else f"From {key.least}"
    return f" {least} to {key.most}." if key.most else ""


def _toml(value: object) -> str:
    """JSON's texts, numbers and lists are TOML's too."""
    return json.dumps(value, ensure_ascii=False)


def render_table() -> str:
    """The table in docs/configuration.md."""
    rows = ["| key | type | default | meaning |", "|---|---|---|---|"]
    for key in KEYS:
        default = "unset" if key.default is None else f"`{_toml(key.default)}`"
        rows.append(f"| `{key.full_name}` | {key.type} | {default} | {key.doc}{_choice(key)} |")
    return "\n".join(rows) + "\n"
