"""bmad checkpoint update: a step is completed."""

import os

import click

from ..engine.surroundings import surroundings
from ..runs.protocol import MAX_STEP, Update
from .checkpoint_keeping import artefact_text, run_options, step_options, tell, the_keeper, the_run, variables


@click.command(short_help="After a step: it is completed.")
@step_options
@click.option("--artefact", metavar="FILE", help="What the step has made; a copy is kept in the run.")
@click.option("--next", "following", default=0, type=click.IntRange(0, MAX_STEP), help="The step after it.")
@click.option("--note", default="", metavar="TEXT", help="For whoever goes on.")
@run_options
@click.pass_context
def update(
    ctx: click.Context,
    step: int,
    name: str,
    pairs: tuple[str, ...],
    vars_file: str | None,
    artefact: str | None,
    following: int,
    note: str,
    run: str | None,
    session: str,
    as_json: bool,
) -> None:
    """Say that step N is completed: its checkpoint is recorded, with the board's rows and git's work tree as they
    are. The same again changes nothing."""
    project, keeper = the_keeper(ctx)
    text = artefact_text(project.root, artefact) if artefact is not None else None
    called = os.path.basename(artefact) if artefact is not None else ""
    found = the_run(keeper, run, session)
    done = Update(step, following, name, variables(pairs, vars_file), text, called, note)
    tell(keeper.update(found, done, surroundings(project, found.id, step)), as_json=as_json)
