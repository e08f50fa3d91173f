"""bmad workflow run: a file of steps, to its end."""

import gc
import time

import click

from .facts import the_project
from .running_options import RunOptions, file_options
from .workflow_file import VARIABLES, document, kept_path, oddities, plan_lines, plan_of, read_file


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
        from .workflow_check import check

        ctx.invoke(check, file=file, pairs=pairs, as_json=options.as_json)
    from ..engine.setting_out import Caps
    from ..engine.workflow_running import start_workflow, workflow_under_way
    from ..views.run_view import EventView
    from .facts import terminal
    from .preparing import refuse_missing
    from .running import finish, human_at, watching

    gc.enable()  # it may be here for a night
    project = the_project(ctx)
    found = read_file(file, pairs)
    plan = plan_of(project, found)
    refuse_missing(plan)
    path = kept_path(project, file)
    before = None if anew else workflow_under_way(project, path, options.session)
    with watching(ctx, project, [], before, as_json=options.as_json) as view:
        if isinstance(view, EventView):
            view("plan", document(found, plan), time.time())
        out = terminal(ctx)
        view.say([*plan_lines(found, plan, out), *oddities(found.notes, out), ""])
        end = start_workflow(
            project,
            found.workflow,
            path,
            found.variables,
            told=view,
            human=human_at(view),
            caps=Caps(options.max_cost, options.max_hours),
            session=options.session,
            unattended=options.unattended,
            anew=anew,
        )
    finish(ctx, project, end, view)
