"""Renders the autopilot's preview and final report, and the preview of a single run."""

from collections.abc import Iterator
from typing import NamedTuple

from ..core.text import printable
from ..project.commands import NO_CHECKS
from .format import fit, money, pluralize
from .terminal import Terminal, display_width, pad

LABEL = 9
MAX_EPICS = 20


class PlannedEpic(NamedTuple):
    key: str
    title: str
    progress: str  # stories left, or the state of its pull request


class SkippedEpic(NamedTuple):
    """An unfinished epic that the autopilot does not start."""

    key: str
    why: str
    command: str  # unblocks it


class AutopilotPreview(NamedTuple):
    epics: tuple[PlannedEpic, ...]
    delivery: str  # how finished epics are delivered
    merge: str  # the condition for merging
    order: str  # which branch an epic starts from
    agents: str
    checks: str
    skipped: tuple[SkippedEpic, ...] = ()
    parallel: str = ""  # number of agents and their worktrees; empty: one epic at a time, in the checkout
    bounds: str = ""  # cost, token and time limits of the command


class LaneReport(NamedTuple):
    key: str
    stage: str
    pull: int
    why: str
    run: str  # empty: it could not be started
    help: str = ""


class AutopilotReport(NamedTuple):
    exit_code: int
    merged: tuple[str, ...]
    lanes: tuple[LaneReport, ...]
    next: tuple[tuple[str, str], ...]
    skipped: tuple[SkippedEpic, ...] = ()
    why: str = ""  # the limit that ended the command before all work was done


def preview_lines(view: AutopilotPreview, out: Terminal) -> Iterator[str]:
    count = len(view.epics)
    head = (
        f"autopilot: {count} {'epic' if count == 1 else 'epics'} to do"
        if count
        else "autopilot: no epic is left to begin"
    )
    yield from (out.style(line, "bold") for line in fit(head, out, ""))
    width = max((display_width(printable(one.key)) for one in view.epics), default=0)
    for one in view.epics[:MAX_EPICS]:
        title = f"{printable(one.title)}  " if one.title else ""
        yield from fit(f"  {pad(printable(one.key), width)}  {title}({printable(one.progress)})", out, " " * 4)
    if count > MAX_EPICS:
        yield f"  … {count - MAX_EPICS} more"
    rows = (
        ("delivery", view.delivery),
        ("merge", view.merge),
        ("order", view.order),
        ("agents", view.agents),
        ("parallel", view.parallel),
        ("until", view.bounds),
        ("checks", view.checks),
    )
    for label, text in rows:
        if text:
            yield from fit(f"  {pad(label, LABEL)} {printable(text)}", out, " " * (LABEL + 3))
    yield from _skipped_epic_lines(view.skipped, out)


def _skipped_epic_lines(epics: tuple[SkippedEpic, ...], out: Terminal) -> Iterator[str]:
    for one in epics[:MAX_EPICS]:
        yield from fit(f"  {printable(one.key)} is left alone: {printable(one.why)}", out, " " * 4)
    if len(epics) > MAX_EPICS:
        yield f"  … {len(epics) - MAX_EPICS} more"


_STAGES = {
    "waits": ("waits for", "cyan"),
    "asks": ("asks you:", "yellow"),
    "blocked": ("is blocked:", "red"),
    "work": ("is left as it stands", "yellow"),
    "moved": ("can go on", "yellow"),
    "held": ("is parked:", "yellow"),
}


def report_lines(view: AutopilotReport, out: Terminal) -> Iterator[str]:
    count = len(view.merged)
    if count:
        words = f"{count} {'epic is' if count == 1 else 'epics are'} merged: {', '.join(view.merged)}"
    elif view.lanes:
        words = "no epic was merged"
    else:
        words = "nothing can be begun by itself" if view.skipped else "nothing was left to do"
    yield from (out.style(line, "green" if count else "bold") for line in fit(printable(words), out, ""))
    if view.why:
        yield from fit(f"  ended: {printable(view.why)}", out, "    ")
    for lane in view.lanes:
        word, color = _STAGES.get(lane.stage, (lane.stage, ""))
        number = f" (#{lane.pull})" if lane.pull else ""
        first = f"  {printable(lane.key)}{number} {out.style(word, color) if out.color else word} "
        yield from fit(f"{first}{printable(lane.why.splitlines()[0]) if lane.why else ''}".rstrip(), out, "    ")
        if lane.help:
            yield from fit(f"    help: {printable(lane.help)}", out, " " * 10)
    yield from _skipped_epic_lines(view.skipped, out)
    width = max((display_width(printable(command)) for command, _ in view.next), default=0)
    for index, (command, purpose) in enumerate(view.next):
        label = pad("next" if index == 0 else "", LABEL)
        yield from fit(
            f"  {label} {pad(printable(command), width)}   {printable(purpose)}", out, " " * (LABEL + 5)
        )


