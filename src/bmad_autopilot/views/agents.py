"""Renders agent calls, their events and results, and `bmad agent list`."""

import sys
import time
from collections.abc import Iterator
from typing import Annotated, NamedTuple

from ..agents.adapter import ERROR, JSON, NOTE, TEXT, Agent, AttemptVerdict, Event, Outcome, Spend, Tokens
from ..agents.attempt import AttemptResult, AttemptState
from ..core.json_types import Keywords, Seconds, one_of, pick
from ..core.text import printable
from ..project.config import ROLES
from .terminal import Terminal, cut, display_width, pad, wrap

# One agent call: its header, its events as lines, its result.

COLORS = {
    AttemptState.RUNNING: "green",
    AttemptState.FINISHED: "dim",
    AttemptState.LOST: "red",
    AttemptState.NEW: "dim",
}
_EVENT_COLORS = {ERROR: "red", NOTE: "yellow"}


class CallView(NamedTuple):
    name: str
    story: str
    step: str
    agent: str
    model: str | None
    state: AttemptState
    seconds: float


class CallEndView(NamedTuple):
    verdict: AttemptVerdict
    result: AttemptResult


class EventLine(NamedTuple):
    """One printable line of a call's output."""

    at: Annotated[float, "seconds since the agent's start"]
    kind: Annotated[str, one_of((JSON, TEXT, ERROR, NOTE))]
    text: str


