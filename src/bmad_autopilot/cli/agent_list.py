"""bmad agent list: which agents there are, and which calls wait for somebody."""

import os
import time

import click

from ..agents.attempts import State, read_result, state_of
from ..agents.events import read_events
from ..agents.judging import by_ending
from ..agents.shim import endings
from ..agents.verdicts import is_harvested
from ..core.errors import AutopilotError
from ..project.config import Config, load_config
from ..project.root import find_root
from ..project.traces import has_traces
from ..runs.layout import Place, find_attempts, runs_folder
from ..views.agents import OpenCall, document, render
from ..views.calls import CallView, readable, span
from .agent_known import known_agents
from .agent_reading import Call, read_call, view
from .facts import print_json, terminal

MOST = 20
LOOK_BACK = 500
TAIL = 64 * 1024


@click.command("list", short_help="Which agents there are; which calls are under way.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """Each agent with its version, the roles that use it and how long its account is parked; and the calls that
    are under way or have not been taken in yet, the newest first."""
    root = find_root(ctx.obj[0])
    config = load_config(root)
    in_project = has_traces(root.path)
    agents = known_agents(root, config, in_project=in_project)
    places = _open(find_attempts(runs_folder(root.path)))
    calls = [_open_call(place, config) for place in places[:MOST]]
    more = len(places) - len(calls)
    if as_json:
        print_json(document(agents, calls, more))
    else:
        click.echo("\n".join(render(agents, calls, more, terminal(ctx))))


def _open(places: list[Place]) -> list[Place]:
    ended = (place for place in places[:LOOK_BACK] if not is_harvested(place.folder))
    return [place for place in ended if state_of(place.folder) is not State.NEW]


def _open_call(place: Place, config: Config) -> OpenCall:
    try:
        call = read_call(place, config)
        return OpenCall(view(call), _ended(call), _last_line(call))
    except AutopilotError as error:
        unknown = CallView(place.name, "?", place.step, "?", None, state_of(place.folder), 0.0)
        return OpenCall(unknown, error.message)


def _ended(call: Call) -> str:
    """From the result alone: a list is not the place to read through what an agent printed."""
    result = read_result(call.place.folder)
    if result is None:
        return "lost: its supervisor was killed" if call.state is State.LOST else ""
    how = f"exit code {result.exit}" if result.by == endings.EXIT and result.exit is not None else None
    ago = span(time.time() - result.ended_at)
    return f"ended {ago} ago: {how or by_ending(result.ending).message}"


def _last_line(call: Call) -> str:
    """Of the last few events. Where reading begins in the middle of a line, that line is passed over."""
    try:
        begin = max(0, os.path.getsize(call.events) - TAIL)
    except OSError:
        return ""
    last = ""
    for event, _ in read_events(call.events, begin):
        for line in readable(call.agent, event):
            last = line.text
    return last
