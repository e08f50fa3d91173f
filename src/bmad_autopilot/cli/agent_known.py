"""The agents there are, known ones and the project's own: installed or not, who uses them, parked or not."""

import os
import shutil
import time
from collections.abc import Iterable

import click

from ..agents.limits import limits_file, limits_folder, read_parked
from ..agents.packages import PACKAGES
from ..agents.registry import PROGRAMS
from ..project.config import ROLES, Config, load_config
from ..project.custom import CustomAgent
from ..project.programs import Answer, Question, ask_all, find_program
from ..project.root import Root, find_root
from ..views.agents import KnownAgent
from .checks.tools import said


def known_agents(root: Root, config: Config, *, in_project: bool) -> list[KnownAgent]:
    """Ours first, then the project's. Outside a project nobody uses any."""
    answers = _versions(PROGRAMS, root.checkout)
    roles = {name: roles_of(config, name) if in_project else () for name in (*PROGRAMS, *config.agents)}
    ours = [_known(name, answers.get(name), roles[name]) for name in PROGRAMS]
    return [*ours, *(_own(name, config.agents[name], root.checkout, roles[name]) for name in config.agents)]


def one_agent(name: str, root: Root, config: Config) -> KnownAgent:
    if name in config.agents:
        return _own(name, config.agents[name], root.checkout, roles_of(config, name))
    return _known(name, _versions([name], root.checkout).get(name), roles_of(config, name))


def _versions(names: Iterable[str], folder: str) -> dict[str, Answer]:
    return ask_all({name: Question((PROGRAMS[name], "--version")) for name in names}, folder)


def roles_of(config: Config, agent: str) -> tuple[str, ...]:
    return tuple(role for role in ROLES if config.agent_of(role) == agent)


def _program(settings: CustomAgent, folder: str) -> tuple[str, str | None]:
    """A command's program as the project writes it, and where that is. It is not started: it may do anything."""
    program = "sh" if settings.shell else settings.command[0]
    if os.sep in program:
        return program, shutil.which(os.path.join(folder, program))
    return program, find_program(program)


def _known(name: str, answer: Answer | None, roles: tuple[str, ...]) -> KnownAgent:
    return KnownAgent(
        name,
        PROGRAMS[name],
        is_own=False,
        version=said(answer) if answer is not None and answer.ok else None,
        problem="not installed" if answer is None else None if answer.ok else said(answer),
        roles=roles,
        parked=parked_until(name),
        install=PACKAGES[name].install if answer is None else None,
    )


def _own(name: str, settings: CustomAgent, folder: str, roles: tuple[str, ...]) -> KnownAgent:
    program, found = _program(settings, folder)
    return KnownAgent(
        name,
        program,
        is_own=True,
        version=None,
        problem=None if found else f"{program} not found",
        roles=roles,
        parked=parked_until(name),
        install=None,
    )


def parked_until(name: str) -> tuple[str, float] | None:
    """The kind of the limit its account has met, and until when."""
    path = limits_file(limits_folder(os.environ), name, os.environ)
    parked = read_parked(path, time.time()).parked
    return (parked.kind, parked.until) if parked else None


def complete_agent(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    return [name for name in _names(ctx) if name.startswith(incomplete)]


def _names(ctx: click.Context) -> list[str]:
    start = ctx.find_root().params.get("project") or "."
    try:
        own = load_config(find_root(start)).agents
    except Exception:  # whatever it is, a person pressing TAB must not see it
        own = {}
    return [*PROGRAMS, *own]
