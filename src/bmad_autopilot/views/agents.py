"""`bmad agent list`: which agents there are, and which calls wait for somebody."""

import time
from collections.abc import Iterator
from typing import NamedTuple

from .calls import COLORS, CallView, state_words
from .terminal import Terminal, clean, cut, display_width, pad


class KnownAgent(NamedTuple):
    name: str
    program: str
    is_own: bool  # made by the project
    version: str | None
    problem: str | None
    roles: tuple[str, ...]
    parked: tuple[str, float] | None  # the kind of its limit, and until when
    install: str | None


class OpenCall(NamedTuple):
    """A call under way, or one that has ended and nobody has taken in."""

    call: CallView
    ended: str = ""  # in words, where it has
    last: str = ""  # the last readable line


def moment(at: float) -> str:
    """In the clock of whoever reads it."""
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
    founds = min(32, max(display_width(_found(agent)) for agent in agents))
    for agent in agents:
        color = "green" if agent.problem is None else "dim" if not agent.roles else "red"
        line = f"  {pad(clean(agent.name), names)}  {out.style(pad(_found(agent), founds), color)}"
        line += f"  {', '.join(agent.roles)}"
        yield line.rstrip() if not out.color else line
        indent = " " * (names + 4)
        if agent.parked:
            kind, until = agent.parked
            yield indent + out.style(f"parked until {moment(until)} ({clean(kind)} limit)", "yellow")
        if agent.roles and agent.install:
            yield f"{indent}{out.style('fix:', 'bold')} {agent.install}"


def _found(agent: KnownAgent) -> str:
    return clean(agent.problem or agent.version or agent.program)


def _call(one: OpenCall, out: Terminal) -> Iterator[str]:
    call = one.call
    words = one.ended or state_words(call.state, call.seconds)
    yield f"  {clean(call.name)}  {out.style(clean(words), COLORS[call.state])}"
    agent = f"{call.agent} ({call.model})" if call.model else call.agent
    text = f"    {clean(call.story)} · {clean(call.step)} · {clean(agent)}"
    if one.last:
        text += f"   {clean(one.last)}"
    yield cut(text, out.width) if out.is_terminal else text


def document(agents: list[KnownAgent], calls: list[OpenCall], more: int) -> dict[str, object]:
    return {
        "version": 1,
        "kind": "agent-list",
        "agents": [_agent_document(agent) for agent in agents],
        "calls": [
            {
                **one.call._asdict(),
                "state": one.call.state.value,
                "ended": one.ended or None,
                "last": one.last or None,
            }
            for one in calls
        ],
        "more_calls": more,
    }


def _agent_document(agent: KnownAgent) -> dict[str, object]:
    parked = {"kind": agent.parked[0], "until": agent.parked[1]} if agent.parked else None
    return {**agent._asdict(), "roles": list(agent.roles), "parked": parked, "installed": agent.problem is None}
