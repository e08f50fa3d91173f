"""Renders a flow's status (steps, current step, decisions, blockers, next commands) and the list of flows."""

from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

from ..core.errors import Diagnostic
from ..core.flow_state import STATUSES, LastSession
from ..core.json_types import Count, Positive, one_of, pick
from ..core.text import printable
from .format import LocatedMessage, message_lines
from .status import NextStep
from .terminal import Terminal, cut, display_width, pad, wrap

FLOW_DONE, SKIPPED, NOT_NEEDED, CURRENT, UPCOMING = "done", "skipped", "left-out", "current", "to-come"
MAX_DECISIONS = 5
MAX_TRIES_SHOWN = 3
LABEL_WIDTH = 9
MAX_NAME_WIDTH = 24  # columns; step names are aligned up to this width

_MARKS = {
    FLOW_DONE: ("✓", "x"),
    SKIPPED: ("–", "-"),
    NOT_NEEDED: ("–", "-"),
    CURRENT: ("▶", ">"),
    UPCOMING: ("·", "."),
}
_COLORS = {FLOW_DONE: "green", SKIPPED: "dim", NOT_NEEDED: "dim", CURRENT: "yellow", UPCOMING: "dim"}


class FlowStepLine(NamedTuple):
    number: Positive
    name: str
    mark: Annotated[str, one_of(_MARKS)]
    text: str | None  # its outcome, or a note on it
    completed: str | None = None  # date from the state file


class CurrentStep(NamedTuple):
    """The flow's current step."""

    number: Positive
    name: str
    status: Annotated[str, one_of(STATUSES)]
    sub_step: str | None = None
    retry_count: Count = 0
    tries: Positive = 3
    at_gate: Annotated[bool, "its files are there, and a person decides whether that is enough"] = False
    owes: Annotated[tuple[str, ...], "conditions that do not hold yet"] = ()
    retries: Annotated[tuple[str, ...], "why it has failed, each time"] = ()


class FlowView(NamedTuple):
    name: str  # empty: the project is in no flow
    why: str
    next: NextStep
    description: str = ""
    path: str = ""  # of the state file
    has_state: bool = False
    steps: tuple[FlowStepLine, ...] = ()
    current: CurrentStep | None = None  # None: all are done
    mismatch: str = ""  # why the state file names another step
    decisions: tuple[str, ...] = ()
    last_session: LastSession = LastSession()
    blockers: tuple[str, ...] = ()
    question: str = ""
    answer_command: str = ""  # command that answers the question
    question_run: str = ""  # id of the asking run
    run: str = ""
    supervisor: str = ""  # description of the supervising process
    others: tuple[tuple[str, str], ...] = ()  # other flows that fit: name, description
    notes: tuple[Diagnostic, ...] = ()
    board: str = ""
    is_waiting: bool = False  # a person must act
    show_all: bool = False


def render(view: FlowView, out: Terminal) -> Iterator[str]:
    yield from flow_summary_lines(view, out)
    yield ""
    yield from next_step_lines(view.next, out)


def flow_summary_lines(view: FlowView, out: Terminal) -> Iterator[str]:
    """Everything except the next step."""
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
        yield from message_lines(map(_item, view.notes), out)


def _item(note: Diagnostic) -> LocatedMessage:
    return LocatedMessage(note.location, f"{note.message} [{note.code}]", note.severity.value, "yellow", note.hint)


def _head(view: FlowView, out: Terminal) -> Iterator[str]:
    title, more = printable(view.name or "no flow"), printable(view.description)
    whole = f"{title}   {more}" if more else title
    if display_width(whole) <= out.width:
        yield out.style(title, "bold") + whole[len(title) :]
    else:
        yield out.style(cut(title, out.width), "bold")
        yield cut(more, out.width)
    yield from (out.style(line, "dim") for line in wrap(printable(view.why), out.width, ""))


def _steps(view: FlowView, out: Terminal) -> Iterator[str]:
    width = min(MAX_NAME_WIDTH, max(display_width(printable(step.name)) for step in view.steps))
    digits = len(str(view.steps[-1].number))
    for step in view.steps:
        mark = _MARKS[step.mark][0 if out.unicode else 1]
        name = pad(printable(step.name), width)
        head = f"  {mark} {step.number:>{digits}}  {name}"
        room = out.width - display_width(head) - 2
        text = cut(printable(" ".join(filter(None, (step.completed, step.text)))), room) if room > 8 else ""
        shown = f"{out.style(head, _COLORS[step.mark])}  {text}".rstrip()
        yield shown if text else out.style(head.rstrip(), _COLORS[step.mark])


def _facts(view: FlowView) -> Iterator[tuple[str, str]]:
    if view.mismatch:
        yield "place", view.mismatch
    if view.current is not None:
        yield from _current(view.current, view.show_all)
    most = len(view.decisions) if view.show_all else MAX_DECISIONS
    left = len(view.decisions) - most
    if left > 0:
        yield "decided", f"… {left} {'thing' if left == 1 else 'things'} before (--all shows them)"
    for decision in view.decisions[max(0, left) :]:
        yield "decided", decision
    date, where, reason, notes = view.last_session
    if any(view.last_session):
        ended = " at ".join(filter(None, (date, where)))
        yield "last", ": ".join(filter(None, (ended, "; ".join(filter(None, (reason, notes))))))
    for blocker in view.blockers:
        yield "blocker", blocker
    if view.supervisor:
        yield "run", f"{view.run} is under way: {view.supervisor}"
    elif view.run:
        yield "run", f"{view.run} is not over"
    if view.question:
        yield "asks", view.question


