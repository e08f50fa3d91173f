"""bmad agent: list agents, test one, and show, follow or cancel a call."""

import gc
import os
import select
import time
from collections.abc import Iterable, Iterator
from itertools import islice

import click

from ..agents import monitor
from ..agents.adapter import ERROR, NOTE, Outcome, read_events
from ..agents.attempt import AttemptState, attempt_state, read_result
from ..agents.event_parsing import verdict_from_ending
from ..agents.monitor import finalize_lost, watch_shim
from ..agents.shim import attempt_files
from ..agents.verdicts import has_verdict
from ..core.errors import (
    EXIT_DONE,
    EXIT_FAILED,
    EXIT_HUMAN,
    EXIT_INTERRUPTED,
    AutopilotError,
    FileError,
    UsageError,
    command,
)
from ..core.text import printable
from ..engine.waiting import FileWatch
from ..project.config import Config, load_config
from ..project.root import find_root, has_project_markers
from ..runs.layout import AttemptLocation, find_attempts, runs_folder
from ..views.agents import (
    CallView,
    EventLine,
    OpenCall,
    agent_list,
    agent_logs,
    call_footer,
    call_header,
    coarse_duration,
    readable_lines,
    render,
    render_event_line,
    state_words,
)
from ..views.terminal import Terminal
from .agent_lookup import (
    RecordedCall,
    call_ending,
    call_view,
    complete_call,
    find_call,
    known_agents,
    newest_call,
    newest_running_call,
    read_call,
    read_calls,
    seconds_so_far,
)
from .agent_test import test_
from .context import print_json, terminal

# bmad agent list

MAX_CALLS = 20
MAX_SCANNED_CALLS = 500
TAIL_BYTES = 64 * 1024


