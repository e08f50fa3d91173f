"""bmad agent logs: what a call printed, as readable lines."""

from collections.abc import Iterable, Iterator
from itertools import islice

import click

from ..agents.attempts import State
from ..agents.events import ERROR, NOTE, read_events
from ..core.commands import command
from ..core.errors import UsageError
from ..views.calls import Line, head, line, readable, tail
from ..views.terminal import Terminal, clean
from .agent_calls import complete_call, find_call, newest, read_calls
from .agent_reading import Call, ending, read_call, view
from .facts import print_json, terminal

CHUNK = 500  # lines that are written at once


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
    call = read_call(find_call(calls, run) if run is not None else newest(calls), calls.config)
    kinds = (ERROR, NOTE) if errors else None
    out = terminal(ctx)
    if raw:
        _print(_raw(call, kinds, out))
    elif as_json:
        print_json(_document(call, _lines(call, kinds)))
    else:
        _print(head(view(call), out))
        _print(line(one, out) for one in _lines(call, kinds))
        _print(closing(call, out))


def closing(call: Call, out: Terminal) -> Iterator[str]:
    """The last line, whatever state the call is in."""
    end = ending(call)
    if end is not None:
        yield from tail(end, out)
    elif call.state is State.RUNNING:
        yield f"still running; follow it: {command('agent', 'attach', call.place.name)}"
    elif call.state is State.LOST:
        told = "lost: its supervisor was killed, and nobody saw how it ended"
        yield f"{told}; settle it: {command('agent', 'cancel', call.place.name)}"
    else:
        yield "it was never started"


def _lines(call: Call, kinds: tuple[str, ...] | None) -> Iterator[Line]:
    for event, _ in read_events(call.events):
        if kinds is None or event.kind in kinds:
            yield from readable(call.agent, event)


def _raw(call: Call, kinds: tuple[str, ...] | None, out: Terminal) -> Iterator[str]:
    """As recorded; only a terminal is kept from what could steer it."""
    from json import dumps

    for event, _ in read_events(call.events):
        if kinds is None or event.kind in kinds:
            text = dumps({"at": event.at, event.kind: event.data}, ensure_ascii=False)
            yield clean(text) if out.is_terminal else text


def _print(lines: Iterable[str]) -> None:
    """In pieces: a call may have printed a hundred thousand lines."""
    left = iter(lines)
    while piece := list(islice(left, CHUNK)):
        click.echo("\n".join(piece))


def _document(call: Call, lines: Iterable[Line]) -> dict[str, object]:
    shown, end = view(call), ending(call)
    return {
        "version": 1,
        "kind": "agent-logs",
        "call": {
            "name": shown.name,
            "folder": call.place.folder,
            "story": shown.story,
            "step": shown.step,
            "agent": shown.agent,
            "model": shown.model,
            "state": shown.state.value,
            "seconds": round(shown.seconds, 3),
        },
        "lines": [one._asdict() for one in lines],
        "outcome": None
        if end is None
        else {
            "outcome": end.verdict.outcome.value,
            "message": end.verdict.message,
            "denials": list(end.verdict.denials),
            "dollars": end.verdict.spend.dollars,
            "tokens": vars(end.verdict.spend.tokens),
            "kept": end.result.kept["ref"] if end.result.kept else None,
        },
    }
