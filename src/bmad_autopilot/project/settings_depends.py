"""The table [depends]: which epics wait for which others, as the project says it itself."""

import re

from ..core.errors import FileError, Place
from ..core.keys import number_of
from ..files import Text, read_text
from .config import Config
from .settings_errors import refusal, shown
from .toml import MAX_TOML, line_of

TABLE = "depends"
MAX_EPICS = 1000

_EPIC = re.compile(r"(?:epic[-_ ]?)?([a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?)", re.IGNORECASE)


def with_depends(text: Text, config: Config) -> Config:
    """Epics by number, whether somebody wrote `2.5`, `2-5` or `epic-2-5`; else a FileError with the line."""
    if len(config.depends) > MAX_EPICS:
        found = f"{len(config.depends)} epics"
        raise refusal(text, TABLE, f"too much in `{TABLE}`", f"at most {MAX_EPICS} epics", found)
    numbers: dict[str, tuple[str, ...]] = {}
    for name, ons in config.depends.items():
        number = _number(text, name, name)
        if number in numbers:
            raise _refusal(text, name, f"`{TABLE}` names an epic twice", "", shown(name))
        numbers[number] = tuple(dict.fromkeys(_number(text, name, on) for on in ons))
    return config._replace(depends=numbers)


def place_of(config: Config, epic: str) -> Place:
    """Where the settings say what this epic waits for; without a line where they lie in a commit."""
    path = config.path or ""
    try:
        return Place(path, _line(read_text(path, limit=MAX_TOML).text, epic))
    except FileError:
        return Place(path)


def _number(text: Text, name: str, epic: str) -> str:
    number = _read(epic)
    if not number:
        expected = '"3" = ["1", "2.5"]'
        raise _refusal(text, name, f"`{TABLE}` holds what is no epic's number", expected, shown(epic))
    return number


def _read(epic: str) -> str:
    match = _EPIC.fullmatch(epic.strip())
    return number_of(match[1]) if match else ""


def _refusal(text: Text, name: str, message: str, expected: str, found: str) -> FileError:
    error = refusal(text, TABLE, message, expected, found)
    error.place = Place(text.path, _line(text.text, name))
    return error


def _line(text: str, epic: str) -> int | None:
    """The last that sets it, else the table's own. For messages only, as toml.line_of."""
    here, found = "", None
    for number, line in enumerate(text.splitlines(), 1):
        head = re.match(r"\[\s*([^\[\]]+?)\s*\]", line.strip()[:500])
        name = re.match(r"""\s*["']?([^"'=]+?)["']?\s*=""", line[:500])
        if head is not None:
            here = head[1]
        elif name is not None and here == TABLE and (name[1] == epic or _read(name[1]) == _read(epic) != ""):
            found = number
    return found or line_of(text, "", TABLE)
