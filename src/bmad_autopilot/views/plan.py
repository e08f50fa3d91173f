"""Renders `bmad plan`: the order of epics, their dependencies, duration and cost."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, NamedTuple

from ..core.dependency_graph import EdgeFault
from ..core.errors import Location
from ..core.estimates import Range
from ..core.json_types import Count, Figure, Positive, one_of, pick
from ..core.text import printable
from .format import fit, money, pluralize
from .terminal import Terminal, display_width, pad

# The chart: one bar per epic.

MIN_BAR_WIDTH = 10  # columns
MAX_LABEL_WIDTH = 16


class Bar(NamedTuple):
    label: str
    intervals: tuple[tuple[float, float], ...]  # start and end of its work
    is_strong: bool = False


def chart(bars: Sequence[Bar], length: float, scale: tuple[str, str], out: Terminal) -> list[str]:
    """A scale line, then one line per bar."""
    labels = min(MAX_LABEL_WIDTH, max((display_width(printable(bar.label)) for bar in bars), default=0))
    width = max(MIN_BAR_WIDTH, min(out.width, 120) - labels - 4)
    first, last = scale
    gap = max(1, width - display_width(first) - display_width(last))
    lines = [" " * (labels + 4) + out.style(first + " " * gap + last, "dim")]
    for bar in bars:
        cells = _cells(bar.intervals, length, width, out)
        shown = out.style(cells, "yellow" if bar.is_strong else "cyan")
        lines.append(f"  {pad(printable(bar.label), labels)}  {shown}".rstrip())
    return lines


def _cells(spells: Sequence[tuple[float, float]], length: float, width: int, out: Terminal) -> str:
    """Full while an agent works, thin while the epic waits for one. The shortest interval still takes one cell."""
    full, thin = ("█", "─") if out.unicode else ("#", "-")
    cells = [" "] * width
    if not spells or length <= 0:
        return ""
    each = length / width
    first, last = round(spells[0][0] / each), round(spells[-1][1] / each)
    for at in range(min(first, width - 1), min(last, width)):
        cells[at] = thin
    for begins, ends in spells:
        start = min(round(begins / each), width - 1)
        for at in range(start, min(width, max(start + 1, round(ends / each)))):
            cells[at] = full
    return "".join(cells).rstrip()


LABEL = 7
MAX_EPICS = 20
MAX_PROBLEMS = 10

HOUR, DAY = 3600.0, 86400.0


class EpicWait(NamedTuple):
    """A dependency on another epic, and where it is declared."""

    epic: str
    source: str
    location: Location | None
    is_direct: bool = True  # not implied by the other dependencies


class EpicPlan(NamedTuple):
    key: str
    number: str
    title: str
    stories: int  # not done yet
    calls: int
    waits: tuple[EpicWait, ...]
    seconds: Range
    dollars: Range | None
    intervals: tuple[tuple[float, float], ...]
    is_critical: bool  # on the critical path


class DependencyProblem(NamedTuple):
    """An invalid dependency, how the plan treats it, and its fix."""

    fault: str
    epic: str
    wait: EpicWait
    cycle: tuple[str, ...]
    message: str
    help: str


class DeclaredGain(NamedTuple):
    """The schedule with `dependencies = "declared"` instead of "order"."""

    parallel: Positive
    seconds: Figure
    edges: Count


class PlanView(NamedTuple):
    epics: tuple[EpicPlan, ...]  # sorted by start
    mode: str  # order, declared, none
    parallel: int
    seconds: Range
    dollars: Range | None
    earlier_calls: int  # calls the estimates are based on; 0: they are guesses
    epics_on_board: int  # epics on the board
    pending: tuple[tuple[str, int], ...] = ()  # epics with an open pull request: key, number
    skipped: int = 0  # unfinished epics the autopilot does not start
    declared: DeclaredGain | None = None
    by_parallel: tuple[tuple[int, float], ...] = ()
    problems: tuple[DependencyProblem, ...] = ()


_MODES = {
    "order": "each epic waits for the one before it",
    "declared": "epics wait for those that they are declared to need",
    "none": "no epic waits for another",
}


def render(view: PlanView, out: Terminal) -> Iterator[str]:
    if not view.epics:
        why = (
            "no epic is left to begin"
            if view.epics_on_board
            else "there is no epic on the board yet (bmad status)"
        )
        yield from (out.style(line, "bold") for line in fit(f"nothing to plan: {why}", out, ""))
        yield from _pending(view, out)
        return
    stories = sum(epic.stories for epic in view.epics)
    at_once = "one agent at a time" if view.parallel == 1 else f"up to {view.parallel} agents at a time"
    head = f"plan: {pluralize(len(view.epics), 'epic')}, {pluralize(stories, 'story')} left, {at_once}"
    yield from (out.style(line, "bold") for line in fit(head, out, ""))
    yield from fit(f'  {_MODES[view.mode]} (dependencies = "{view.mode}")', out, "  ")
    yield ""
    yield from _epics(view, out)
    yield ""
    yield from _chart(view, out)
    yield ""
    for label, text in _facts(view):
        yield from fit(f"  {pad(label, LABEL)} {text}", out, " " * (LABEL + 3))
    yield from _pending(view, out)
    for mark, described in ((">", _advice(view)), ("!", _problems(view))):
        for line in described:
            yield from fit(f"  {mark} {printable(line)}", out, " " * 4)


def _epics(view: PlanView, out: Terminal) -> Iterator[str]:
    width = max(display_width(printable(epic.key)) for epic in view.epics)
    for epic in view.epics[:MAX_EPICS]:
        title = f"{printable(epic.title)}, " if epic.title else ""
        text = f"{title}{pluralize(epic.stories, 'story')}, {duration(epic.seconds.middle)}"
        text += _dependency_text([wait for wait in epic.waits if wait.is_direct])
        yield from fit(f"  {pad(printable(epic.key), width)}  {text}", out, " " * 4)
    yield from _more(len(view.epics) - MAX_EPICS, "bmad plan --json has them all")


def _dependency_text(waits: Sequence[EpicWait]) -> str:
    """`; after epic-1, epic-2 (epics.md:12), epic-4 (bmad-autopilot.toml:3)`"""
    named: dict[str, list[str]] = {}
    for wait in waits:
        place = wait.location._replace(file=os.path.basename(wait.location.file)) if wait.location else ""
        named.setdefault(str(place), []).append(wait.epic)
    parts = [", ".join(epics) + (f" ({place})" if place else "") for place, epics in named.items()]
    return f"; after {printable(', '.join(parts))}" if parts else ""


def _chart(view: PlanView, out: Terminal) -> list[str]:
    shown = view.epics[:MAX_EPICS]
    bars = [Bar(epic.key, epic.intervals, epic.is_critical) for epic in shown]
    last = max((ends for epic in shown for _, ends in epic.intervals), default=0.0)
    return chart(bars, last, ("now", duration(last)), out)


def _facts(view: PlanView) -> Iterator[tuple[str, str]]:
    calls = sum(epic.calls for epic in view.epics)
    source = (
        f"by {pluralize(view.earlier_calls, 'earlier call')} here"
        if view.earlier_calls
        else "guessed: no call was made here yet"
    )
    yield "time", f"about {format_range(view.seconds, duration)} of agents' work; {source}"
    if view.dollars is None:
        yield "cost", f"not known: of {pluralize(view.earlier_calls, 'earlier call')} none told a price"
    else:
        yield "cost", f"about {format_range(view.dollars, money_rounded)}; {source}"
    yield "calls", f"{calls:,}, if no review asks for changes"
    chain = [epic.key for epic in view.epics if epic.is_critical]
    if view.mode != "order" and len(chain) > 1:
        more = f" … {chain[-1]}" if len(chain) > MAX_PROBLEMS else ""
        named = chain[:MAX_PROBLEMS] if not more else chain[: MAX_PROBLEMS - 1]
        yield "longest", printable(" → ".join(named) + more)


def _pending(view: PlanView, out: Terminal) -> Iterator[str]:
    for key, pull in view.pending[:MAX_EPICS]:
        described = f"pull request #{pull} is open" if pull else "its stories are over"
        yield from fit(f"  {printable(key)}: {described}; it comes first", out, "    ")
    if view.skipped:
        left = pluralize(view.skipped, "further epic")
        text = f"  {left} {'is' if view.skipped == 1 else 'are'} left alone: bmad autopilot --dry-run says why"
        yield from fit(text, out, "    ")


def _advice(view: PlanView) -> Iterator[str]:
    now, declared = view.seconds.middle, view.declared
    if declared is not None:
        gain = f"about {duration(declared.seconds)} instead of {duration(now)}"
        how = f'dependencies = "declared" and --parallel {declared.parallel}'
        if declared.edges:
            yield f"with {how}: {gain}"
        else:
            yield (
                f"no epic says what it needs; with {how} all would begin at once: {gain}. Say what needs what in "
                '[depends] first, or as "Depends on: Epic 2" in the epics file'
            )
    if view.by_parallel:
        times = ", ".join(f"--parallel {slots}: about {duration(seconds)}" for slots, seconds in view.by_parallel)
        yield f"faster with more at a time: {times}"


def _problems(view: PlanView) -> Iterator[str]:
    for one in view.problems[:MAX_PROBLEMS]:
        place = f"{one.wait.location}: " if one.wait.location else ""
        yield f"{place}{one.message} ({one.help})"
    if len(view.problems) > MAX_PROBLEMS:
        yield f"{len(view.problems) - MAX_PROBLEMS} more such: bmad plan --json has them all"


def _more(count: int, where: str) -> Iterator[str]:
    if count > 0:
        yield f"  … {count} more: {where}"


def format_range(estimate: Range, to_text: Callable[[float], str]) -> str:
    return f"{to_text(estimate.middle)} ({to_text(estimate.low)} to {to_text(estimate.high)})"


def duration(seconds: float) -> str:
    """Rounded for a forecast: `40 s`, `25 min`, `3 h 10 min`, `14 h`, `6 days`."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    if seconds < HOUR:
        return f"{seconds / 60:.0f} min"
    if seconds < 10 * HOUR:
        hours, minutes = divmod(5 * round(seconds / 300), 60)
        return f"{hours} h {minutes} min" if minutes else f"{hours} h"
    return f"{seconds / HOUR:.0f} h" if seconds < 3 * DAY else f"{seconds / DAY:.0f} days"


