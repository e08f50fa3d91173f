"""Prints the agent calls a run would make."""

from typing import Annotated, NamedTuple

import click

from ..board.sprint_status import Row
from ..board.sprint_status_writer import find_cell
from ..core.errors import EXIT_DONE, EXIT_FAILED, EXIT_HUMAN
from ..core.json_types import one_of, pick
from ..core.statuses import DONE, PARKED, REVIEW, UNKNOWN
from ..core.text import printable
from ..project.config import ROLES
from ..views.terminal import Terminal, cut
from ..workflows.plan import MissingSkill, PlannedStep, missing_skills, plan_story
from .context import ProjectFacts, find_story_drift, print_json, terminal
from .next_step import workflow_of

_WITHOUT_STEPS = {DONE: ": nothing to do", REVIEW: ": done once its checks pass, as its workflow has no review"}


def show_plan(
    ctx: click.Context, facts: ProjectFacts, rows: list[Row], *, as_json: bool, first_only: bool = False
) -> None:
    refuse_duplicates(facts, rows)
    project = facts.project
    workflow = workflow_of(project)
    plans = [plan_story(row, workflow, project.config, project.find_skill) for row in rows]
    if first_only:
        plans = [plan[:1] for plan in plans]
    steps = [step for plan in plans for step in plan]
    missing = missing_skills(steps)
    if as_json:
        print_json("plan", RunPlan(workflow.name, [_planned_call(step) for step in steps], missing))
    else:
        out = terminal(ctx)
        for row, plan in zip(rows, plans, strict=True):
            _show_story(row, plan, workflow.name, out)
        if steps:
            click.echo(f"{len(steps)} agent call{'s' * (len(steps) != 1)}, if no review asks for changes")
        for item in find_story_drift(facts, rows):
            click.echo(f"! {printable(item.message)}" + (" (bmad board repair)" if item.target_status else ""))
    for agent, skill in missing:
        click.echo(f"bmad: BMAD's {skill} is not installed for {agent}: bmad doctor", err=True)
    if missing:
        ctx.exit(EXIT_FAILED)
    waiting = any(row.meaning in (PARKED, UNKNOWN) for row in rows)
    ctx.exit(EXIT_HUMAN if waiting and not steps else EXIT_DONE)


def refuse_duplicates(facts: ProjectFacts, rows: list[Row]) -> None:
    """Fail on a duplicate row: which one counts must be clear before an agent is paid."""
    for row in rows:
        if any(other.key == row.key for other in facts.board.shadowed):
            find_cell(facts.board.cells, row.key)


def _show_story(row: Row, plan: list[PlannedStep], pipeline: str, out: Terminal) -> None:
    rest = f" is {printable(row.status.raw) or '(empty)'}"
    if not plan:
        rest += _WITHOUT_STEPS.get(row.meaning, ": left alone")
    else:
        rest += f"; the {pipeline} pipeline:"
    click.echo(out.style(cut(printable(row.key), max(12, out.width - len(rest))), "bold") + rest)
    if not plan:
        return
    for number, step in enumerate(plan, 1):
        before = f"{step.step.before} before, " if step.step.before else ""
        board = f"board: {before}{step.step.after} after" if step.step.after else "board: unchanged"
        who = " ".join(filter(None, (f"{step.step.role}:", printable(step.agent), printable(step.model or ""))))
        click.echo(f"  {number}  {out.style(step.step.name, 'bold')} ({who}); {board}")
        click.echo("     " + out.style(cut(printable(_call(step)), out.width - 5), "dim"))
    click.echo("")


def _call(step: PlannedStep) -> str:
    """The step's prompt, or why there is none."""
    if step.prompt is None:
        return f"(BMAD's {step.step.skill} is not installed for {step.agent})"
    return step.prompt


class PlannedCall(NamedTuple):
    story: str
    step: str
    role: Annotated[str, one_of(ROLES)]
    agent: str
    board_before: str | None
    board_after: str | None
    model: str | None
    prompt: Annotated[str | None, "how the prompt begins; null: the skill is not installed"]


class RunPlan(NamedTuple):
    pipeline: Annotated[str, "lean, full, build, or the name of a workflow of the project's own"]
    steps: list[PlannedCall]
    missing: list[MissingSkill]


def _planned_call(one: PlannedStep) -> PlannedCall:
    step = one.step
    return pick(PlannedCall, one, step=step.name, role=step.role, board_before=step.before, board_after=step.after)
