"""bmad runs show and bmad runs why: the timeline of a run and the reasons of its decisions."""

import os
import time
from contextlib import suppress

import click

from ..agents.attempt import read_call_spec
from ..core.errors import AutopilotError, FileError, UsageError
from ..runs.index import Run, find_run
from ..runs.journal import Journal
from ..runs.layout import attempt_folder, runs_folder
from ..runs.state_file import read_state
from ..runs.supervisor_lock import busy_runs
from ..runs.timeline import Timeline, build_timeline, decisions_of_step, read_decisions
from ..views.run_details import WhyView, explain_decisions, render_why
from ..views.runs import RunTimelineView, render_run, run_details
from ..views.terminal import Terminal
from .context import print_json
from .runs import complete_run, project_root, run_row


@click.command(short_help="What a run did.")
@click.argument("run", required=False, shell_complete=complete_run)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def show(ctx: click.Context, run: str | None, as_json: bool) -> None:
    """What a run (the newest, unless RUN is named) did: its steps, each with its agent calls and what they cost,
    its questions and answers, its checkpoint and its commits."""
    root = project_root(ctx)
    found = find_run(runs_folder(root.path), run)
    journal = Journal(found.folder, lambda value: value)
    run_timeline = build_timeline(journal.events())
    _name_agents(found.folder, run_timeline)
    problems = (
        *_state_problems(found),
        *(f"journal.jsonl, line {one.location.line}: {one.message}" for one in journal.diagnostics),
    )
    view = RunTimelineView(
        run_row(found, busy_runs(root.state_folder)),
        run_timeline,
        _display_folder(found.folder),
        time.time(),
        problems,
    )
    if as_json:
        print_json("run", run_details(view))
    else:
        click.echo("\n".join(render_run(view, Terminal(ctx.obj[1]))))


def _name_agents(folder: str, run_timeline: Timeline) -> None:
    """Fill in agent names from the call records: the journal only has roles."""
    for step in run_timeline.steps:
        for one in step.attempts:
            with suppress(AutopilotError):
                spec = read_call_spec(attempt_folder(folder, step.number, step.name, one.attempt))
                one.agent = f"{spec.agent} ({spec.model})" if spec.model else spec.agent


def _state_problems(run: Run) -> list[str]:
    """Problems of the state file. The run is shown from its journal regardless."""
    try:
        state = read_state(run.folder)
    except FileError as error:
        return [f"state.json {error.message}; what stands here is from the journal"]
    if state is None:
        return ["state.json is missing; what stands here is from the journal"]
    is_other = state.run_id != run.id and not run.is_archived  # archiving may have renamed it
    return [f"state.json is of another run: {state.run_id}"] if is_other else []


def _display_folder(folder: str) -> str:
    relative = os.path.relpath(folder)
    return folder if relative.startswith("..") else relative


# bmad runs why

MOST_NAMED = 12


@click.command(short_help="What a decision was made from.")
@click.argument("run", required=False, shell_complete=complete_run)
@click.argument("step", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def why(ctx: click.Context, run: str | None, step: str | None, as_json: bool) -> None:
    """For each decision of a step the facts that were not as usual, and the row of the table that fitted. STEP is
    its number in the run, or its name; without it, the last step that was begun."""
    found = find_run(runs_folder(project_root(ctx).path), run)
    made = read_decisions(Journal(found.folder, lambda value: value).events())
    steps = tuple(dict.fromkeys(f"{one.step} {one.name}".strip() for one in made))
    chosen = decisions_of_step(made, step)
    if not made:
        kept = "agents keep it themselves" if found.is_protocol else "its journal names no decision"
        raise UsageError(f"nobody decided anything in {found.id}", found=kept, hint=f"bmad runs show {found.id}")
    if not chosen:
        named = ", ".join(steps[-MOST_NAMED:])
        raise UsageError(f"{found.id} has no decision at step {step}", expected=f"one of: {named}")
    view = WhyView(found.id, chosen, steps)
    if as_json:
        print_json("why", explain_decisions(view))
    else:
        click.echo("\n".join(render_why(view, Terminal(ctx.obj[1]))))
