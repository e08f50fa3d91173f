"""What the autopilot is about to do, and what it came to."""

from collections.abc import Iterator
from typing import NamedTuple

from .log_lines import fit
from .terminal import Terminal, clean, display_width, pad

LABEL = 9
MOST = 20


class Planned(NamedTuple):
    key: str
    title: str
    told: str  # stories left, or that it is gone on with


class LeftAlone(NamedTuple):
    """An epic that is not begun, though not all of it is done."""

    key: str
    why: str
    command: str  # that helps


class Outset(NamedTuple):
    epics: tuple[Planned, ...]
    goes_to: str  # where finished epics go
    merges: str  # when
    stacks: str  # what an epic begins from
    agents: str
    checks: str
    left_alone: tuple[LeftAlone, ...] = ()
    at_once: str = ""  # how many agents, and where they work; empty: one epic at a time, in the checkout
    bounds: str = ""  # of the command


class LaneTold(NamedTuple):
    key: str
    stage: str
    pull: int
    why: str
    run: str  # empty: it could not be begun
    help: str = ""


class Came(NamedTuple):
    exit_code: int
    merged: tuple[str, ...]
    lanes: tuple[LaneTold, ...]
    next: tuple[tuple[str, str], ...]
    left_alone: tuple[LeftAlone, ...] = ()
    why: str = ""  # it ended, though there is more to do


def outset_lines(view: Outset, out: Terminal) -> Iterator[str]:
    count = len(view.epics)
    head = (
        f"autopilot: {count} {'epic' if count == 1 else 'epics'} to do"
        if count
        else "autopilot: no epic is left to begin"
    )
    yield from (out.style(line, "bold") for line in fit(head, out, ""))
    width = max((display_width(clean(one.key)) for one in view.epics), default=0)
    for one in view.epics[:MOST]:
        title = f"{clean(one.title)}  " if one.title else ""
        yield from fit(f"  {pad(clean(one.key), width)}  {title}({clean(one.told)})", out, " " * 4)
    if count > MOST:
        yield f"  … {count - MOST} more"
    rows = (
        ("delivery", view.goes_to),
        ("merge", view.merges),
        ("order", view.stacks),
        ("agents", view.agents),
        ("parallel", view.at_once),
        ("until", view.bounds),
        ("checks", view.checks),
    )
    for label, text in rows:
        if text:
            yield from fit(f"  {pad(label, LABEL)} {clean(text)}", out, " " * (LABEL + 3))
    yield from _left_alone(view.left_alone, out)


def _left_alone(epics: tuple[LeftAlone, ...], out: Terminal) -> Iterator[str]:
    for one in epics[:MOST]:
        yield from fit(f"  {clean(one.key)} is left alone: {clean(one.why)}", out, " " * 4)
    if len(epics) > MOST:
        yield f"  … {len(epics) - MOST} more"


_STAGES = {
    "waits": ("waits for", "cyan"),
    "asks": ("asks you:", "yellow"),
    "blocked": ("is blocked:", "red"),
    "work": ("is left as it stands", "yellow"),
    "moved": ("can go on", "yellow"),
    "held": ("is parked:", "yellow"),
}


def came_lines(view: Came, out: Terminal) -> Iterator[str]:
    count = len(view.merged)
    if count:
        words = f"{count} {'epic is' if count == 1 else 'epics are'} merged: {', '.join(view.merged)}"
    elif view.lanes:
        words = "no epic was merged"
    else:
        words = "nothing can be begun by itself" if view.left_alone else "nothing was left to do"
    yield from (out.style(line, "green" if count else "bold") for line in fit(clean(words), out, ""))
    if view.why:
        yield from fit(f"  ended: {clean(view.why)}", out, "    ")
    for lane in view.lanes:
        word, color = _STAGES.get(lane.stage, (lane.stage, ""))
        number = f" (#{lane.pull})" if lane.pull else ""
        first = f"  {clean(lane.key)}{number} {out.style(word, color) if out.color else word} "
        yield from fit(f"{first}{clean(lane.why.splitlines()[0]) if lane.why else ''}".rstrip(), out, "    ")
        if lane.help:
            yield from fit(f"    help: {clean(lane.help)}", out, " " * 10)
    yield from _left_alone(view.left_alone, out)
    width = max((display_width(clean(command)) for command, _ in view.next), default=0)
    for index, (command, purpose) in enumerate(view.next):
        label = pad("next" if index == 0 else "", LABEL)
        yield from fit(f"  {label} {pad(clean(command), width)}   {clean(purpose)}", out, " " * (LABEL + 5))


def outset_document(view: Outset) -> dict[str, object]:
    epics = [{"key": one.key, "title": one.title, "told": one.told} for one in view.epics]
    left = [one._asdict() for one in view.left_alone]
    told = {"delivery": view.goes_to, "merge": view.merges, "parallel": view.at_once}
    return {"epics": epics, **told, "left_alone": left}


def came_document(view: Came) -> dict[str, object]:
    lanes = [lane._asdict() for lane in view.lanes]
    return {"merged": list(view.merged), "lanes": lanes, "why": view.why, "exit_code": view.exit_code}