def money_rounded(dollars: float) -> str:
    return money(dollars) if dollars < 10 else f"${dollars:,.0f}"


class WaitRow(NamedTuple):
    epic: str
    source: Annotated[str, one_of(("order", "settings", "epics", "stories"))]
    file: str | None
    line: Positive | None


class EpicRow(NamedTuple):
    epic: str
    number: str
    title: str
    stories: Annotated[Count, "that are left"]
    calls: Annotated[Count, "of agents, if no review asks for changes"]
    waits_for: list[WaitRow]
    seconds: Range
    dollars: Range | None
    begins: Annotated[Figure, "seconds from now"]
    ends: Figure
    critical: Annotated[bool, "part of the chain that takes longest"]


class PendingEpic(NamedTuple):
    epic: str
    pull: Positive | None


class ParallelGain(NamedTuple):
    parallel: Positive
    seconds: Figure


class ProblemRow(NamedTuple):
    fault: EdgeFault
    epic: str
    waits_for: WaitRow
    cycle: tuple[str, ...]
    message: str
    help: str


class EpicSchedule(NamedTuple):
    dependencies: Annotated[str, one_of(_MODES)]
    parallel: Positive
    epics: Annotated[list[EpicRow], "by when they begin"]
    pending: Annotated[list[PendingEpic], "epics whose stories are over: they come first"]
    left_alone: Annotated[Count, "epics that are not done and that nobody begins"]
    seconds: Range
    dollars: Annotated[Range | None, "null: no earlier call told a price"]
    earlier_calls: Annotated[Count, "that the figures are taken from; 0: they are guessed"]
    declared: Annotated[DeclaredGain | None, 'what dependencies = "declared" would bring in place of the order']
    by_parallel: Annotated[list[ParallelGain], "what more agents at a time would bring"]
    problems: list[ProblemRow]


def epic_schedule(view: PlanView) -> EpicSchedule:
    return pick(
        EpicSchedule,
        view,
        dependencies=view.mode,
        epics=[_epic_row(epic) for epic in view.epics],
        pending=[PendingEpic(key, pull or None) for key, pull in view.pending],
        left_alone=view.skipped,
        by_parallel=[ParallelGain(*one) for one in view.by_parallel],
        problems=[pick(ProblemRow, one, waits_for=_wait_row(one.wait)) for one in view.problems],
    )


def _epic_row(epic: EpicPlan) -> EpicRow:
    return pick(
        EpicRow,
        epic,
        epic=epic.key,
        waits_for=[_wait_row(wait) for wait in epic.waits],
        begins=epic.intervals[0][0] if epic.intervals else 0.0,
        ends=epic.intervals[-1][1] if epic.intervals else 0.0,
        critical=epic.is_critical,
    )


def _wait_row(wait: EpicWait) -> WaitRow:
    place = wait.location
    return WaitRow(wait.epic, wait.source, place.file if place else None, place.line if place else None)
