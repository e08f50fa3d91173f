"""bmad checkpoint save: before a step, where the run is and what it knows."""

import click

from ..engine.surroundings import surroundings
from ..project.excludes import ensure_excludes
from ..runs.protocol import MAX_STEP, Saving
from ..runs.state import Status
from .checkpoint_keeping import run_options, step_options, tell, the_keeper, variables

MAX_PATH = 1000


@click.command(short_help="Before a step: where the run is and what it knows.")
@click.option("--workflow", required=True, metavar="NAME", help="Which workflow it is.")
@step_options
@click.option("--total", default=0, type=click.IntRange(0, MAX_STEP), help="How many steps there are.")
@click.option("--path", default="", metavar="FILE", help="The workflow's own file, to be found again by.")
@click.option("--status", default="running", type=click.Choice(["running", "paused"]), help="How it stands.")
@run_options
@click.pass_context
def save(
    ctx: click.Context,
    workflow: str,
    step: int,
    name: str,
    pairs: tuple[str, ...],
    vars_file: str | None,
    total: int,
    path: str,
    status: str,
    run: str | None,
    session: str,
    as_json: bool,
) -> None:
    """Say that step N begins, with the variables so far. A run is begun where the session has none of this
    workflow; its name and the checkpoint's id are printed."""
    project, keeper = the_keeper(ctx)
    kept_path = path[:MAX_PATH]
    saving = Saving(workflow, step, session, kept_path, name, total, variables(pairs, vars_file), Status(status))
    ensure_excludes(project.root)
    found = keeper.open(run, saving)
    tell(keeper.save(found, saving, surroundings(project, found.id, step)), as_json=as_json)
