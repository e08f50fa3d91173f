"""Reads TOML files with tomllib, which is imported only where there is a file to read."""

from typing import TypeAlias

from ..core.errors import FileError, Location
from .files import TextFile, read_text

Table: TypeAlias = dict[str, object]

MAX_TOML = 4 * 1024 * 1024


def read_toml(path: str) -> Table:
    return load_toml(read_text(path, limit=MAX_TOML))


def load_toml(text: TextFile) -> Table:
    """Parse the file; raises FileError with line and column."""
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