def coarse_duration(seconds: float) -> str:
    """`12 s`, `3 min`, `2 h 5 min`."""
    if seconds < 60:
        return f"{max(0, int(seconds))} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 48 * 60 else f"{minutes // 1440} days"


def state_words(state: AttemptState, seconds: float) -> str:
    if state is AttemptState.RUNNING:
        return f"running {coarse_duration(seconds)}"
    return "not started" if state is AttemptState.NEW else state.value


def call_header(view: CallView, out: Terminal) -> Iterator[str]:
    agent = f"{view.agent} ({view.model})" if view.model else view.agent
    words = " · ".join(
        printable(part) for part in (view.story, view.step, agent, state_words(view.state, view.seconds))
    )
    name = printable(view.name)
    if out.is_terminal and display_width(name) + 2 + display_width(words) > out.width:
        yield out.style(cut(name, out.width), "bold")
        yield from wrap(words, out.width, "")
    else:
        yield f"{out.style(name, 'bold')}  {words}"


def readable_lines(agent: Agent, event: Event) -> Iterator[EventLine]:
    """An agent's event as lines, with terminal control characters replaced."""
    for text in agent.format_event(event):
        yield EventLine(event.at, event.kind, printable(text))


def render_event_line(one: EventLine, out: Terminal) -> str:
    moment = f"{one.at:7.1f}s"
    text = cut(one.text, max(20, out.width - len(moment) - 2)) if out.is_terminal else one.text
    color = _EVENT_COLORS.get(one.kind)
    return f"{out.style(moment, 'dim')}  {out.style(text, color) if color else text}"


def call_footer(end: CallEndView, out: Terminal) -> Iterator[str]:
    """The outcome, duration and cost; then denials, problems and where the work is kept."""
    verdict, result = end.verdict, end.result
    done = verdict.outcome is Outcome.COMPLETED
    words = [outcome_words(verdict), f"{result.seconds:.1f} s", *spend_words(verdict.spend)]
    lines = _fit(" · ".join(words), out)
    color = "green" if done else "red"
    first = lines[0]
    length = len(verdict.outcome.value)
    yield out.style(first[:length], color) + first[length:]
    yield from lines[1:]
    for denied in verdict.denials:
        yield from _fit(f"  refused: {printable(denied)}", out)
    for problem in result.problems:
        yield from _fit(f"  problem: {printable(problem)}", out)
    dropped = (result.events or {}).get("dropped", 0)
    if dropped:
        yield from _fit(f"  {dropped:,} lines of output in the middle were not kept", out)
    if result.kept and isinstance(result.kept.get("ref"), str):
        yield from _fit(f"  kept: git show --stat {printable(result.kept['ref'])}", out)
    for other in result.outside:
        yield from _fit(f"  changed outside its work tree: {printable(other)}", out)


def outcome_words(verdict: AttemptVerdict) -> str:
    """`crashed: exit code 3 and not a word`."""
    said = printable(verdict.message)
    word = verdict.outcome.value
    return word if said in ("", word) or verdict.outcome is Outcome.COMPLETED else f"{word}: {said}"


def spend_words(spend: Spend) -> list[str]:
    words = []
    if spend.dollars is not None:
        words.append(f"${spend.dollars:.2f}" if spend.dollars >= 0.1 else f"${spend.dollars:.4f}")
    if spend.tokens != Tokens():
        tokens = spend.tokens
        taken = tokens.input + tokens.cache_read + tokens.cache_write
        words.append(f"{taken:,} tokens in, {tokens.output:,} out")
    return words


def _fit(text: str, out: Terminal) -> list[str]:
    return wrap(text, out.width, "  ") if out.is_terminal else [text]


class AccountLimit(NamedTuple):
    kind: str
    until: Seconds


class KnownAgent(NamedTuple):
    name: str
    program: str
    is_own: bool  # defined by the project
    version: str | None
    problem: str | None
    roles: tuple[Annotated[str, one_of(ROLES)], ...]
    parked: AccountLimit | None
    install: str | None
    installed: bool


class OpenCall(NamedTuple):
    """A running call, or one that ended and whose result has not been collected."""

    call: CallView
    ended: str = ""  # how it ended; empty while it runs
    last: str = ""  # the last readable line


def format_timestamp(at: float) -> str:
    """Local time, to the minute."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def render(agents: list[KnownAgent], calls: list[OpenCall], more: int, out: Terminal) -> Iterator[str]:
    yield out.style("agents", "bold")
    yield from _agents(agents, out)
    if calls:
        yield ""
        yield out.style("calls under way or not yet taken in", "bold")
        for call in calls:
            yield from _call(call, out)
    if more:
        yield f"  … {more} more"


def _agents(agents: list[KnownAgent], out: Terminal) -> Iterator[str]:
    names = max(display_width(agent.name) for agent in agents)
    roles_width = max(len(", ".join(agent.roles)) for agent in agents)
    room = max(12, out.width - names - roles_width - 6) if out.is_terminal else 32
    founds = min(32, room, max(display_width(_installation_text(agent)) for agent in agents))
    for agent in agents:
        color = "green" if agent.problem is None else "red" if agent.roles else "dim"
        roles = ", ".join(agent.roles)
        found = pad(_installation_text(agent), founds) if roles else cut(_installation_text(agent), founds)
        yield f"  {pad(printable(agent.name), names)}  {out.style(found, color)}{f'  {roles}' if roles else ''}"
        indent = " " * (names + 4)
        if agent.parked:
            kind, until = agent.parked
            yield indent + out.style(f"parked until {format_timestamp(until)} ({printable(kind)} limit)", "yellow")
        if agent.roles and agent.install:
            yield f"{indent}{out.style('fix:', 'bold')} {agent.install}"


def _installation_text(agent: KnownAgent) -> str:
    return printable(agent.problem or agent.version or agent.program)


def _call(one: OpenCall, out: Terminal) -> Iterator[str]:
    """Never cuts the name, so that it can be copied; what does not fit beside it goes on the next line."""
    call = one.call
    room = out.width if out.is_terminal else sys.maxsize
    name, words = f"  {printable(call.name)}", printable(one.ended or state_words(call.state, call.seconds))
    if display_width(name) + 2 + display_width(words) <= room:
        yield f"{name}  {out.style(words, COLORS[call.state])}"
    else:
        yield name
        yield "    " + out.style(cut(words, room - 4), COLORS[call.state])
    agent = f"{call.agent} ({call.model})" if call.model else call.agent
    last = f"   {printable(one.last)}" if one.last else ""
    yield cut(f"    {printable(call.story)} · {printable(call.step)} · {printable(agent)}{last}", room)


class CallRow(NamedTuple):
    name: str
    story: str
    step: str
    agent: str
    model: str | None
    state: AttemptState
    seconds: float
    ended: str | None
    last: str | None


class AgentList(NamedTuple):
    agents: list[KnownAgent]
    calls: Annotated[list[CallRow], Keywords(maxItems=20)]
    more_calls: int


def agent_list(agents: list[KnownAgent], calls: list[OpenCall], more: int) -> AgentList:
    rows = [pick(CallRow, one.call, ended=one.ended or None, last=one.last or None) for one in calls]
    return AgentList(agents, rows, more)


class LoggedCall(NamedTuple):
    name: str
    folder: str
    story: str
    step: str
    agent: str
    model: str | None
    state: AttemptState
    seconds: float


class CallOutcome(NamedTuple):
    outcome: str
    message: str
    denials: tuple[str, ...]
    dollars: float | None
    tokens: Tokens
    kept: str | None


class AgentLogs(NamedTuple):
    call: LoggedCall
    lines: list[EventLine]
    outcome: CallOutcome | None


def agent_logs(call: CallView, folder: str, lines: list[EventLine], end: CallEndView | None) -> AgentLogs:
    logged = pick(LoggedCall, call, folder=folder, seconds=round(call.seconds, 3))
    if end is None:
        return AgentLogs(logged, lines, None)
    spend, kept = end.verdict.spend, end.result.kept["ref"] if end.result.kept else None
    outcome = pick(CallOutcome, end.verdict, dollars=spend.dollars, tokens=spend.tokens, kept=kept)
    return AgentLogs(logged, lines, outcome)
