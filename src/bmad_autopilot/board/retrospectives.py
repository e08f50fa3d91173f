"""What a retrospective came to: the verdict in the front matter of `epic-3-retro-2026-01-31.md`."""

import os
import re

from ..core.errors import FileError
from ..core.keys import number_of
from ..files import read_text
from .front_matter import read_front_matter, text_field

_NAME = re.compile(r"epic-(?P<epic>[\w.-]+?)-retro(?:spective)?\b.*\.md", re.IGNORECASE)
_VERDICTS = ("accepted", "accepted-with-open-items", "rejected")


def retrospective_verdict(folder: str, epic: str) -> str:
    """Of this epic's newest file; empty where there is none, or it says something else."""
    try:
        names = [name for name in os.listdir(folder) if (found := _NAME.fullmatch(name)) and _is_of(found, epic)]
        newest = max((os.path.join(folder, name) for name in names), key=os.path.getmtime, default=None)
        fields = read_front_matter(read_text(newest), []) if newest else {}
    except (OSError, FileError):
        return ""
    said = (text_field(fields, "verdict") or "").lower()
    return said if said in _VERDICTS else ""


def _is_of(found: re.Match[str], epic: str) -> bool:
    return number_of(found["epic"]) == epic
