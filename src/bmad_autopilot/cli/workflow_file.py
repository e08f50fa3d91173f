"""A file of steps from the command line: read, its oddities said, its plan shown."""

import os
from collections.abc import Callable, Iterable
from typing import Any

import click

from ..core.diagnostics import Diagnostic
from ..project.open import Project
from ..views.listing import Item, listing
from ..views.terminal import Terminal, clean, cut
from ..workflows.plan import PlannedStep, missing_skills
from ..workflows.step_file import StepFile, read_step_file
from ..workflows.step_variables import given_variables
from ..workflows.workflow_plan import plan_workflow

VARIABLES: Callable[[Any], Any] = click.option(
    "--var", "pairs", multiple=True, metavar="NAME=VALUE", help="Set a variable; as often as needed."
)


def read_file(path: str, pairs: Iterable[str]) -> StepFile:
    return read_step_file(path, given_variables(pairs))


def kept_path(project: Project, path: str) -> str:
    """What a run of it is known by: from the project's top, where it lies there."""
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(project.root.path))
    return os.path.realpath(path) if relative.startswith("..") else relative


def plan_of(project: Project, found: StepFile) -> list[PlannedStep]:
    return plan_workflow(found.workflow, found.variables, project.config, project.find_skill)


def oddities(notes: Iterable[Diagnostic], out: Terminal) -> Iterable[str]:
    items = [Item(note.place, f"{note.message} [{note.code}]", "warning", "yellow", note.hint) for note in notes]
    return listing(items, out)


def plan_lines(found: StepFile, plan: list[PlannedStep], out: Terminal) -> Iterable[str]:
    steps = f"{len(plan)} step{'s' * (len(plan) != 1)}"
    yield out.style(clean(found.workflow.name), "bold") + f": {steps}"
    for number, one in enumerate(plan, 1):
        step = one.step
        who = "command" if step.command else " ".join(filter(None, (f"{step.role}:", one.agent, one.model)))
        hands_on = f"; hands on {', '.join(step.persist)}" if step.persist else ""
        yield f"  {number}  {out.style(clean(step.name), 'bold')} ({clean(who)}){hands_on}"
        first = one.prompt if one.prompt is not None else f"(BMAD's {step.skill} is not installed for {one.agent})"
        yield "     " + out.style(cut(clean(first.strip().partition("\n")[0]), out.width - 5), "dim")


def document(found: StepFile, plan: list[PlannedStep]) -> dict[str, object]:
    return {
        "version": 1,
        "kind": "plan",
        "workflow": found.workflow.name,
        "variables": dict(found.variables),
        "steps": [
            {
                "step": one.step.name,
                "role": one.step.role,
                "agent": one.agent,
                "model": one.model,
                "command": list(one.step.command),
                "shell": one.step.shell,
                "skill": one.step.skill,
                "prompt": one.prompt,
                "variables_to_persist": list(one.step.persist),
                "checkpoint": one.step.checkpoint,
            }
            for one in plan
        ],
        "missing": [{"agent": agent, "skill": skill} for agent, skill in missing_skills(plan)],
        "warnings": [
            {"line": note.place.line, "message": note.message, "code": note.code, "help": note.hint}
            for note in found.notes
        ],
    }
