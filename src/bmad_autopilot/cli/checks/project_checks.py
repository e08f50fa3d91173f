"""Checks of the project: BMAD, skills, settings, folders, the board and its lock."""

import os
import re
import shlex
from typing import NamedTuple

from ...agents.registry import PACKAGES
from ...board.sprint_status import read_board
from ...core.errors import EXIT_UNREADABLE, AutopilotError, Diagnostic, Severity
from ...core.statuses import RowKind
from ...io.files import is_locked
from ...project.bmad_install import Era
from ...project.folders import BoardOrigin
from ...project.project import Project
from ...project.root import CONFIG_NAME
from ...project.skills import Skill
from ...views.doctor import CheckState, DoctorCheck
from ...workflows.workflow import Workflow
from ..context import display_path

# Since BMAD 6.12 these are installed with --shims only.
_SHIMS = ("create-story", "dev-story", "validate")


class CalledSkill(NamedTuple):
    """A skill that a step calls through an agent."""

    agent: str
    name: str
    skill: Skill | None


def check_bmad(project: Project) -> DoctorCheck:
    bmad = project.bmad
    try:
        bmad.require_supported()
    except AutopilotError as error:
        place = display_path(project, error.location.file) if error.location else ""
        return DoctorCheck("BMAD", CheckState.FAIL, f"{place}: {error.message}", error.hint)
    if bmad.era is Era.NONE:
        return DoctorCheck("BMAD", CheckState.FAIL, f"not installed in {project.root.path}", _install(project))
    folder = display_path(project, bmad.folder) if bmad.folder else "in the home folder"
    found = f"{bmad.version or 'version unknown'}, {bmad.era.value} era, {folder}"
    if bmad.era is Era.V4:
        return DoctorCheck("BMAD", CheckState.FAIL, f"{found}: it has no board to work from", _install(project))
    return DoctorCheck("BMAD", CheckState.OK, found)


def _install(project: Project) -> str:
    tool = _tool(project, project.config.agent)
    folder = shlex.quote(project.root.path)
    return f"npx bmad-method install --directory {folder} --modules bmm --tools {tool} --user-name YOU --yes"


def _tool(project: Project, agent: str) -> str:
    return PACKAGES[project.config.client_of(agent)].installer_id


def skills_called(project: Project, workflow: Workflow) -> list[CalledSkill]:
    config = project.config
    pairs = dict.fromkeys(
        (agent, step.skill) for step in workflow.steps if step.skill for agent in config.agents_of(step.role)
    )
    return [CalledSkill(agent, name, project.find_skill(agent, name)) for agent, name in pairs]


def check_skills(project: Project, workflow: Workflow, called: list[CalledSkill]) -> list[DoctorCheck]:
    if project.bmad.era in (Era.NONE, Era.V4) or project.bmad.tickets:
        return []  # covered by the BMAD check
    return [_skill(project, workflow, item) for item in called]


def _skill(project: Project, workflow: Workflow, called: CalledSkill) -> DoctorCheck:
    name = f"skill {called.name}"
    skill = called.skill
    if skill is None:
        found = f"not installed for {called.agent}, and the {workflow.name} workflow calls it"
        return DoctorCheck(name, CheckState.FAIL, found, _install_fix(project, called))
    if not skill.is_usable:
        found = f"{display_path(project, skill.path)} only forwards to another skill, or cannot be read"
        return DoctorCheck(name, CheckState.FAIL, found, _install_fix(project, called))
    return DoctorCheck(name, CheckState.OK, f"{called.agent}: {skill.invocation}")


def _install_fix(project: Project, called: CalledSkill) -> str:
    """The install command. --tools would remove tools it does not name, so agents are added in the menu."""
    install = f"npx bmad-method install --directory {shlex.quote(project.root.path)}"
    agent_has_some = any(project.find_skill(called.agent, name) for name in ("code-review", "build-auto", "help"))
    if not agent_has_some:
        return f"{install}, and add {_tool(project, called.agent)} to its tools"
    if called.name not in _SHIMS:
        return f"{install} --yes"
    fix = f"{install} --shims --yes"
    return f'{fix}\nor: workflow = "build" in {CONFIG_NAME}' if project.bmad.has_build else fix


# The project's files: settings, folders, the board, its lock and leftovers of a crash.

_STATES = {Severity.ERROR: CheckState.FAIL, Severity.WARNING: CheckState.WARN, Severity.NOTE: CheckState.NOTE}
_TEMPORARY = re.compile(r"\..+\.\d+\.[0-9a-f]{8}\.(?:bmad-)?tmp")
MAX_ENTRIES = 20_000


