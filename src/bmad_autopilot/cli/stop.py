"""bmad stop: have the run under way end."""

import click

from ..runs.requests import Ask
from .telling_runs import tell_runs


@click.command()
@click.option("--now", is_flag=True, help="Its agent too; what it did is kept.")
@click.option("--run", metavar="RUN", help="Of several runs under way, this one.")
@click.pass_context
def stop(ctx: click.Context, now: bool, run: str | None) -> None:
    """Leave the run as it stands, as Ctrl-C at its own terminal does. An agent at work goes on, and `bmad resume`
    picks it up. Where nobody looks after a run that still calls itself running, it is set to paused."""
    tell_runs(ctx, run, Ask.STOP_NOW if now else Ask.STOP)
