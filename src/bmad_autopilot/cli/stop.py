"""bmad stop: have the run under way end."""

import click

from ..runs.requests import Ask
from .telling_runs import tell_runs


@click.command()
@click.option("--now", is_flag=True, help="Its agents too; what they did is kept.")
@click.option("--run", metavar="RUN", help="This one: its name, or its epic. The autopilot's others go on.")
@click.pass_context
def stop(ctx: click.Context, now: bool, run: str | None) -> None:
    """Leave the run as it stands, as Ctrl-C at its own terminal does; of `bmad autopilot` all that it looks after.
    An agent at work goes on, and `bmad resume` or `bmad autopilot` picks it up. Where nobody looks after a
    run that still calls itself running, it is set to paused."""
    tell_runs(ctx, run, Ask.STOP_NOW if now else Ask.STOP)
