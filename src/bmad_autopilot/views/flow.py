"""Where a flow stands: its steps, the one in hand, what was decided, what stands in the way, what comes next."""

from collections.abc import Iterator
from typing import NamedTuple

from ..core.diagnostics import Diagnostic
from ..core.flow_state import LastSession
from .listing import Item, listing
from .status import Next
from .terminal import Terminal, clean, cut, display_width, pad, wrap

DONE, SKIPPED, LEFT_OUT, NOW, TO_COME = "done", "skipped", "left-out", "current", "to-come"
MOST_DECISIONS = 5
MOST_TRIES = 3
LABEL = 9
NAME = 24  # columns that names of steps are lined up in

_MARKS = {DONE: ("✓", "x"), SKIPPED: ("–", "-"), LEFT_OUT: ("–", "-"), NOW: ("▶", ">"), TO_COME: ("·", ".")}
_COLORS = {DONE: "green", SKIPPED: "dim", LEFT_OUT: "dim", NOW: "yellow", TO_COME: "dim"}


class StepLine(NamedTuple):
    number: int
    name: str
    mark: str
    text: str = ""  # what came of it, or what there is to know of it
    completed: str = ""  # when, as the state file has it


class Current(NamedTuple):
    """The step in hand."""

    number: int
    name: str
    status: str
    sub_step: str = ""
    retry_count: int = 0
    tries: int = 3
    at_gate: bool = False
    owes: tuple[str, ...] = ()  # what it has not left yet
    retries: tuple[str, ...] = ()  # why it failed


class FlowView(NamedTuple):
    name: str  # empty: the project is in none
    why: str
    next: Next
    description: str = ""
    path: str = ""  # of the state file
    has_state: bool = False
    steps: tuple[StepLine, ...] = ()
    current: Current | None = None  # None: all are done
    differs: str = ""  # why the state file says another step
    decisions: tuple[str, ...] = ()
    last: LastSession = LastSession()
    blockers: tuple[str, ...] = ()
    asks: str = ""
    answer: str = ""  # the command
    asked_by: str = ""  # the run
    run: str = ""
    at_work: str = ""  # who looks after it
    others: tuple[tuple[str, str], ...] = ()  # flows that can be chosen too: name, description
    notes: tuple[Diagnostic, ...] = ()
    board: str = ""
    waits: bool = False  # for a person
    show_all: bool = False


def render(view: FlowView, out: Terminal) -> Iterator[str]:
    yield from summary(view, out)
    yield ""
    yield from coming(view.next, out)


def summary(view: FlowView, out: Terminal) -> Iterator[str]:
    """All but what comes next."""
    yield from _head(view, out)
    if view.steps:
        yield ""
        yield from _steps(view, out)
    facts = list(_facts(view))
    if facts:
        yield ""
        for label, text in facts:
            yield from _fact(label, text, out)
    if view.notes:
        yield ""
        yield from listing(map(_item, view.notes), out)


def _item(note: Diagnostic) -> Item:
    return Item(note.place, f"{note.message} [{note.code}]", note.severity.value, "yellow", note.hint)


def _head(view: FlowView, out: Terminal) -> Iterator[str]:
    title, more = clean(view.name or "no flow"), clean(view.description)
    whole = f"{title}   {more}" if more else title
    if display_width(whole) <= out.width:
        yield out.style(title, "bold") + whole[len(title) :]
    else:
        yield out.style(cut(title, out.width), "bold")
        yield cut(more, out.width)
    yield from (out.style(line, "dim") for line in wrap(clean(view.why), out.width, ""))


def _steps(view: FlowView, out: Terminal) -> Iterator[str]:
    width = min(NAME, max(display_width(clean(step.name)) for step in view.steps))
    digits = len(str(view.steps[-1].number))
    for step in view.steps:
        mark = _MARKS[step.mark][0 if out.unicode else 1]
        name = pad(clean(step.name), width)
        head = f"  {mark} {step.number:>{digits}}  {name}"
        room = out.width - display_width(head) - 2
        text = cut(clean(" ".join(filter(None, (step.completed, step.text)))), room) if room > 8 else ""
        shown = f"{out.style(head, _COLORS[step.mark])}  {text}".rstrip()
        yield shown if text else out.style(head.rstrip(), _COLORS[step.mark])


