"""What a run is about to do, where, and what it may cost: said before the first call."""

from collections.abc import Iterator
from typing import NamedTuple

from ..project.commands import NO_CHECKS
from .figures import counted, money
from .log_lines import fit
from .terminal import Terminal, clean, display_width, pad

LABEL = 9
MOST_STORIES = 20


class Estimate(NamedTuple):
    """From earlier calls of this project."""

    dollars: float
    calls: int  # that will be made, if no review asks for changes
    earlier: int  # calls it is taken from


class Planned(NamedTuple):
    key: str
    status: str
    steps: tuple[str, ...]


class Preface(NamedTuple):
    title: str
    stories: tuple[Planned, ...]
    workflow: str
    agents: tuple[tuple[str, tuple[str, ...]], ...]  # who, with which roles
    checks: tuple[str, ...]
    branch: str
    max_cost: float | None
    max_hours: float | None
    estimate: Estimate | None


def render(view: Preface, out: Terminal) -> Iterator[str]:
    yield from (out.style(line, "bold") for line in fit(clean(view.title), out, ""))
    keys = max((display_width(clean(story.key)) for story in view.stories), default=0)
    for story in view.stories[:MOST_STORIES]:
        words = f"{clean(story.status)}: {clean(' → '.join(story.steps)) or 'nothing to do'}"
        yield from fit(f"  {pad(clean(story.key), keys)}  {words}", out, " " * 4)
    if len(view.stories) > MOST_STORIES:
        yield f"  … {len(view.stories) - MOST_STORIES} more"
    for label, text in _facts(view):
        yield from fit(f"  {pad(label, LABEL)} {clean(text)}", out, " " * (LABEL + 3))


def _facts(view: Preface) -> Iterator[tuple[str, str]]:
    yield "workflow", view.workflow
    if view.agents:
        yield "agents", " · ".join(f"{who} ({', '.join(roles)})" for who, roles in view.agents)
    yield "checks", ", ".join(view.checks) or NO_CHECKS
    yield "branch", f"{view.branch}, in this work tree" if view.branch else "none is checked out"
    yield "cost", "; ".join(_cost(view))


def _cost(view: Preface) -> Iterator[str]:
    if view.max_cost is None:
        yield "no cap on cost is set (--max-cost)"
    else:
        yield f"{money(view.max_cost)} at most, then you are asked"
    if view.max_hours is not None:
        yield f"{view.max_hours:g} hours at most"
    if view.estimate is not None:
        yield (
            f"about {money(view.estimate.dollars)} for {counted(view.estimate.calls, 'call')}, "
            f"by {counted(view.estimate.earlier, 'earlier call')} here"
        )


def document(view: Preface) -> dict[str, object]:
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