def preview_document(view: AutopilotPreview) -> dict[str, object]:
    epics = [{"key": one.key, "title": one.title, "told": one.progress} for one in view.epics]
    left = [one._asdict() for one in view.skipped]
    preview = {"delivery": view.delivery, "merge": view.merge, "parallel": view.parallel}
    return {"epics": epics, **preview, "left_alone": left}


def report_document(view: AutopilotReport) -> dict[str, object]:
    lanes = [lane._asdict() for lane in view.lanes]
    return {"merged": list(view.merged), "lanes": lanes, "why": view.why, "exit_code": view.exit_code}


# The preview of a single run, printed before its first agent call.

MAX_STORIES = 20


class Estimate(NamedTuple):
    """Estimated from earlier calls of this project."""

    dollars: float
    calls: int  # planned, if no review asks for changes
    earlier: int  # calls the estimate is based on


class PlannedStory(NamedTuple):
    key: str
    status: str
    steps: tuple[str, ...]


class RunPreview(NamedTuple):
    title: str
    stories: tuple[PlannedStory, ...]
    workflow: str
    agents: tuple[tuple[str, tuple[str, ...]], ...]  # agent, its roles
    checks: tuple[str, ...]
    branch: str
    max_cost: float | None
    max_hours: float | None
    estimate: Estimate | None


def run_preview_lines(view: RunPreview, out: Terminal) -> Iterator[str]:
    yield from (out.style(line, "bold") for line in fit(printable(view.title), out, ""))
    keys = max((display_width(printable(story.key)) for story in view.stories), default=0)
    for story in view.stories[:MAX_STORIES]:
        words = f"{printable(story.status)}: {printable(' → '.join(story.steps)) or 'nothing to do'}"
        yield from fit(f"  {pad(printable(story.key), keys)}  {words}", out, " " * 4)
    if len(view.stories) > MAX_STORIES:
        yield f"  … {len(view.stories) - MAX_STORIES} more"
    for label, text in _facts(view):
        yield from fit(f"  {pad(label, LABEL)} {printable(text)}", out, " " * (LABEL + 3))


def _facts(view: RunPreview) -> Iterator[tuple[str, str]]:
    yield "workflow", view.workflow
    if view.agents:
        yield "agents", " · ".join(f"{who} ({', '.join(roles)})" for who, roles in view.agents)
    yield "checks", ", ".join(view.checks) or NO_CHECKS
    yield "branch", f"{view.branch}, in this work tree" if view.branch else "none is checked out"
    yield "cost", "; ".join(_cost(view))


def _cost(view: RunPreview) -> Iterator[str]:
    if view.max_cost is None:
        yield "no cap on cost is set (--max-cost)"
    else:
        yield f"{money(view.max_cost)} at most, then you are asked"
    if view.max_hours is not None:
        yield f"{view.max_hours:g} hours at most"
    if view.estimate is not None:
        yield (
            f"about {money(view.estimate.dollars)} for {pluralize(view.estimate.calls, 'call')}, "
            f"by {pluralize(view.estimate.earlier, 'earlier call')} here"
        )


def run_preview_document(view: RunPreview) -> dict[str, object]:
    return {
        "stories": [{**story._asdict(), "steps": list(story.steps)} for story in view.stories],
        "workflow": view.workflow,
        "agents": {who: list(roles) for who, roles in view.agents},
        "checks": list(view.checks),
        "branch": view.branch,
        "max_cost": view.max_cost,
        "max_hours": view.max_hours,
        "estimate": view.estimate._asdict() if view.estimate else None,
    }