def _facts(view: FlowView) -> Iterator[tuple[str, str]]:
    if view.differs:
        yield "place", view.differs
    if view.current is not None:
        yield from _current(view.current, view.show_all)
    most = len(view.decisions) if view.show_all else MOST_DECISIONS
    left = len(view.decisions) - most
    if left > 0:
        yield "decided", f"… {left} {'thing' if left == 1 else 'things'} before (--all shows them)"
    for decision in view.decisions[max(0, left) :]:
        yield "decided", decision
    date, where, reason, notes = view.last
    if any(view.last):
        ended = " at ".join(filter(None, (date, where)))
        yield "last", ": ".join(filter(None, (ended, "; ".join(filter(None, (reason, notes))))))
    for blocker in view.blockers:
        yield "blocker", blocker
    if view.at_work:
        yield "run", f"{view.run} is under way: {view.at_work}"
    elif view.run:
        yield "run", f"{view.run} is not over"
    if view.asks:
        yield "asks", view.asks


def _current(now: Current, show_all: bool) -> Iterator[tuple[str, str]]:
    words = [now.status.replace("_", " "), f"at {now.sub_step}" if now.sub_step else ""]
    failed = f"{now.retry_count} of {now.tries} tries failed" if now.retry_count else ""
    yield "step", f"{now.number}, {now.name}: " + ", ".join(filter(None, (*words, failed)))
    for reason in now.retries if show_all else now.retries[-MOST_TRIES:]:
        yield "failed", reason
    if now.owes:
        yield "owes", ", ".join(now.owes)


def _fact(label: str, text: str, out: Terminal) -> Iterator[str]:
    lines = wrap(clean(text), max(20, out.width - LABEL - 3), "")
    color = "red" if label in ("failed", "blocker") else "yellow" if label in ("asks", "place") else "bold"
    yield f"  {out.style(pad(label, LABEL), color)} {lines[0]}"
    yield from (" " * (LABEL + 3) + line for line in lines[1:])


def coming(next: Next, out: Terminal) -> Iterator[str]:
    """A command is there to be copied: what does not fit beside it stands below."""
    lines = wrap(clean(next.sentence), max(20, out.width - 8), "")
    yield f"  {out.style('next', 'bold')}  {lines[0]}"
    yield from (" " * 8 + line for line in lines[1:])
    width = max((display_width(clean(command)) for command, _ in next.commands), default=0)
    for command, purpose in next.commands:
        line = " " * 8 + out.style(clean(command), "bold")
        if 8 + width + 3 + display_width(purpose) <= out.width:
            yield f"{line}{' ' * (width - display_width(clean(command)) + 3)}{out.style(clean(purpose), 'dim')}"
        else:
            yield line
            yield from (out.style(more, "dim") for more in wrap(" " * 10 + clean(purpose), out.width, " " * 10))


# JSON


def document(view: FlowView) -> dict[str, object]:
    return {
        "version": 1,
        "kind": "flow",
        "flow": view.name or None,
        "why": view.why,
        "description": view.description,
        "state_file": {"path": view.path, "exists": view.has_state} if view.path else None,
        "board": view.board or None,
        "done": bool(view.name) and view.current is None,
        "waits": view.waits,
        "step": _step_document(view.current) if view.current else None,
        "differs": view.differs or None,
        "steps": [
            {**step._asdict(), "text": step.text or None, "completed": step.completed or None}
            for step in view.steps
        ],
        "decisions": list(view.decisions),
        "last_session": _last_document(view),
        "blockers": list(view.blockers),
        "run": {"id": view.run, "supervised": bool(view.at_work)} if view.run else None,
        "question": {"text": view.asks, "run": view.asked_by, "command": view.answer} if view.asks else None,
        "others": [name for name, _ in view.others],
        "warnings": [_note_document(note) for note in view.notes],
        "next": next_document(view.next),
    }


def _step_document(now: Current) -> dict[str, object]:
    return {
        **now._asdict(),
        "sub_step": now.sub_step or None,
        "owes": list(now.owes),
        "retries": list(now.retries),
    }


def _last_document(view: FlowView) -> dict[str, str] | None:
    return view.last._asdict() if any(view.last) else None


def _note_document(note: Diagnostic) -> dict[str, object]:
    place = note.place
    return {"file": place.file, "line": place.line, "message": note.message, "code": note.code, "help": note.hint}


def next_document(next: Next) -> dict[str, object]:
    listed = [{"command": command, "purpose": purpose} for command, purpose in next.commands]
    return {"sentence": next.sentence, "commands": listed}
