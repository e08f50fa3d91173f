"""bmad runs show: what a run did."""

import os
import time
from contextlib import suppress

import click

from ..agents.attempts import read_spec
from ..core.errors import AutopilotError, FileError
from ..runs.finding import Run, find_run
from ..runs.journal import Journal
from ..runs.layout import attempt_folder, runs_folder
from ..runs.state import read_state
from ..runs.supervisor import busy_runs
from ..runs.timeline import Timeline, timeline
from ..views.runs_show import ShowView, document, render
from ..views.terminal import Terminal
from .facts import print_json
from .runs_reading import complete_run, row_of, the_root


@click.command(short_help="What a run did.")
@click.argument("run", required=False, shell_complete=complete_run)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def show(ctx: click.Context, run: str | None, as_json: bool) -> None:
    """What a run (the newest, unless RUN is named) did: its steps, each with its agent calls and what they cost,
    its questions and answers, its checkpoint and its commits."""
    root = the_root(ctx)
    found = find_run(runs_folder(root.path), run)
    journal = Journal(found.folder, lambda value: value)
    whole = timeline(journal.entries())
    _name_agents(found.folder, whole)
    odd = (
        *_odd_state(found),
        *(f"journal.jsonl, line {one.place.line}: {one.message}" for one in journal.diagnostics),
    )
    view = ShowView(row_of(found, busy_runs(root.state_folder)), whole, _shown(found.folder), time.time(), odd)
    if as_json:
        print_json(document(view))
    else:
        click.echo("\n".join(render(view, Terminal(ctx.obj[1]))))


def _name_agents(folder: str, whole: Timeline) -> None:
    """The journal has their roles; who did it stands in the call's own record."""
    for step in whole.steps:
        for one in step.attempts:
            with suppress(AutopilotError):
                spec = read_spec(attempt_folder(folder, step.number, step.name, one.attempt))
                one.agent = f"{spec.agent} ({spec.model})" if spec.model else spec.agent


def _odd_state(run: Run) -> list[str]:
    """What is wrong with its state file: the run is shown by its journal all the same."""
    try:
        state = read_state(run.folder)
    except FileError as error:
        return [f"state.json {error.message}; what stands here is from the journal"]
    if state is None:
        return ["state.json is missing; what stands here is from the journal"]
    is_other = state.run_id != run.id and not run.is_archived  # there a name may have been taken
    return [f"state.json is of another run: {state.run_id}"] if is_other else []


def _shown(folder: str) -> str:
    relative = os.path.relpath(folder)
    return folder if relative.startswith("..") else relative
