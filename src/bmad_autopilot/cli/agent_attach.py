"""bmad agent attach: follow a call until it ends."""

import gc
import select

import click

from ..agents.attempts import State
from ..agents.events import read_events
from ..agents.outcomes import Outcome
from ..agents.watching import watch
from ..core.commands import command
from ..core.errors import EXIT_DONE, EXIT_FAILED, EXIT_HUMAN, EXIT_INTERRUPTED
from ..engine.wakeups import FileWatch
from ..views.calls import head, line, readable
from ..views.terminal import Terminal
from .agent_calls import complete_call, find_call, newest_running, read_calls
from .agent_logs import closing
from .agent_reading import Call, ending, read_call, view
from .facts import terminal


@click.command(short_help="Follow a call until it ends.")
@click.argument("run", required=False, shell_complete=complete_call)
@click.pass_context
def attach(ctx: click.Context, run: str | None) -> None:
    """Follow a call: what it has printed, then what it prints, then how it ended. Ctrl-C leaves it running.

    RUN is named as for `bmad agent logs`; without it, the newest call that runs. The exit code is 0 where the call
    completed, 3 where a question or a usage limit ended it, else 1."""
    gc.enable()  # it may be here for hours
    calls = read_calls(ctx)
    call = read_call(find_call(calls, run) if run is not None else newest_running(calls), calls.config)
    out = terminal(ctx)
    for text in head(view(call), out):
        click.echo(text)
    try:
        _follow(call, out)
    except KeyboardInterrupt:
        _say_detached(call)
        ctx.exit(EXIT_INTERRUPTED)
    for text in closing(call, out):
        click.echo(text)
    ctx.exit(_code(call))


def _follow(call: Call, out: Terminal) -> None:
    """Woken by the file and by the supervisor's end, whichever comes first."""
    shim = watch(call.place.folder)
    if shim is None:
        _show(call, 0, out)
        return
    written = FileWatch([call.events])
    poll = select.poll()
    poll.register(shim, select.POLLIN)
    poll.register(written, select.POLLIN)
    try:
        offset, ended = _show(call, 0, out), False
        while not ended:
            ended = shim.fileno() in {fd for fd, _ in poll.poll()}
            written.clear()
            offset = _show(call, offset, out)
    finally:
        written.close()
        shim.close()


def _show(call: Call, offset: int, out: Terminal) -> int:
    """Print what has come since `offset`; where that ends."""
    texts = []
    for event, behind in read_events(call.events, offset):
        offset = behind
        texts += [line(one, out) for one in readable(call.agent, event)]
    if texts:
        click.echo("\n".join(texts))
    return offset


def _say_detached(call: Call) -> None:
    if call.state is not State.RUNNING:
        click.echo("detached; the call has ended", err=True)
        return
    click.echo("\ndetached; the call goes on", err=True)
    click.echo(f"  {command('agent', 'attach', call.place.name)}   follow it again", err=True)
    click.echo(f"  {command('agent', 'cancel', call.place.name)}   stop it", err=True)


def _code(call: Call) -> int:
    end = ending(call)
    if end is None:
        return EXIT_FAILED
    if end.verdict.outcome is Outcome.COMPLETED:
        return EXIT_DONE
    return EXIT_HUMAN if end.verdict.outcome in (Outcome.QUESTION, Outcome.LIMIT) else EXIT_FAILED
