"""bmad demo: take an epic of a sample project to done with a scripted agent."""

import gc
import signal
from types import FrameType

import click

from .context import terminal


class DemoPrinter:
    """Prints narration as shell comments and commands after a prompt, to set them apart from their output."""

    def __init__(self, ctx: click.Context) -> None:
        self._out = terminal(ctx)

    def say(self, words: str) -> None:
        from ..core.text import printable
        from ..views.terminal import wrap

        self._out.remeasure()
        lines = wrap(f"# {printable(words)}", min(self._out.width, 100), "# ")
        click.echo("\n" + "\n".join(self._out.style(line, "cyan") for line in lines))

    def typed(self, *lines: str) -> None:
        click.echo("\n" + "\n".join(self._out.style(f"$ {line}", "bold") for line in lines))


@click.command()
@click.option("--fast", is_flag=True, help="Without pauses to read in.")
@click.option("--keep", is_flag=True, help="Keep the sample project, and say where it is.")
@click.pass_context
def demo(ctx: click.Context, fast: bool, keep: bool) -> None:
    """Watch an epic being taken to a merged pull request, in less than a minute.

    A sample project is made in a temporary folder, with a scripted agent and a GitHub that is played: a review
    round, a run that is killed and resumed, a question and its answer, a review thread. Needs git alone. Ctrl-C
    ends it all and removes the folder."""
    from ..sim.demo import run_demo
    from ..sim.demo_stage import open_stage

    gc.enable()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    shown = DemoPrinter(ctx)
    try:
        with open_stage(shown, ctx.obj[1], fast=fast, keep=keep) as stage:
            run_demo(stage)
    except KeyboardInterrupt:
        shown.say("Left early. Its agent has been stopped too: nothing goes on.")
        raise
    shown.say("Next, in a project of your own:")
    shown.typed(
        "bmad doctor   # is everything there that is needed?", "bmad status   # where are we, what is next?"
    )


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
