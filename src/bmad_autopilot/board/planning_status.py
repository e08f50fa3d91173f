"""What bmm-workflow-status.yaml says of the planning documents, as far as the folder bears it out."""

import os
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import FileError, Place
from ..files import read_text
from ..project.folders import Folders
from ..project.paths import resolve
from ..project.traces import OUTPUT_FOLDER
from .planning_names import left_by
from .workflow_status import State, Workflow, read_workflow_status

STATUS_NAME = "bmm-workflow-status.yaml"


class Said(NamedTuple):
    file: str | None = None
    done: tuple[tuple[str, str], ...] = ()  # a document's name and the path of a file that is there
    skipped: frozenset[str] = frozenset()
    others: frozenset[str] = frozenset()  # files that a workflow made which leaves no planning document
    notes: tuple[Diagnostic, ...] = ()


def read_said(folders: Folders) -> Said:
    base = folders.base
    places = (folders.planning, folders.output, f"{base}/docs", f"{base}/{OUTPUT_FOLDER}", base)
    file = next((path for place in places if os.path.isfile(path := f"{place}/{STATUS_NAME}")), None)
    if file is None:
        return Said()
    try:
        status = read_workflow_status(read_text(file))
    except FileError as error:
        place = error.place or Place(file)
        message = f"{error.message}; it is left out"
        return Said(file, notes=(Diagnostic(Severity.WARNING, "bad-workflow-status", message, place, error.hint),))
    notes = list(status.diagnostics)
    done: list[tuple[str, str]] = []
    states: dict[str, set[State]] = {}
    others: set[str] = set()
    for one in status.workflows:
        name = left_by(one.id)
        left = _there(one, base, file, notes)
        if name is None:
            others.update((left,) if left else ())
            continue
        states.setdefault(name, set()).add(one.state)
        if left is not None:
            done.append((name, left))
    # In a monorepo every component has a say.
    skipped = frozenset(name for name, said in states.items() if said == {State.SKIPPED})
    return Said(file, tuple(done), skipped, frozenset(others), tuple(notes))


def _there(one: Workflow, base: str, file: str, notes: list[Diagnostic]) -> str | None:
    """The file it names; a folder counts by its first Markdown file."""
    if one.state is not State.DONE or one.path is None:
        return None
    path = resolve(one.path, base).path
    if path is not None and os.path.isdir(path):
        path = _first_file(path)
    if path is not None and os.path.isfile(path) and os.path.getsize(path):
        return path
    message = f"{one.id} is done by this file, but {one.path[:100]!r} is not there"
    hint = "put that file back, or correct this line"
    notes.append(Diagnostic(Severity.WARNING, "planned-file-missing", message, Place(file, one.line), hint))
    return None


def _first_file(folder: str) -> str | None:
    try:
        names = sorted(name for name in os.listdir(folder) if name.lower().endswith(".md"))
    except OSError:
        return None
    return os.path.join(folder, names[0]) if names else None