def _current(now: CurrentStep, show_all: bool) -> Iterator[tuple[str, str]]:
    words = [now.status.replace("_", " "), f"at {now.sub_step}" if now.sub_step else ""]
    failed = f"{now.retry_count} of {now.tries} tries failed" if now.retry_count else ""
    yield "step", f"{now.number}, {now.name}: " + ", ".join(filter(None, (*words, failed)))
    for reason in now.retries if show_all else now.retries[-MAX_TRIES_SHOWN:]:
        yield "failed", reason
    if now.owes:
        yield "owes", ", ".join(now.owes)


def _fact(label: str, text: str, out: Terminal) -> Iterator[str]:
    lines = wrap(printable(text), max(20, out.width - LABEL_WIDTH - 3), "")
    color = "red" if label in ("failed", "blocker") else "yellow" if label in ("asks", "place") else "bold"
    yield f"  {out.style(pad(label, LABEL_WIDTH), color)} {lines[0]}"
    yield from (" " * (LABEL_WIDTH + 3) + line for line in lines[1:])


def next_step_lines(next: NextStep, out: Terminal) -> Iterator[str]:
    """Never wraps a command, so that it can be copied; a purpose that does not fit goes below."""
    lines = wrap(printable(next.sentence), max(20, out.width - 8), "")
    yield f"  {out.style('next', 'bold')}  {lines[0]}"
    yield from (" " * 8 + line for line in lines[1:])
    commands = [(printable(command), printable(purpose)) for command, purpose in next.commands]
    width = max((display_width(command) for command, _ in commands), default=0)
    for command, purpose in commands:
        line = " " * 8 + out.style(command, "bold")
        if 8 + width + 3 + display_width(purpose) <= out.width:
            yield f"{line}{' ' * (width - display_width(command) + 3)}{out.style(purpose, 'dim')}"
        else:
            yield line
            yield from (out.style(more, "dim") for more in wrap(" " * 10 + purpose, out.width, " " * 10))


# JSON


class StateFileStatus(NamedTuple):
    path: str
    exists: bool


class FlowRun(NamedTuple):
    id: str
    supervised: bool


class FlowQuestion(NamedTuple):
    text: str
    run: str
    command: str


class FlowWarning(NamedTuple):
    file: str
    line: int | None
    message: str
    code: str
    help: str | None


class SuggestedCommand(NamedTuple):
    command: str
    purpose: str


class FlowNextStep(NamedTuple):
    sentence: str
    commands: list[SuggestedCommand]


class FlowReport(NamedTuple):
    flow: Annotated[str | None, "null: the project is in none, or nothing says in which"]
    why: Annotated[str, "why this flow"]
    description: str
    state_file: StateFileStatus | None
    board: str | None
    done: Annotated[bool, "every step is"]
    waits: Annotated[bool, "for a person: a step has failed, or a question is open (exit code 3)"]
    step: Annotated[CurrentStep | None, "the one in hand; null: none is"]
    differs: Annotated[str | None, "why state file and folder disagree about where it is; the folder counts"]
    steps: tuple[FlowStepLine, ...]
    decisions: tuple[str, ...]
    last_session: LastSession | None
    blockers: tuple[str, ...]
    run: Annotated[FlowRun | None, "one of this flow that is not over"]
    question: FlowQuestion | None
    others: Annotated[list[str], "flows that fit as well; without a flow, all that can be chosen"]
    warnings: list[FlowWarning]
    next: FlowNextStep


def flow_report(view: FlowView) -> FlowReport:
    asked = FlowQuestion(view.question, view.question_run, view.answer_command)
    return pick(
        FlowReport,
        view,
        flow=view.name or None,
        state_file=StateFileStatus(view.path, view.has_state) if view.path else None,
        board=view.board or None,
        done=bool(view.name) and view.current is None,
        waits=view.is_waiting,
        step=view.current,
        differs=view.mismatch or None,
        last_session=view.last_session if any(view.last_session) else None,
        run=FlowRun(view.run, bool(view.supervisor)) if view.run else None,
        question=asked if view.question else None,
        others=[name for name, _ in view.others],
        warnings=[
            FlowWarning(note.location.file, note.location.line, note.message, note.code, note.hint)
            for note in view.notes
        ],
        next=FlowNextStep(view.next.sentence, [SuggestedCommand(*one) for one in view.next.commands]),
    )


# The list of flows.


class ListedFlow(NamedTuple):
    name: str
    description: str
    state: Annotated[str, "its state file, from the project's top"]
    steps: tuple[str, ...]
    file: Annotated[str | None, "of a project's own"] = None
    fits: bool = False
    chosen: bool = False


class FlowList(NamedTuple):
    flows: list[ListedFlow]
    why: str


def render_flow_list(flows: Sequence[ListedFlow], why: str, out: Terminal) -> Iterator[str]:
    width = max((display_width(printable(flow.name)) for flow in flows), default=0)
    for flow in flows:
        mark = ">" if flow.chosen else " "
        fits = ", fits too" if flow.fits and not flow.chosen else ""
        own = f", {flow.file}" if flow.file else ""
        head = f"{mark} {out.style(pad(printable(flow.name), width), 'bold')}  "
        yield head + cut(printable(f"{flow.description}{own}{fits}"), max(20, out.width - width - 4))
        steps = " · ".join(f"{number} {printable(name)}" for number, name in enumerate(flow.steps, 1))
        indent = " " * (width + 4)
        yield from (out.style(line, "dim") for line in wrap(indent + steps, out.width, indent))
    yield from wrap(printable(why), out.width, "")
