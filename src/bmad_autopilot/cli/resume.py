"""bmad resume: go on with the newest run that is not over."""

import gc

import click

from ..board.overview import overview
from ..board.sprint import Row, read_board
from ..core.errors import FileError
from ..engine.running import resume_run
from ..project.open import Project
from ..runs.finding import Run, unfinished
from ..runs.layout import runs_folder
from .facts import the_project
from .running import finish, human_at, watching


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print events, one JSON object a line.")
@click.pass_context
def resume(ctx: click.Context, as_json: bool) -> None:
    """Go on with the newest run that is not over, exactly where it was. An agent that still works is adopted."""
    gc.enable()  # it may be here for a night
    project = the_project(ctx)
    run = next(iter(unfinished(runs_folder(project.root.path))), None)
    with watching(ctx, project, _rows(project, run), run, as_json=as_json) as view:
        end = resume_run(project, run.id if run else None, told=view, human=human_at(view))
    finish(ctx, project, end, view)


def _rows(project: Project, run: Run | None) -> list[Row]:
    """The stories it is about."""
    try:
        epics = overview(read_board(project.require_board()))
    except FileError:
        return []
    wanted = run.target if run else ""
    own = next((epic.stories for epic in epics if epic.key == wanted), None)
    return own or [row for epic in epics for row in epic.stories if row.key == wanted]
