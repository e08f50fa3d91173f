"""Renders the summary of a finished run: stories, commits, review rounds, time, cost and the next command."""

from collections.abc import Iterator
from typing import NamedTuple

from ..core.text import printable
from .format import elapsed, fit, money, pluralize
from .terminal import Terminal, display_width, pad

LABEL = 9
MAX_NAMED = 8  # items named per list
MAX_DOCUMENT_PATHS = 1000  # paths in a document

_ENDINGS = {
    "completed": ("is done", "green"),
    "not-done": ("is not done", "red"),
    "failed": ("is not done", "red"),
    "waiting": ("waits for you", "yellow"),
    "handed-over": ("is in your hands", "yellow"),
    "left": ("is left as it stands", "yellow"),
    "paused": ("is paused, as somebody asked", "yellow"),
    "pending": ("waits for others", "cyan"),
    "session-over": ("has come to the end of a session", "green"),
}


class SummaryQuestion(NamedTuple):
    story: str
    text: str


class RunSummary(NamedTuple):
    status: str
    target: str
    run_id: str
    done: tuple[str, ...]  # finished stories
    left: tuple[tuple[str, str], ...]  # unfinished stories: key, status
    commits: int = 0
    rounds: int = 0
    calls: int = 0
    agent_seconds: float = 0.0
    seconds: float = 0.0
    dollars: float = 0.0
    priced: int = 0  # calls that reported a price
    unpriced: int = 0
    tokens: int = 0
    checks: bool = True  # the project has check commands
    retrospective: str = ""
    not_held: str = ""  # why the retrospective produced no document
    why: str = ""  # why the single story is not done
    left_out: tuple[str, ...] = ()  # tracked files changed before the run, in no commit
    action_items: tuple[str, ...] = ()
    deferred: int = 0
    questions: tuple[SummaryQuestion, ...] = ()
    hand_over: tuple[str, ...] = ()  # how to take over manually
    next: tuple[tuple[str, str], ...] = ()  # command, purpose
    kind: str = "stories"  # what `done` and `left` contain: stories, or steps of a workflow file
    output: str = ""  # path of the last step's output


def render(view: RunSummary, out: Terminal) -> Iterator[str]:
    words, color = _ENDINGS.get(view.status, (view.status, "red"))
    head = fit(f"{printable(view.target)} {words}", out, "")
    yield from (out.style(line, color, "bold") for line in head)
    for label, text in _facts(view):
        yield from fit(f"  {pad(label, LABEL)} {printable(text)}", out, " " * (LABEL + 3))
    width = max((display_width(printable(command)) for command, _ in view.next), default=0)
    for index, (command, purpose) in enumerate(view.next):
        yield from _command("next" if index == 0 else "", pad(printable(command), width), purpose, out)


def _facts(view: RunSummary) -> Iterator[tuple[str, str]]:
    yield view.kind, _stories(view)
    if view.why:
        yield "why", view.why
    what = "agent call" if view.kind == "stories" else "call"
    calls = f"{pluralize(view.calls, what)} ({elapsed(view.agent_seconds)}) in {elapsed(view.seconds)}"
    made = (pluralize(view.commits, "commit"), pluralize(view.rounds, "review round"))
    yield "work", " · ".join((*(made if view.kind == "stories" else ()), calls))
    if view.output:
        yield "output", view.output
    if view.priced or view.unpriced:
        yield "cost", _cost(view)
    if not view.checks:
        yield (
            "checks",
            "no check commands were found: none was run (set `test` under [commands] in bmad-autopilot.toml)",
        )
    for question in view.questions:
        yield "asks", f"{question.story}: {question.text}"
    if view.not_held:
        yield "look back", view.not_held
    if view.left_out:
        yield "left out", _left_out(view)
    for line in view.hand_over:
        yield "by hand", line
    remains = list(_remains(view))
    if remains:
        yield "remains", " · ".join(remains)


def _stories(view: RunSummary) -> str:
    left = ", ".join(f"{key} ({status})" for key, status in view.left[:MAX_NAMED])
    more = f" and {len(view.left) - MAX_NAMED} more" if len(view.left) > MAX_NAMED else ""
    return f"{len(view.done)} done" + (f", {len(view.left)} left: {left}{more}" if left else "")


def _left_out(view: RunSummary) -> str:
    more = f" and {len(view.left_out) - MAX_NAMED} more" if len(view.left_out) > MAX_NAMED else ""
    return f"of every commit, changed before the run began: {', '.join(view.left_out[:MAX_NAMED])}{more}"


def _cost(view: RunSummary) -> str:
    tokens = f"; {pluralize(view.tokens, 'token')}" if view.tokens else ""
    if not view.priced:
        return f"unknown: no call has named a price{tokens}"
    unpriced = f", and {pluralize(view.unpriced, 'call')} without a price" if view.unpriced else ""
    return f"{money(view.dollars)}{unpriced}{tokens}"


def _remains(view: RunSummary) -> Iterator[str]:
    if view.action_items:
        first = f": {view.action_items[0]}" if len(view.action_items) == 1 else ""
        yield f"{pluralize(len(view.action_items), 'open action item')}{first}"
    if view.deferred:
        yield f"{pluralize(view.deferred, 'entry')} in deferred-work.md"
    if view.retrospective:
        yield f"{view.retrospective} is open"


def _command(label: str, command: str, purpose: str, out: Terminal) -> Iterator[str]:
    """Keeps the command on one line if possible, so that it can be copied; the purpose goes below if needed."""
    head, indent = f"  {pad(label, LABEL)} {command}", " " * (LABEL + 5)
    if not out.is_terminal or display_width(f"{head}   {purpose}") <= out.width:
        yield f"{head}   {out.style(printable(purpose), 'dim')}"
        return
    if display_width(head.rstrip()) <= out.width:
        yield head.rstrip()
    else:
        yield from ([f"  {label}"] if label else [])
        yield from fit(f"  {command.rstrip()}", out, "  ")
    yield from (out.style(line, "dim") for line in fit(indent + printable(purpose), out, indent))


def document(view: RunSummary) -> dict[str, object]:
    return {
        **view._asdict(),
        "done": list(view.done),
        "left": [{"key": key, "status": status} for key, status in view.left],
        "left_out": list(view.left_out[:MAX_DOCUMENT_PATHS]),
        "action_items": list(view.action_items),
        "questions": [question._asdict() for question in view.questions],
        "hand_over": list(view.hand_over),
        "next": [{"command": command, "purpose": purpose} for command, purpose in view.next],
    }
