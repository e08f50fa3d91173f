"""bmad-help.csv: what BMAD's own help knows of its workflows. We take where each leaves what it makes.

Two sets of columns are in use: `skill` since 6.3, `command` and `workflow-file` before."""

import csv
from typing import NamedTuple

from ..core.errors import FileError
from ..files import read_text

MAX_HELP = 1024 * 1024
MAX_ROWS = 2000
_FILES = ("_config/bmad-help.csv", "_cfg/bmad-help.csv")


class HelpRow(NamedTuple):
    workflow: str  # `bmad-prd`, `bmad-bmm-create-prd`
    locations: tuple[str, ...]  # as written: `planning_artifacts`, `{output_folder}/brainstorming`


def read_help(bmad_folder: str | None) -> tuple[HelpRow, ...]:
    """Every workflow with an output. Nothing where the file is missing or is no such table."""
    for name in _FILES if bmad_folder else ():
        try:
            text = read_text(f"{bmad_folder}/{name}", limit=MAX_HELP).text
        except FileError:
            continue
        return tuple(_rows(text))
    return ()


def _rows(text: str) -> list[HelpRow]:
    found = []
    try:
        for row, _ in zip(csv.DictReader(text.splitlines()), range(MAX_ROWS), strict=False):
            workflow = row.get("skill") or row.get("command") or ""
            places = (row.get("output-location") or "").split("|")
            locations = tuple(place.strip() for place in places if place.strip())
            if workflow and not workflow.startswith("_") and locations:
                found.append(HelpRow(workflow, locations))
    except csv.Error:  # a field without end, a NUL
        pass
    return found