@click.command("list", short_help="Which agents there are; which calls are under way.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """Each agent with its version, the roles that use it and how long its account is parked; and the calls that
    are under way or have not been taken in yet, the newest first."""
    root = find_root(ctx.obj[0])
    config = load_config(root)
    in_project = has_project_markers(root.path)
    agents = known_agents(root, config, in_project=in_project)
    locations = _open_calls(find_attempts(runs_folder(root.path)))
    calls = [_open_call(location, config) for location in locations[:MAX_CALLS]]
    more = len(locations) - len(calls)
    if as_json:
        print_json("agent-list", agent_list(agents, calls, more))
    else:
        click.echo("\n".join(render(agents, calls, more, terminal(ctx))))


def _open_calls(locations: list[AttemptLocation]) -> list[AttemptLocation]:
    ended = (location for location in locations[:MAX_SCANNED_CALLS] if not has_verdict(location.folder))
    return [location for location in ended if attempt_state(location.folder) is not AttemptState.NEW]


def _open_call(location: AttemptLocation, config: Config) -> OpenCall:
    try:
        call = read_call(location, config)
        return OpenCall(call_view(call), _ending_text(call), _last_line(call))
    except AutopilotError as error:
        unknown = CallView(location.name, "?", location.step, "?", None, attempt_state(location.folder), 0.0)
        return OpenCall(unknown, error.message)


def _ending_text(call: RecordedCall) -> str:
    """From the result file alone: a list must not parse whole event logs."""
    result = read_result(call.location.folder)
    if result is None:
        return "lost: its supervisor was killed" if call.state is AttemptState.LOST else ""
    how = f"exit code {result.exit}" if result.by == attempt_files.EXIT and result.exit is not None else None
    ago = coarse_duration(time.time() - result.ended_at)
    return f"ended {ago} ago: {how or verdict_from_ending(result.ending).message}"


def _last_line(call: RecordedCall) -> str:
    """From the last events of the log. A first line that is cut by the offset is skipped."""
    try:
        begin = max(0, os.path.getsize(call.events) - TAIL_BYTES)
    except OSError:
        return ""
    last = ""
    for event, _ in read_events(call.events, begin):
        for shown in readable_lines(call.agent, event):
            last = shown.text
    return last


# bmad agent cancel

CANCEL_SECONDS = 120.0  # SIGINT, SIGTERM, SIGKILL: three grace periods, plus the launcher's own stop
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
    location = find_call(calls, run)
    try:
        call = read_call(location, calls.config)
    except FileError:
        _cancel_unreadable(location)  # a broken record must not keep the agent running
        raise
    name, folder = printable(call.location.name), call.location.folder
    state = call.state
    if state is AttemptState.LOST:
        finalize_lost(folder)
        click.echo(f"{name} was lost: its supervisor had been killed. It is settled now")
    elif state is not AttemptState.RUNNING or not _stop(call, why):
        state = call.state
        click.echo(f"{name} is not running: {state_words(state, seconds_so_far(call))}", err=True)
        ctx.exit(EXIT_FAILED)
    _report(ctx, call)
    ctx.exit(EXIT_DONE)


def _cancel_unreadable(location: AttemptLocation) -> None:
    if monitor.cancel_attempt(location.folder, "cancelled with bmad agent cancel"):
        monitor.wait_for_any([location.folder], CANCEL_SECONDS)
        click.echo(
            f"{printable(location.name)} was running and has been stopped; its record cannot be read:", err=True
        )


def _stop(call: RecordedCall, why: str) -> bool:
    """False: the call had already ended."""
    reason = " ".join(printable(why[:MAX_WHY]).split()) or "cancelled with bmad agent cancel"
    if not monitor.cancel_attempt(call.location.folder, reason):
        return False
    if call.location.folder not in monitor.wait_for_any([call.location.folder], CANCEL_SECONDS):
        raise AutopilotError(
            f"{call.location.name} was told to end and still runs after {CANCEL_SECONDS:g} s",
            hint="bmad agent attach shows what it does",
        )
    if call.state is AttemptState.LOST:
        finalize_lost(call.location.folder)
    return True


def _report(ctx: click.Context, call: RecordedCall) -> None:
    end = call_ending(call)
    if end is None:  # the record could not be written
        raise AutopilotError(f"{call.location.name} has ended and left no result", hint="is the disk full?")
    for text in call_footer(end, terminal(ctx)):
        click.echo(text)
    click.echo(f"what it did is still in {printable(call.spec.worktree)}")


# bmad agent logs

CHUNK = 500  # lines per write


@click.command(short_help="What a call printed.")
@click.argument("run", required=False, shell_complete=complete_call)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.option("--raw", is_flag=True, help="Print the recorded events themselves, one JSON object per line.")
@click.option("--errors", is_flag=True, help="Only what went to standard error, and the supervisor's notes.")
@click.pass_context
def logs(ctx: click.Context, run: str | None, as_json: bool, raw: bool, errors: bool) -> None:
    """What a call printed, as readable lines with the seconds since its start.

    RUN is a run's name or its beginning, RUN/STEP/N for one call of it, or a story, whose newest call is meant.
    Without it, the newest call."""
    if as_json and raw:
        raise UsageError("--json and --raw exclude each other")
    calls = read_calls(ctx)
    call = read_call(find_call(calls, run) if run is not None else newest_call(calls), calls.config)
    kinds = (ERROR, NOTE) if errors else None
    out = terminal(ctx)
    if raw:
        _print(_raw(call, kinds, out))
    elif as_json:
        lines = list(_lines(call, kinds))
        print_json("agent-logs", agent_logs(call_view(call), call.location.folder, lines, call_ending(call)))
    else:
        _print(call_header(call_view(call), out))
        _print(render_event_line(one, out) for one in _lines(call, kinds))
        _print(closing_lines(call, out))


def closing_lines(call: RecordedCall, out: Terminal) -> Iterator[str]:
    """The final lines for a call in any state."""
    end = call_ending(call)
    if end is not None:
        yield from call_footer(end, out)
    elif call.state is AttemptState.RUNNING:
        yield f"still running; follow it: {command('agent', 'attach', call.location.name)}"
    elif call.state is AttemptState.LOST:
        told = "lost: its supervisor was killed, and nobody saw how it ended"
        yield f"{told}; settle it: {command('agent', 'cancel', call.location.name)}"
    else:
        yield "it was never started"


def _lines(call: RecordedCall, kinds: tuple[str, ...] | None) -> Iterator[EventLine]:
    for event, _ in read_events(call.events):
        if kinds is None or event.kind in kinds:
            yield from readable_lines(call.agent, event)


def _raw(call: RecordedCall, kinds: tuple[str, ...] | None, out: Terminal) -> Iterator[str]:
    """Events as recorded; control characters are replaced only on a terminal."""
    from json import dumps

    for event, _ in read_events(call.events):
        if kinds is None or event.kind in kinds:
            text = dumps({"at": event.at, event.kind: event.data}, ensure_ascii=False)
            yield printable(text) if out.is_terminal else text


def _print(lines: Iterable[str]) -> None:
    """Print in chunks: a call may have a hundred thousand lines."""
    left = iter(lines)
    while piece := list(islice(left, CHUNK)):
        click.echo("\n".join(piece))


# bmad agent attach


@click.command(short_help="Follow a call until it ends.")
@click.argument("run", required=False, shell_complete=complete_call)
@click.pass_context
def attach(ctx: click.Context, run: str | None) -> None:
    """Follow a call: what it has printed, then what it prints, then how it ended. Ctrl-C leaves it running.

    RUN is named as for `bmad agent logs`; without it, the newest call that runs. The exit code is 0 where the call
    completed, 3 where a question or a usage limit ended it, else 1."""
    gc.enable()  # it may run for hours
    calls = read_calls(ctx)
    call = read_call(find_call(calls, run) if run is not None else newest_running_call(calls), calls.config)
    out = terminal(ctx)
    for text in call_header(call_view(call), out):
        click.echo(text)
    try:
        _follow(call, out)
    except KeyboardInterrupt:
        _print_detached(call)
        ctx.exit(EXIT_INTERRUPTED)
    for text in closing_lines(call, out):
        click.echo(text)
    ctx.exit(_exit_code(call))


def _follow(call: RecordedCall, out: Terminal) -> None:
    """Print new events until the call's supervisor exits. Wakes on file changes and on that exit."""
    shim = watch_shim(call.location.folder)
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


def _show(call: RecordedCall, offset: int, out: Terminal) -> int:
    """Print the events since `offset`, and return the new offset."""
    texts = []
    for event, behind in read_events(call.events, offset):
        offset = behind
        texts += [render_event_line(one, out) for one in readable_lines(call.agent, event)]
    if texts:
        click.echo("\n".join(texts))
    return offset


def _print_detached(call: RecordedCall) -> None:
    if call.state is not AttemptState.RUNNING:
        click.echo("detached; the call has ended", err=True)
        return
    click.echo("\ndetached; the call goes on", err=True)
    click.echo(f"  {command('agent', 'attach', call.location.name)}   follow it again", err=True)
    click.echo(f"  {command('agent', 'cancel', call.location.name)}   stop it", err=True)


def _exit_code(call: RecordedCall) -> int:
    end = call_ending(call)
    if end is None:
        return EXIT_FAILED
    if end.verdict.outcome is Outcome.COMPLETED:
        return EXIT_DONE
    return EXIT_HUMAN if end.verdict.outcome in (Outcome.QUESTION, Outcome.LIMIT) else EXIT_FAILED


@click.group()
def agent() -> None:
    """See that an agent works here; follow or stop a call."""


for _command in (list_, test_, logs, attach, cancel):
    agent.add_command(_command)
