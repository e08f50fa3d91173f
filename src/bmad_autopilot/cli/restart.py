"""bmad restart: begin a story anew, its work saved first."""

import click

from ..board.sprint import find_row
from ..core.commands import command
from ..engine.restarting import restart_story
from ..github.git import Git
from ..github.ground import look_at_ground
from ..views.figures import counted
from ..views.terminal import clean
from .completing import complete_story
from .facts import gather_to_act

MOST_FILES = 10


@click.command()
@click.argument("story", shell_complete=complete_story)
@click.pass_context
def restart(ctx: click.Context, story: str) -> None:
    """Begin a story anew: its work is saved under a ref of ours, the files it changed are put back as they were
    before it began, and so is its row."""
    facts = gather_to_act(ctx)
    row = find_row(facts.board, story)
    report = restart_story(facts.project, row.key)
    if report.saved_ref:
        click.echo(f"saved    {clean(report.saved_ref)}   (git show --stat {clean(report.saved_ref)})")
    click.echo(f"files    {counted(len(report.files), 'file')} put back")
    for path in report.files[:MOST_FILES]:
        click.echo(f"           {clean(path)}")
    if len(report.files) > MOST_FILES:
        click.echo(f"           … {len(report.files) - MOST_FILES} more")
    click.echo(f"board    {clean(row.key)}: {clean(report.row_before)} → {clean(report.row_after)}")
    if report.epic:
        click.echo(f"         {clean(report.epic)}: done → in-progress")
    first = "commit what was put back, then " if look_at_ground(Git(facts.project.root.checkout)).dirty else ""
    click.echo(f"next     {first}{command('run-story', row.key)}")
