"""What a run came to: stories, commits, review rounds, time, cost, what remains, and the next command."""

from collections.abc import Iterator
from typing import NamedTuple

from .figures import counted, money, took
from .log_lines import fit
from .terminal import Terminal, clean, display_width, pad

LABEL = 9
MOST = 8  # of a kind that are named
MOST_TOLD = 1000  # paths in a document

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


class Question(NamedTuple):
    story: str
    text: str


class Summary(NamedTuple):
    status: str
    target: str
    run_id: str
    done: tuple[str, ...]  # stories that are done now
    left: tuple[tuple[str, str], ...]  # stories that are not, with their status
    commits: int = 0
    rounds: int = 0
    calls: int = 0
    agent_seconds: float = 0.0
    seconds: float = 0.0
    dollars: float = 0.0
    priced: int = 0  # calls that have named a price
    unpriced: int = 0
    tokens: int = 0
    checks: bool = True  # the project has commands to check with
    retrospective: str = ""
    not_held: str = ""  # how a retrospective ended that left nothing
    why: str = ""  # the one story is not done
    left_out: tuple[str, ...] = ()  # tracked files that were changed before, and are in no commit
    action_items: tuple[str, ...] = ()
    deferred: int = 0
    questions: tuple[Question, ...] = ()
    hand_over: tuple[str, ...] = ()  # where to go on by hand
    next: tuple[tuple[str, str], ...] = ()  # commands, and what they are for
    kind: str = "stories"  # what `done` and `left` are: stories, or the steps of a workflow's own file
    output: str = ""  # where the last of such steps has left what came of it


def render(view: Summary, out: Terminal) -> Iterator[str]:
    words, color = _ENDINGS.get(view.status, (view.status, "red"))
    head = fit(f"{clean(view.target)} {words}", out, "")
    yield from (out.style(line, color, "bold") for line in head)
    for label, text in _facts(view):
        yield from fit(f"  {pad(label, LABEL)} {clean(text)}", out, " " * (LABEL + 3))
    width = max((display_width(clean(command)) for command, _ in view.next), default=0)
    for index, (command, purpose) in enumerate(view.next):
        yield from _command("next" if index == 0 else "", pad(clean(command), width), purpose, out)


def _facts(view: Summary) -> Iterator[tuple[str, str]]:
    yield view.kind, _stories(view)
    if view.why:
        yield "why", view.why
    what = "agent call" if view.kind == "stories" else "call"
    calls = f"{counted(view.calls, what)} ({took(view.agent_seconds)}) in {took(view.seconds)}"
    made = (counted(view.commits, "commit"), counted(view.rounds, "review round"))
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


def _stories(view: Summary) -> str:
    left = ", ".join(f"{key} ({status})" for key, status in view.left[:MOST])
    more = f" and {len(view.left) - MOST} more" if len(view.left) > MOST else ""
    return f"{len(view.done)} done" + (f", {len(view.left)} left: {left}{more}" if left else "")


def _left_out(view: Summary) -> str:
    more = f" and {len(view.left_out) - MOST} more" if len(view.left_out) > MOST else ""
    return f"of every commit, changed before the run began: {', '.join(view.left_out[:MOST])}{more}"


def _cost(view: Summary) -> str:
    tokens = f"; {counted(view.tokens, 'token')}" if view.tokens else ""
    if not view.priced:
        return f"unknown: no call has named a price{tokens}"
    unpriced = f", and {counted(view.unpriced, 'call')} without a price" if view.unpriced else ""
    return f"{money(view.dollars)}{unpriced}{tokens}"


def _remains(view: Summary) -> Iterator[str]:
    if view.action_items:
        first = f": {view.action_items[0]}" if len(view.action_items) == 1 else ""
        yield f"{counted(len(view.action_items), 'open action item')}{first}"
    if view.deferred:
        yield f"{counted(view.deferred, 'entry')} in deferred-work.md"
    if view.retrospective:
        yield f"{view.retrospective} is open"


def _command(label: str, command: str, purpose: str, out: Terminal) -> Iterator[str]:
    """A command is there to be copied: what does not fit beside it stands below, and so does it itself at last."""
    head, indent = f"  {pad(label, LABEL)} {command}", " " * (LABEL + 5)
    if not out.is_terminal or display_width(f"{head}   {purpose}") <= out.width:
        yield f"{head}   {out.style(clean(purpose), 'dim')}"
        return
    if display_width(head.rstrip()) <= out.width:
        yield head.rstrip()
    else:
        yield from ([f"  {label}"] if label else [])
        yield from fit(f"  {command.rstrip()}", out, "  ")
    yield from (out.style(line, "dim") for line in fit(indent + clean(purpose), out, indent))


def document(view: Summary) -> dict[str, object]:
    return {
        **view._asdict(),
        "done": list(view.done),
        "left": [{"key": key, "status": status} for key, status in view.left],
        "left_out": list(view.left_out[:MOST_TOLD]),
        "action_items": list(view.action_items),
        "questions": [question._asdict() for question in view.questions],
        "hand_over": list(view.hand_over),
        "next": [{"command": command, "purpose": purpose} for command, purpose in view.next],
    }
