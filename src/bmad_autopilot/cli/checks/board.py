"""The project's own files: settings, folders, the board, its lock and what a crash may have left beside it."""

import os
import re
import shlex

from ...board.sprint import read_board
from ...core.diagnostics import Diagnostic, Severity
from ...core.errors import EXIT_UNREADABLE, AutopilotError
from ...core.statuses import Kind
from ...files import is_locked
from ...project.bmad import Era
from ...project.folders import Found
from ...project.open import Project
from ...project.traces import CONFIG_NAME
from ...views.doctor import Check, State
from ..facts import shown_path

_STATES = {Severity.ERROR: State.FAIL, Severity.WARNING: State.WARN, Severity.NOTE: State.NOTE}
_TEMPORARY = re.compile(r"\..+\.\d+\.[0-9a-f]{8}\.(?:bmad-)?tmp")
MAX_ENTRIES = 20_000


def failure(name: str, error: AutopilotError, project: Project | None = None) -> Check:
    """An error as a line: where, what, and what helps."""
    place = error.place
    if place is not None and project is not None:
        place = place._replace(file=shown_path(project, place.file))
    parts = [f"{place}: {error.message}" if place else error.message]
    parts += [f"{label} {text}" for label, text in (("found", error.found), ("expected", error.expected)) if text]
    fix = error.hint or (f"edit {place}" if place else "bmad board check")
    return Check(name, State.FAIL, ", ".join(parts), fix, error.exit_code == EXIT_UNREADABLE)


def check_config(project: Project) -> Check:
    if project.config.path is None:
        fix = None if project.bmad.tickets else "bmad init"
        return Check("config", State.NOTE, f"no {CONFIG_NAME}: defaults are used", fix)
    return Check("config", State.OK, shown_path(project, project.config.path))


def check_commands(project: Project) -> Check:
    """The project's own checks, as a run would take them."""
    from ...engine.policy import checks_of

    found = checks_of(project)
    if found:
        return Check("checks", State.OK, ", ".join(found))
    fix = f"set `test` under [commands] in {CONFIG_NAME}"
    return Check("checks", State.NOTE, "no check commands found: work is merged on the review alone", fix)


def check_folders(project: Project) -> list[Check]:
    folders = project.folders
    if project.bmad.era is Era.TICKETS:
        return []  # BMAD 7 has neither of them
    checks = []
    for name, path, maker in (
        ("planning", folders.planning, "plan with BMAD's create-epics-and-stories"),
        ("implementation", folders.implementation, "start with BMAD's sprint-planning"),
    ):
        shown = shown_path(project, path)
        if os.path.isdir(path):
            checks.append(Check(f"{name} folder", State.OK, shown))
        else:
            what = "is no folder" if os.path.lexists(path) else "is not there yet"
            checks.append(Check(f"{name} folder", State.WARN, f"{shown} {what}", maker))
    return checks


def check_board(project: Project) -> Check:
    try:
        path = project.require_board()
        board = read_board(path)
    except AutopilotError as error:
        if project.bmad.era is Era.TICKETS:
            return Check("board", State.WARN, "none that this version can read", error.hint)
        if project.folders.found is Found.NONE:  # nothing is planned yet
            return Check("board", State.WARN, "none yet", error.hint)
        return failure("board", error, project)
    except OSError as error:
        fix = f"look at {shlex.quote(str(error.filename))}"
        return Check("board", State.FAIL, f"cannot be read: {error.strerror}", fix, unreadable=True)
    stories, epics = (len(board.of_kind(kind)) for kind in (Kind.STORY, Kind.EPIC))
    found = f"{shown_path(project, path)}: {stories} stories in {epics} epics"
    return Check("board", State.OK, found)


def check_locks(project: Project) -> list[Check]:
    path = os.path.join(project.state_folder, "board.lock")
    if is_locked(path):
        found = f"another process holds {path}"
        return [Check("board lock", State.WARN, found, f"fuser -v {shlex.quote(path)}")]
    free = Check("board lock", State.OK, "free")
    left = _leftovers(project.folders.board)
    if not left:
        return [free]
    found = f"left by a writer that did not end: {', '.join(os.path.basename(name) for name in left[:5])}"
    board = project.folders.board or ""
    fix = f"see whether it holds an edit that is missing: diff {shlex.quote(left[0])} {shlex.quote(board)}"
    return [free, Check("temporary files", State.WARN, found, fix)]


def _leftovers(board: str | None) -> list[str]:
    """Half-written boards: `.sprint-status.yaml.<pid>.<random>.tmp`."""
    if board is None:
        return []
    folder, name = os.path.split(os.path.realpath(board))
    found = []
    try:
        with os.scandir(folder) as entries:
            for entry, _ in zip(entries, range(MAX_ENTRIES), strict=False):
                if entry.name.startswith(f".{name}.") and _TEMPORARY.fullmatch(entry.name):
                    found.append(entry.path)
    except OSError:
        return []
    return sorted(found)


def check_diagnostics(project: Project) -> list[Check]:
    return [_noticed(project, item) for item in project.diagnostics]


def _noticed(project: Project, item: Diagnostic) -> Check:
    place = item.place._replace(file=shown_path(project, item.place.file))
    return Check(item.code, _STATES[item.severity], f"{place}: {item.message}", item.hint or f"edit {place}")
