"""bmad workflow: check or run a workflow file."""

import gc
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NamedTuple

import click

from ..core.errors import EXIT_DONE, EXIT_FAILED, Diagnostic
from ..core.json_types import pick
from ..core.lane_scope import LaneScope
from ..core.text import printable
from ..io.json_files import document
from ..project.project import Project
from ..views.format import LocatedMessage, message_lines
from ..views.terminal import Terminal, cut
from ..workflows.plan import MissingSkill, PlannedStep, missing_skills, plan_workflow
from ..workflows.step_entry import parse_variable_options
from ..workflows.step_file import StepFile, read_step_file
from .context import current_project, print_json, terminal
from .run_options import RunOptions, file_options

# Reading a workflow file, and printing its plan and warnings.

VARIABLES: Callable[[Any], Any] = click.option(
    "--var", "pairs", multiple=True, metavar="NAME=VALUE", help="Set a variable; as often as needed."
)


def read_file(path: str, pairs: Iterable[str]) -> StepFile:
    return read_step_file(path, parse_variable_options(pairs))


def stored_path(project: Project, path: str) -> str:
    """The path that identifies runs of the file: relative to the project if inside it, else absolute."""
    relative = os.path.relpath(os.path.realpath(path), os.path.realpath(project.root.path))
    return os.path.realpath(path) if relative.startswith("..") else relative


def plan_file(project: Project, found: StepFile) -> list[PlannedStep]:
    return plan_workflow(found.workflow, found.variables, project.config, project.find_skill)


def warning_lines(notes: Iterable[Diagnostic], out: Terminal) -> Iterable[str]:
    items = [
        LocatedMessage(note.location, f"{note.message} [{note.code}]", "warning", "yellow", note.hint)
        for note in notes
    ]
    return message_lines(items, out)


def plan_lines(found: StepFile, plan: list[PlannedStep], out: Terminal) -> Iterable[str]:
    steps = f"{len(plan)} step{'s' * (len(plan) != 1)}"
    yield out.style(printable(found.workflow.name), "bold") + f": {steps}"
    for number, one in enumerate(plan, 1):
        step = one.step
        who = "command" if step.command else " ".join(filter(None, (f"{step.role}:", one.agent, one.model)))
        hands_on = f"; hands on {', '.join(step.persist)}" if step.persist else ""
        yield f"  {number}  {out.style(printable(step.name), 'bold')} ({printable(who)}){hands_on}"
        first = one.prompt if one.prompt is not None else f"(BMAD's {step.skill} is not installed for {one.agent})"
        yield "     " + out.style(cut(printable(first.strip().partition("\n")[0]), out.width - 5), "dim")


class WorkflowStep(NamedTuple):
    step: str
    role: str
    agent: str
    model: str | None
    command: tuple[str, ...]
    shell: bool
    skill: str | None
    prompt: Annotated[str | None, "null: the skill is not installed"]
    variables_to_persist: tuple[str, ...]
    checkpoint: bool


class WorkflowWarning(NamedTuple):
    line: int | None
    message: str
    code: str
    help: str | None


class WorkflowPlan(NamedTuple):
    workflow: str
    variables: Mapping[str, Any]
    steps: list[WorkflowStep]
    missing: list[MissingSkill]
    warnings: list[WorkflowWarning]


def workflow_plan(found: StepFile, plan: list[PlannedStep]) -> WorkflowPlan:
    return WorkflowPlan(
        found.workflow.name,
        found.variables,
        [_workflow_step(one) for one in plan],
        missing_skills(plan),
        [pick(WorkflowWarning, note, line=note.location.line, help=note.hint) for note in found.notes],
    )


def _workflow_step(one: PlannedStep) -> WorkflowStep:
    known = {"agent": one.agent, "model": one.model, "prompt": one.prompt}
    return pick(WorkflowStep, one.step, step=one.step.name, variables_to_persist=one.step.persist, **known)


# bmad workflow check


@click.command(short_help="What is in it, or wrong with it.")
@click.argument("file", type=click.Path())
@VARIABLES
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def check(ctx: click.Context, file: str, pairs: tuple[str, ...], as_json: bool) -> None:
    """Read FILE, and show its steps; its first mistake, with the line, where there is one."""
    found = read_file(file, pairs)
    plan = plan_file(current_project(ctx), found)
    if as_json:
        print_json("plan", workflow_plan(found, plan))
    else:
        out = terminal(ctx)
        for line in (*plan_lines(found, plan, out), *warning_lines(found.notes, out)):
            click.echo(line)
    ctx.exit(EXIT_FAILED if missing_skills(plan) else EXIT_DONE)


# bmad workflow run


@click.command(short_help="Its steps, one after another.")
@click.argument("file", type=click.Path())
@VARIABLES
@click.option("--new", "anew", is_flag=True, help="Begin another run, though one of this file is not over.")
@click.option("--dry-run", is_flag=True, help="Only show the steps.")
@file_options
@click.pass_context
def run(
    ctx: click.Context,
    file: str,
    pairs: tuple[str, ...],
    anew: bool,
    dry_run: bool,
    options: RunOptions,
) -> None:
    """Run the steps of FILE, one after another. A run of it that was cut short is gone on with: at the step where
    it was, with everything it knew."""
    if dry_run:
        ctx.invoke(check, file=file, pairs=pairs, as_json=options.as_json)
    from ..engine.run_setup import Caps
    from ..engine.runner import open_run, start_workflow
    from ..views.run_view import EventView
    from .run_session import finish, prompter_for, refuse_missing, watch_run

    gc.enable()  # it may run all night
    project = current_project(ctx)
    found = read_file(file, pairs)
    plan = plan_file(project, found)
    refuse_missing(plan)
    path = stored_path(project, file)
    before = None if anew else open_run(project, LaneScope.WORKFLOW, options.session, path=path)
    with watch_run(ctx, project, [], before, as_json=options.as_json) as view:
        if isinstance(view, EventView):
            view("plan", document("plan", workflow_plan(found, plan)), time.time())
        out = terminal(ctx)
        view.print_lines([*plan_lines(found, plan, out), *warning_lines(found.notes, out), ""])
        end = start_workflow(
            project,
            found.workflow,
            path,
            found.variables,
            on_event=view,
            human=prompter_for(view),
            caps=Caps(options.max_cost, options.max_hours),
            session=options.session,
            unattended=options.unattended,
            force_new=anew,
        )
    finish(ctx, project, end, view)


@click.group()
def workflow() -> None:
    """Run a file of steps of your own, or see whether it can be run (docs/workflow-files.md)."""


for _command in (run, check):
    workflow.add_command(_command)
