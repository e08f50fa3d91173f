"""The agent CLIs: those the project's steps call must be there, others are only mentioned."""

import os
import shutil

from ...agents.packages import PACKAGES
from ...agents.registry import PROGRAMS
from ...project.config import Config
from ...project.custom import CustomAgent
from ...project.open import Project
from ...project.programs import Answer, Question, find_program
from ...project.traces import CONFIG_NAME
from ...views.doctor import Check, State
from ...workflows.pipelines import Workflow
from .tools import said

QUESTIONS = {program: Question((program, "--version")) for program in PROGRAMS.values()}


def agents_needed(config: Config, workflow: Workflow) -> list[str]:
    """The agents that the chosen workflow's steps call, each once, and those that stand in for them."""
    steps = (*workflow.steps, workflow.fix)
    return list(dict.fromkeys(agent for step in steps for agent in config.agents_of(step.role)))


def check_agents(answers: dict[str, Answer], needed: list[str], project: Project) -> list[Check]:
    custom = project.config.agents
    here = [agent for agent, program in PROGRAMS.items() if program in answers and answers[program].ok]
    others = [agent for agent, program in PROGRAMS.items() if agent not in needed and program in answers]
    return [
        *(
            _own(agent, custom[agent], project.root.path)
            if agent in custom
            else _needed(agent, answers.get(PROGRAMS[agent]), here)
            for agent in needed
        ),
        *(Check(f"agent {agent}", State.NOTE, said(answers[PROGRAMS[agent]])) for agent in others),
    ]


def _own(agent: str, settings: CustomAgent, folder: str) -> Check:
    """A command of the project's own is not started here: it may do anything."""
    name = f"agent {agent}"
    program = "sh" if settings.shell else settings.command[0]
    found = shutil.which(os.path.join(folder, program)) if os.sep in program else find_program(program)
    if found is None:
        where = f"in {folder}" if os.sep in program else "on PATH"
        return Check(name, State.FAIL, f"{program} not found {where}", f"see [agents.{agent}] in {CONFIG_NAME}")
    return Check(name, State.OK, found)


def _needed(agent: str, answer: Answer | None, here: list[str]) -> Check:
    name = f"agent {agent}"
    if answer is None:
        fix = PACKAGES[agent].install
        if here:
            fix += f'\nor use the one that is here: agent = "{here[0]}" in {CONFIG_NAME}'
        return Check(name, State.FAIL, f"{PROGRAMS[agent]} not found on PATH", fix)
    if not answer.ok:
        found = f"{find_program(PROGRAMS[agent])}: {said(answer)}"
        return Check(name, State.FAIL, found, f"{PROGRAMS[agent]} --version")
    return Check(name, State.OK, said(answer))
