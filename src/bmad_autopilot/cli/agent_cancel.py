"""bmad agent cancel: stop a call, and say where its work is."""

import click

from ..agents import watching
from ..agents.attempts import State
from ..agents.settling import settle_lost
from ..core.errors import EXIT_DONE, EXIT_FAILED, AutopilotError, FileError
from ..runs.layout import Place
from ..views.calls import state_words, tail
from ..views.terminal import clean
from .agent_calls import complete_call, find_call, read_calls
from .agent_reading import Call, ending, read_call, seconds_so_far
from .facts import terminal

SECONDS = 120.0  # asked, told, killed: three times the grace, and the launcher's own stop
MAX_WHY = 500


@click.command(short_help="Stop a call; its work is kept.")
@click.argument("run", shell_complete=complete_call)
@click.option("--why", default="", metavar="TEXT", help="The reason, for whoever reads about it later.")
@click.pass_context
def cancel(ctx: click.Context, run: str, why: str) -> None:
    """Stop a call, wait until it has ended, and say where its work is kept.

    RUN is named as for `bmad agent logs`. A call whose supervisor was killed is settled: what is left of it is
    ended, and its work kept."""
    calls = read_calls(ctx)
    place = find_call(calls, run)
    try:
        call = read_call(place, calls.config)
    except FileError:
        _stop_unread(place)  # its record is broken, which must not keep it running
        raise
    name, folder = clean(call.place.name), call.place.folder
    state = call.state
    if state is State.LOST:
        settle_lost(folder)
        click.echo(f"{name} was lost: its supervisor had been killed. It is settled now")
    elif state is not State.RUNNING or not _stop(call, why):
        state = call.state
        click.echo(f"{name} is not running: {state_words(state, seconds_so_far(call))}", err=True)
        ctx.exit(EXIT_FAILED)
    _report(ctx, call)
    ctx.exit(EXIT_DONE)


def _stop_unread(place: Place) -> None:
    if watching.cancel(place.folder, "cancelled with bmad agent cancel"):
        watching.wait_for_any([place.folder], SECONDS)
        click.echo(f"{clean(place.name)} was running and has been stopped; its record cannot be read:", err=True)


def _stop(call: Call, why: str) -> bool:
    """False: it had ended before it could be asked."""
    reason = " ".join(clean(why[:MAX_WHY]).split()) or "cancelled with bmad agent cancel"
    if not watching.cancel(call.place.folder, reason):
        return False
    if call.place.folder not in watching.wait_for_any([call.place.folder], SECONDS):
        raise AutopilotError(
            f"{call.place.name} was told to end and still runs after {SECONDS:g} s",
            hint="bmad agent attach shows what it does",
        )
    if call.state is State.LOST:
        settle_lost(call.place.folder)
    return True


def _report(ctx: click.Context, call: Call) -> None:
    end = ending(call)
    if end is None:  # the record could not be written
        raise AutopilotError(f"{call.place.name} has ended and left no result", hint="is the disk full?")
    for text in tail(end, terminal(ctx)):
        click.echo(text)
    click.echo(f"what it did is still in {clean(call.spec.worktree)}")
