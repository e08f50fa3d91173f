"""bmad resume: go on with the newest run that is not over."""

import gc

import click

from ..board.overview import overview
from ..board.sprint import Row, read_board
from ..core.errors import FileError, UsageError
from ..engine.running import resume_run
from ..project.open import Project
from ..runs.finding import Run, unfinished
from ..runs.journal import lane_entry
from ..runs.layout import runs_folder
from .facts import the_project
from .running import finish, human_at, watching

SHOWN = 5  # runs that one beginning may mean


@click.command()
@click.argument("run", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print events, one JSON object a line.")
@click.pass_context
def resume(ctx: click.Context, run: str | None, as_json: bool) -> None:
    """Go on with the newest run that is not over, exactly where it was. An agent that still works is adopted.

    RUN is another run's name, or the beginning of one that only one run has."""
    gc.enable()  # it may be here for a night
    project = the_project(ctx)
    found = _meant(project, run)
    with watching(ctx, project, _rows(project, found), found, as_json=as_json) as view:
        end = resume_run(project, found.id if found else run, told=view, human=human_at(view))
    finish(ctx, project, end, view)


def _meant(project: Project, wanted: str | None) -> Run | None:
    """None: there is no such run, and whoever resumes says so."""
    ours = [one for one in unfinished(runs_folder(project.root.path)) if lane_entry(one.folder)]
    found = [one for one in ours if wanted is None or one.id == wanted]
    found = found or [one for one in ours if wanted and one.id.startswith(wanted)]
    if wanted and len(found) > 1:
        raise UsageError(
            f"{len(found)} runs begin with {wanted}", found=", ".join(one.id for one in found[:SHOWN])
        )
    return next(iter(found), None)


def _rows(project: Project, run: Run | None) -> list[Row]:
    """The stories it is about."""
    try:
        epics = overview(read_board(project.require_board()))
    except FileError:
        return []
    wanted = run.target if run else ""
    own = next((epic.stories for epic in epics if epic.key == wanted), None)
    return own or [row for epic in epics for row in epic.stories if row.key == wanted]
