"""`bmad agent list`: which agents there are, and which calls wait for somebody."""

import sys
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
    roles_width = max(len(", ".join(agent.roles)) for agent in agents)
    room = max(12, out.width - names - roles_width - 6) if out.is_terminal else 32
    founds = min(32, room, max(display_width(_found(agent)) for agent in agents))
    for agent in agents:
        color = "green" if agent.problem is None else "red" if agent.roles else "dim"
        roles = ", ".join(agent.roles)
        found = pad(_found(agent), founds) if roles else cut(_found(agent), founds)
        yield f"  {pad(clean(agent.name), names)}  {out.style(found, color)}{f'  {roles}' if roles else ''}"
        indent = " " * (names + 4)
        if agent.parked:
            kind, until = agent.parked
            yield indent + out.style(f"parked until {moment(until)} ({clean(kind)} limit)", "yellow")
        if agent.roles and agent.install:
            yield f"{indent}{out.style('fix:', 'bold')} {agent.install}"


def _found(agent: KnownAgent) -> str:
    return clean(agent.problem or agent.version or agent.program)


def _call(one: OpenCall, out: Terminal) -> Iterator[str]:
    """The name is there to be copied, so it is whole; what does not fit beside it stands below."""
    call = one.call
    room = out.width if out.is_terminal else sys.maxsize
    name, words = f"  {clean(call.name)}", clean(one.ended or state_words(call.state, call.seconds))
    if display_width(name) + 2 + display_width(words) <= room:
        yield f"{name}  {out.style(words, COLORS[call.state])}"
    else:
        yield name
        yield "    " + out.style(cut(words, room - 4), COLORS[call.state])
    agent = f"{call.agent} ({call.model})" if call.model else call.agent
    last = f"   {clean(one.last)}" if one.last else ""
    yield cut(f"    {clean(call.story)} · {clean(call.step)} · {clean(agent)}{last}", room)


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
