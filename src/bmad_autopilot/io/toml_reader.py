"""Reads TOML files. A strict line scanner reads tables of plain values, which is all that BMAD's installer writes;
anything else goes to tomllib, whose import alone costs more than the scan."""

from typing import TypeAlias

from ..core.errors import FileError, Location
from .files import TextFile, read_text

Table: TypeAlias = dict[str, object]

MAX_TOML = 4 * 1024 * 1024

# Files with bare control characters go to tomllib, which rejects them.
_CONTROLS = [chr(code) for code in (*range(9), 11, 12, 13, *range(14, 32), 127)]


def read_toml(path: str) -> Table:
    return load_toml(read_text(path, limit=MAX_TOML))


def load_toml(text: TextFile) -> Table:
    """Parse the file; raises FileError with line and column."""
    data = scan_toml(text.text)
    return _parse(text) if data is None else data


def scan_toml(text: str) -> Table | None:
    """Read plain TOML; None if a real parser is needed. Uses no regular expressions: compiling them would take
    longer than the scan."""
    text = text.replace("\r\n", "\n")
    if any(control in text for control in _CONTROLS):
        return None
    top: Table = {}
    table: Table | None = top
    headers: set[str] = set()
    for raw in text.split("\n"):
        line = raw.strip(" \t")
        if not line or line[0] == "#":
            continue
        if line[0] == "[":
            header = line[1:-1]
            table = None if line[-1] != "]" or header in headers else _open_table(top, header)
            headers.add(header)
        elif not _assign(table, line):
            return None
        if table is None:
            return None
    return top


def _open_table(top: Table, header: str) -> Table | None:
    table = top
    for part in header.split("."):
        inner = table.setdefault(part, {}) if _is_bare(part) else None
        if not isinstance(inner, dict):
            return None
        table = inner
    return table


def _assign(table: Table | None, line: str) -> bool:
    key, _, value = line.partition("=")
    key = key.rstrip(" \t")
    if table is None or key in table or not _is_bare(key):
        return False
    read = _value(value.lstrip(" \t"))
    if read is None:
        return False
    table[key] = read
    return True


def _is_bare(key: str) -> bool:
    return key.isascii() and key.replace("-", "0").replace("_", "0").isalnum()


def _value(text: str) -> object:
    """A plain string, integer, boolean or list of plain strings; None for anything else."""
    if "\\" in text:
        return None
    if text[:1] == '"':
        return text[1:-1] if len(text) > 1 and text[-1] == '"' and text.count('"') == 2 else None
    if text in ("true", "false"):
        return text == "true"
    if text[:1] == "[" and text[-1:] == "]":
        return _text_list(text[1:-1])
    if text.isdigit() and text.isascii() and len(text) < 18 and (text[0] != "0" or text == "0"):
        return int(text)
    return None


def _text_list(inner: str) -> list[str] | None:
    parts = inner.split('"')
    outside = [part.strip(" \t") for part in parts[::2]]
    if len(parts) % 2 == 0 or outside[0] or outside[-1] or any(part != "," for part in outside[1:-1]):
        return None
    return parts[1::2]


def _parse(text: TextFile) -> Table:
    import re
    import tomllib

    try:
        return tomllib.loads(text.text)
    except tomllib.TOMLDecodeError as error:
        message, _, spot = str(error).partition(" (at ")
        at = re.match(r"line (\d+), column (\d+)", spot)
        location = (
            Location(text.path, int(at[1]), int(at[2])) if at else Location(text.path, text.text.count("\n") + 1)
        )
        raise FileError(f"is not valid TOML: {message}", location=location) from None
    except RecursionError:
        raise FileError("is nested too deeply", location=Location(text.path), hint="flatten it") from None


def find_line(text: str, table: str, key: str) -> int | None:
    """The line that sets `key` in `[table]` ("" for the top level), or the table's own line as a fallback. For
    messages only: a key inside a multi-line string is mistaken for a real one."""
    import re

    here, fallback = "", None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.strip()[:500]  # thousands of blanks would slow the patterns down
        header = re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]", line)
        if header:
            here = header[1].replace('"', "").replace("'", "").replace(" ", "")
            if f"{here}.".startswith(f"{table}.{key}." if table else f"{key}."):
                return number
            if here == table and fallback is None:
                fallback = number
            continue
        name = re.match(r"""\s*["']?([^"'=]+?)["']?\s*=""", line)
        if name and here == table and name[1].replace(" ", "").split(".")[0] == key:
            return number
        if name and f"{here}.{name[1]}".strip(".").replace(" ", "").startswith(f"{table}.{key}".strip(".")):
            fallback = fallback or number
    return fallback
