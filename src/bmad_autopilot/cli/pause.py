"""bmad pause: have the run under way stop before its next agent call."""

import click

from ..runs.requests import Ask
from .telling_runs import tell_runs


@click.command()
@click.option("--run", metavar="RUN", help="This one: its name, or its epic. The autopilot's others go on.")
@click.pass_context
def pause(ctx: click.Context, run: str | None) -> None:
    """The agent call under way is finished, taken in and recorded; then the run ends, paused, with exit code 3. Of
    `bmad autopilot` all that it looks after. `bmad resume` or `bmad autopilot` goes on."""
    tell_runs(ctx, run, Ask.PAUSE)
