"""bmad pause: have the run under way stop before its next agent call."""

import click

from ..runs.requests import Ask
from .telling_runs import tell_runs


@click.command()
@click.option("--run", metavar="RUN", help="Of several runs under way, this one.")
@click.pass_context
def pause(ctx: click.Context, run: str | None) -> None:
    """The agent call under way is finished, taken in and recorded; then the run ends, paused, with exit code 3.
    `bmad resume` goes on with it."""
    tell_runs(ctx, run, Ask.PAUSE)
