"""The folders in which planning documents are looked for."""

import os
from typing import NamedTuple

from ..project.bmad import Bmad, Era
from ..project.folders import Folders
from ..project.paths import resolve
from .bmad_help import read_help
from .planning_names import left_by


class Places(NamedTuple):
    own: tuple[str, ...]  # any document may lie here
    told: dict[str, set[str]]  # folders that only bmad-help.csv names, and for which documents


def find_places(folders: Folders, bmad: Bmad, knowledge: str | None, status_file: str | None) -> Places:
    own = [folders.planning, folders.output]
    if status_file is not None:
        own.append(os.path.dirname(status_file))
    if bmad.era is Era.V4:
        own.append(f"{folders.base}/docs")
    own = list(dict.fromkeys(root.rstrip("/") for root in own))
    # Settings that name the project itself would have us look through all of its sources.
    own = [root for root in own if root != folders.base] or own[:1]
    told: dict[str, set[str]] = {}
    for row in read_help(bmad.folder):
        name = left_by(row.workflow)
        for location in row.locations if name else ():
            folder = _folder(location, folders, knowledge or f"{folders.base}/docs")
            if name and folder and not any(f"{folder}/".startswith(f"{root}/") for root in own):
                told.setdefault(folder, set()).add(name)
    return Places(tuple(own), told)


def _folder(said: str, folders: Folders, knowledge: str) -> str | None:
    """`planning_artifacts`, `{planning_artifacts}/research`, `{output_folder}/brainstorming/x-{{date}}.md`."""
    known = {
        "planning_artifacts": folders.planning,
        "implementation_artifacts": folders.implementation,
        "output_folder": folders.output,
        "project_knowledge": knowledge,
    }
    if said.endswith(".md"):
        said = os.path.dirname(said)
    first, _, rest = said.partition("/")
    start = known.get(first.strip("{} ").replace("-", "_"))
    if start is not None:
        said = os.path.join(os.path.relpath(start, folders.base), rest)
    path = resolve(said, folders.base).path  # `repo root` and other prose lead to no folder
    return path.rstrip("/") if path and path != folders.base and os.path.isdir(path) else None
