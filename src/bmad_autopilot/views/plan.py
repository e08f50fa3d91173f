"""`bmad plan`: which epic comes when, what it waits for and why, how long it takes, what it costs."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..core.errors import Place
from ..core.estimates import Range
from .chart import Bar, chart
from .figures import counted, money
from .log_lines import fit
from .terminal import Terminal, clean, display_width, pad

LABEL = 7
MOST_EPICS = 20
MOST_PROBLEMS = 10

HOUR, DAY = 3600.0, 86400.0


class Wait(NamedTuple):
    """For which epic, and who says so."""

    epic: str
    source: str
    place: Place | None
    is_plain: bool = True  # it does not follow from the others


class EpicPlan(NamedTuple):
    key: str
    number: str
    title: str
    stories: int  # that are left
    calls: int
    waits: tuple[Wait, ...]
    seconds: Range
    dollars: Range | None
    spells: tuple[tuple[float, float], ...]
    is_critical: bool  # part of the chain that takes longest


class Told(NamedTuple):
    """Something wrong with what was declared, how it is taken, and what helps."""

    fault: str
    epic: str
    wait: Wait
    cycle: tuple[str, ...]
    message: str
    help: str


class Declared(NamedTuple):
    """What `dependencies = "declared"` would bring in place of the order."""

    parallel: int
    seconds: float
    edges: int


class PlanView(NamedTuple):
    epics: tuple[EpicPlan, ...]  # by when they begin
    mode: str  # order, declared, none
    parallel: int
    seconds: Range
    dollars: Range | None
    earlier: int  # calls the figures are taken from; 0: they are guessed
    known: int  # epics on the board
    pending: tuple[tuple[str, int], ...] = ()  # epics whose pull requests are open, with their numbers
    left_alone: int = 0  # epics that are not done and that nobody begins
    declared: Declared | None = None
    by_parallel: tuple[tuple[int, float], ...] = ()
    problems: tuple[Told, ...] = ()


_MODES = {
    "order": "each epic waits for the one before it",
    "declared": "epics wait for those that they are declared to need",
    "none": "no epic waits for another",
}


def render(view: PlanView, out: Terminal) -> Iterator[str]:
    if not view.epics:
        why = "no epic is left to begin" if view.known else "there is no epic on the board yet (bmad status)"
        yield from (out.style(line, "bold") for line in fit(f"nothing to plan: {why}", out, ""))
        yield from _pending(view, out)
        return
    stories = sum(epic.stories for epic in view.epics)
    at_once = "one agent at a time" if view.parallel == 1 else f"up to {view.parallel} agents at a time"
    head = f"plan: {counted(len(view.epics), 'epic')}, {counted(stories, 'story')} left, {at_once}"
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
    for mark, told in ((">", _advice(view)), ("!", _problems(view))):
        for line in told:
            yield from fit(f"  {mark} {clean(line)}", out, " " * 4)


def _epics(view: PlanView, out: Terminal) -> Iterator[str]:
    width = max(display_width(clean(epic.key)) for epic in view.epics)
    for epic in view.epics[:MOST_EPICS]:
        title = f"{clean(epic.title)}, " if epic.title else ""
        text = f"{title}{counted(epic.stories, 'story')}, {duration(epic.seconds.middle)}"
        text += _after([wait for wait in epic.waits if wait.is_plain])
        yield from fit(f"  {pad(clean(epic.key), width)}  {text}", out, " " * 4)
    yield from _more(len(view.epics) - MOST_EPICS, "bmad plan --json has them all")


def _after(waits: Sequence[Wait]) -> str:
    """`; after epic-1, epic-2 (epics.md:12), epic-4 (bmad-autopilot.toml:3)`"""
    named: dict[str, list[str]] = {}
    for wait in waits:
        place = wait.place._replace(file=os.path.basename(wait.place.file)) if wait.place else ""
        named.setdefault(str(place), []).append(wait.epic)
    parts = [", ".join(epics) + (f" ({place})" if place else "") for place, epics in named.items()]
    return f"; after {clean(', '.join(parts))}" if parts else ""


def _chart(view: PlanView, out: Terminal) -> list[str]:
    shown = view.epics[:MOST_EPICS]
    bars = [Bar(epic.key, epic.spells, epic.is_critical) for epic in shown]
    last = max((ends for epic in shown for _, ends in epic.spells), default=0.0)
    return chart(bars, last, ("now", duration(last)), out)


def _facts(view: PlanView) -> Iterator[tuple[str, str]]:
    calls = sum(epic.calls for epic in view.epics)
    source = (
        f"by {counted(view.earlier, 'earlier call')} here"
        if view.earlier
        else "guessed: no call was made here yet"
    )
    yield "time", f"about {spread(view.seconds, duration)} of agents' work; {source}"
    if view.dollars is None:
        yield "cost", f"not known: of {counted(view.earlier, 'earlier call')} none told a price"
    else:
        yield "cost", f"about {spread(view.dollars, money_rounded)}; {source}"
    yield "calls", f"{calls:,}, if no review asks for changes"
    chain = [epic.key for epic in view.epics if epic.is_critical]
    if view.mode != "order" and len(chain) > 1:
        more = f" … {chain[-1]}" if len(chain) > MOST_PROBLEMS else ""
        named = chain[:MOST_PROBLEMS] if not more else chain[: MOST_PROBLEMS - 1]
        yield "longest", clean(" → ".join(named) + more)


def _pending(view: PlanView, out: Terminal) -> Iterator[str]:
    for key, pull in view.pending[:MOST_EPICS]:
        told = f"pull request #{pull} is open" if pull else "its stories are over"
        yield from fit(f"  {clean(key)}: {told}; it comes first", out, "    ")
    if view.left_alone:
        left = counted(view.left_alone, "further epic")
        text = f"  {left} {'is' if view.left_alone == 1 else 'are'} left alone: bmad autopilot --dry-run says why"
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
    for one in view.problems[:MOST_PROBLEMS]:
        place = f"{one.wait.place}: " if one.wait.place else ""
        yield f"{place}{one.message} ({one.help})"
    if len(view.problems) > MOST_PROBLEMS:
        yield f"{len(view.problems) - MOST_PROBLEMS} more such: bmad plan --json has them all"


def _more(count: int, where: str) -> Iterator[str]:
    if count > 0:
        yield f"  … {count} more: {where}"


def spread(found: Range, told: Callable[[float], str]) -> str:
    return f"{told(found.middle)} ({told(found.low)} to {told(found.high)})"


def duration(seconds: float) -> str:
    """As exactly as a forecast can be: `40 s`, `25 min`, `3 h 10 min`, `14 h`, `6 days`."""
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


def document(view: PlanView) -> dict[str, object]:
    return {
        "version": 1,
        "kind": "schedule",
        "dependencies": view.mode,
        "parallel": view.parallel,
        "epics": [_epic_document(epic) for epic in view.epics],
        "pending": [{"epic": key, "pull": pull or None} for key, pull in view.pending],
        "left_alone": view.left_alone,
        "seconds": view.seconds._asdict(),
        "dollars": view.dollars._asdict() if view.dollars else None,
        "earlier_calls": view.earlier,
        "declared": view.declared._asdict() if view.declared else None,
        "by_parallel": [{"parallel": slots, "seconds": seconds} for slots, seconds in view.by_parallel],
        "problems": [
            {
                "fault": one.fault,
                "epic": one.epic,
                "waits_for": _wait_document(one.wait),
                "cycle": list(one.cycle),
                "message": one.message,
                "help": one.help,
            }
            for one in view.problems
        ],
    }


def _epic_document(epic: EpicPlan) -> dict[str, object]:
    return {
        "epic": epic.key,
        "number": epic.number,
        "title": epic.title,
        "stories": epic.stories,
        "calls": epic.calls,
        "waits_for": [_wait_document(wait) for wait in epic.waits],
        "seconds": epic.seconds._asdict(),
        "dollars": epic.dollars._asdict() if epic.dollars else None,
        "begins": epic.spells[0][0] if epic.spells else 0.0,
        "ends": epic.spells[-1][1] if epic.spells else 0.0,
        "critical": epic.is_critical,
    }


def _wait_document(wait: Wait) -> dict[str, object]:
    place = wait.place
    return {
        "epic": wait.epic,
        "source": wait.source,
        "file": place.file if place else None,
        "line": place.line if place else None,
    }
