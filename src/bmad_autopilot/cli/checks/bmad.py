"""BMAD itself, and the skills that the workflow's steps call."""

import shlex
from typing import NamedTuple

from ...agents.packages import PACKAGES
from ...core.errors import AutopilotError
from ...project.bmad import Era
from ...project.open import Project
from ...project.skills import Skill
from ...project.traces import CONFIG_NAME
from ...views.doctor import Check, State
from ...workflows.pipelines import Workflow
from ..facts import shown_path

# Since 6.12 they come with --shims only.
_SHIMS = ("create-story", "dev-story", "validate")


class Called(NamedTuple):
    """A skill some step calls through an agent."""

    agent: str
    name: str
    skill: Skill | None


def check_bmad(project: Project) -> Check:
    bmad = project.bmad
    try:
        bmad.require_supported()
    except AutopilotError as error:
        place = shown_path(project, error.place.file) if error.place else ""
        return Check("BMAD", State.FAIL, f"{place}: {error.message}", error.hint)
    if bmad.era is Era.NONE:
        return Check("BMAD", State.FAIL, f"not installed in {project.root.path}", _install(project))
    folder = shown_path(project, bmad.folder) if bmad.folder else "in the home folder"
    found = f"{bmad.version or 'version unknown'}, {bmad.era.value} era, {folder}"
    if bmad.era is Era.V4:
        return Check("BMAD", State.FAIL, f"{found}: it has no board to work from", _install(project))
    return Check("BMAD", State.OK, found)


def _install(project: Project) -> str:
    tool = _tool(project, project.config.agent)
    folder = shlex.quote(project.root.path)
    return f"npx bmad-method install --directory {folder} --modules bmm --tools {tool} --user-name YOU --yes"


def _tool(project: Project, agent: str) -> str:
    return PACKAGES[project.config.client_of(agent)].tool


def skills_called(project: Project, workflow: Workflow) -> list[Called]:
    config = project.config
    pairs = dict.fromkeys(
        (agent, step.skill) for step in workflow.steps if step.skill for agent in config.agents_of(step.role)
    )
    return [Called(agent, name, project.find_skill(agent, name)) for agent, name in pairs]


def check_skills(project: Project, workflow: Workflow, called: list[Called]) -> list[Check]:
    if project.bmad.era in (Era.NONE, Era.V4) or project.bmad.tickets:
        return []  # one line about BMAD says it
    return [_skill(project, workflow, item) for item in called]


def _skill(project: Project, workflow: Workflow, called: Called) -> Check:
    name = f"skill {called.name}"
    skill = called.skill
    if skill is None:
        found = f"not installed for {called.agent}, and the {workflow.name} workflow calls it"
        return Check(name, State.FAIL, found, _get(project, called))
    if not skill.usable:
        found = f"{shown_path(project, skill.path)} only forwards to another skill, or cannot be read"
        return Check(name, State.FAIL, found, _get(project, called))
    return Check(name, State.OK, f"{called.agent}: {skill.invocation}")


def _get(project: Project, called: Called) -> str:
    """An update with --tools takes away the tools it does not name, so other agents are added by the menu."""
    install = f"npx bmad-method install --directory {shlex.quote(project.root.path)}"
    agent_has_some = any(project.find_skill(called.agent, name) for name in ("code-review", "build-auto", "help"))
    if not agent_has_some:
        return f"{install}, and add {_tool(project, called.agent)} to its tools"
    if called.name not in _SHIMS:
        return f"{install} --yes"
    fix = f"{install} --shims --yes"
    return f'{fix}\nor: workflow = "build" in {CONFIG_NAME}' if project.bmad.has_build else fix
