"""An agent call as a person follows it: who works on what, what it says, how it ended."""

from collections.abc import Iterator
from typing import NamedTuple

from ..agents.attempts import Result, State
from ..agents.events import ERROR, NOTE, Event
from ..agents.outcomes import Outcome, Spend, Tokens, Verdict
from ..agents.protocol import Agent
from .terminal import Terminal, clean, cut, display_width, wrap

COLORS = {State.RUNNING: "green", State.FINISHED: "dim", State.LOST: "red", State.NEW: "dim"}
_EVENT_COLORS = {ERROR: "red", NOTE: "yellow"}


class CallView(NamedTuple):
    name: str
    story: str
    step: str
    agent: str
    model: str | None
    state: State
    seconds: float


class EndView(NamedTuple):
    verdict: Verdict
    result: Result


class Line(NamedTuple):
    """One readable line of a call."""

    at: float
    kind: str
    text: str


def span(seconds: float) -> str:
    """`12 s`, `3 min`, `2 h 5 min`."""
    if seconds < 60:
        return f"{max(0, int(seconds))} s"
    minutes = int(seconds // 60)
    if minutes < 60:
        return f"{minutes} min"
    return f"{minutes // 60} h {minutes % 60} min" if minutes < 48 * 60 else f"{minutes // 1440} days"


def state_words(state: State, seconds: float) -> str:
    if state is State.RUNNING:
        return f"running {span(seconds)}"
    return "not started" if state is State.NEW else state.value


def head(view: CallView, out: Terminal) -> Iterator[str]:
    agent = f"{view.agent} ({view.model})" if view.model else view.agent
    words = " · ".join(
        clean(part) for part in (view.story, view.step, agent, state_words(view.state, view.seconds))
    )
    name = clean(view.name)
    if out.is_terminal and display_width(name) + 2 + display_width(words) > out.width:
        yield out.style(cut(name, out.width), "bold")
        yield from wrap(words, out.width, "")
    else:
        yield f"{out.style(name, 'bold')}  {words}"


def readable(agent: Agent, event: Event) -> Iterator[Line]:
    """Text from an agent is data: whatever would steer a terminal is replaced."""
    for text in agent.lines(event):
        yield Line(event.at, event.kind, clean(text))


def line(one: Line, out: Terminal) -> str:
    moment = f"{one.at:7.1f}s"
    text = cut(one.text, max(20, out.width - len(moment) - 2)) if out.is_terminal else one.text
    color = _EVENT_COLORS.get(one.kind)
    return f"{out.style(moment, 'dim')}  {out.style(text, color) if color else text}"


def tail(end: EndView, out: Terminal) -> Iterator[str]:
    """How it ended, how long it took, what it cost; below it what else a person must know."""
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
        yield from _fit(f"  refused: {clean(denied)}", out)
    for problem in result.problems:
        yield from _fit(f"  problem: {clean(problem)}", out)
    dropped = (result.events or {}).get("dropped", 0)
    if dropped:
        yield from _fit(f"  {dropped:,} lines of output in the middle were not kept", out)
    if result.kept and isinstance(result.kept.get("ref"), str):
        yield from _fit(f"  kept: git show --stat {clean(result.kept['ref'])}", out)
    for other in result.outside:
        yield from _fit(f"  changed outside its work tree: {clean(other)}", out)


def outcome_words(verdict: Verdict) -> str:
    """`crashed: exit code 3 and not a word`."""
    said = clean(verdict.message)
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