def failed_check(name: str, error: AutopilotError, project: Project | None = None) -> DoctorCheck:
    """An error as a failed check: location, message and fix."""
    place = error.location
    if place is not None and project is not None:
        place = place._replace(file=display_path(project, place.file))
    parts = [f"{place}: {error.message}" if place else error.message]
    parts += [f"{label} {text}" for label, text in (("found", error.found), ("expected", error.expected)) if text]
    fix = error.hint or (f"edit {place}" if place else "bmad board check")
    return DoctorCheck(name, CheckState.FAIL, ", ".join(parts), fix, error.exit_code == EXIT_UNREADABLE)


def check_config(project: Project) -> DoctorCheck:
    if project.config.path is None:
        fix = None if project.bmad.tickets else "bmad init"
        return DoctorCheck("config", CheckState.NOTE, f"no {CONFIG_NAME}: defaults are used", fix)
    return DoctorCheck("config", CheckState.OK, display_path(project, project.config.path))


def check_commands(project: Project) -> DoctorCheck:
    """The project's check commands, as a run would use them."""
    from ...engine.policy import check_commands

    found = check_commands(project)
    if found:
        return DoctorCheck("checks", CheckState.OK, ", ".join(found))
    fix = f"set `test` under [commands] in {CONFIG_NAME}"
    return DoctorCheck(
        "checks", CheckState.NOTE, "no check commands found: work is merged on the review alone", fix
    )


def check_folders(project: Project) -> list[DoctorCheck]:
    folders = project.folders
    if project.bmad.era is Era.TICKETS:
        return []  # BMAD 7 has neither folder
    checks = []
    for name, path, maker in (
        ("planning", folders.planning, "plan with BMAD's create-epics-and-stories"),
        ("implementation", folders.implementation, "start with BMAD's sprint-planning"),
    ):
        shown = display_path(project, path)
        if os.path.isdir(path):
            checks.append(DoctorCheck(f"{name} folder", CheckState.OK, shown))
        else:
            what = "is no folder" if os.path.lexists(path) else "is not there yet"
            checks.append(DoctorCheck(f"{name} folder", CheckState.WARN, f"{shown} {what}", maker))
    return checks


def check_board(project: Project) -> DoctorCheck:
    try:
        path = project.require_board()
        board = read_board(path)
    except AutopilotError as error:
        if project.bmad.era is Era.TICKETS:
            return DoctorCheck("board", CheckState.WARN, "none that this version can read", error.hint)
        if project.folders.board_origin is BoardOrigin.NONE:  # no planning yet
            return DoctorCheck("board", CheckState.WARN, "none yet", error.hint)
        return failed_check("board", error, project)
    except OSError as error:
        fix = f"look at {shlex.quote(str(error.filename))}"
        return DoctorCheck("board", CheckState.FAIL, f"cannot be read: {error.strerror}", fix, unreadable=True)
    stories, epics = (len(board.of_kind(kind)) for kind in (RowKind.STORY, RowKind.EPIC))
    found = f"{display_path(project, path)}: {stories} stories in {epics} epics"
    return DoctorCheck("board", CheckState.OK, found)


def check_locks(project: Project) -> list[DoctorCheck]:
    path = os.path.join(project.state_folder, "board.lock")
    if is_locked(path):
        found = f"another process holds {path}"
        return [DoctorCheck("board lock", CheckState.WARN, found, f"fuser -v {shlex.quote(path)}")]
    free = DoctorCheck("board lock", CheckState.OK, "free")
    left = _leftovers(project.folders.board)
    if not left:
        return [free]
    found = f"left by a writer that did not end: {', '.join(os.path.basename(name) for name in left[:5])}"
    board = project.folders.board or ""
    fix = f"see whether it holds an edit that is missing: diff {shlex.quote(left[0])} {shlex.quote(board)}"
    return [free, DoctorCheck("temporary files", CheckState.WARN, found, fix)]


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


def check_diagnostics(project: Project) -> list[DoctorCheck]:
    return [_diagnostic_check(project, item) for item in project.diagnostics]


def _diagnostic_check(project: Project, item: Diagnostic) -> DoctorCheck:
    place = item.location._replace(file=display_path(project, item.location.file))
    return DoctorCheck(item.code, _STATES[item.severity], f"{place}: {item.message}", item.hint or f"edit {place}")
