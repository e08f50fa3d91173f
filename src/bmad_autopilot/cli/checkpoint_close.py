"""bmad checkpoint close: the workflow is over, or rests."""

import click

from ..runs.state import Status
from .checkpoint_keeping import run_options, tell, the_keeper, the_run

CLOSED = [Status.COMPLETED.value, Status.FAILED.value, Status.PAUSED.value]


@click.command(short_help="At the end: how the workflow ended.")
@click.option("--status", default="completed", type=click.Choice(CLOSED), help="How it ended (completed).")
@click.option("--summary", default="", metavar="TEXT", help="What came of it.")
@run_options
@click.pass_context
def close(ctx: click.Context, status: str, summary: str, run: str | None, session: str, as_json: bool) -> None:
    """Say that the workflow is over. A failed or paused one is what `bmad resume` offers next."""
    _, keeper = the_keeper(ctx)
    tell(keeper.close(the_run(keeper, run, session), Status(status), summary), as_json=as_json)
