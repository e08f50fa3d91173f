"""The flows there are, and which of them a project is in."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from .terminal import Terminal, clean, cut, display_width, pad, wrap


class Listed(NamedTuple):
    name: str
    description: str
    state: str  # the path of its state file
    steps: tuple[str, ...]
    file: str = ""  # of a project's own
    fits: bool = False
    chosen: bool = False


def render(flows: Sequence[Listed], why: str, out: Terminal) -> Iterator[str]:
    width = max((display_width(clean(flow.name)) for flow in flows), default=0)
    for flow in flows:
        mark = ">" if flow.chosen else " "
        fits = ", fits too" if flow.fits and not flow.chosen else ""
        own = f", {flow.file}" if flow.file else ""
        head = f"{mark} {out.style(pad(clean(flow.name), width), 'bold')}  "
        yield head + cut(clean(f"{flow.description}{own}{fits}"), max(20, out.width - width - 4))
        steps = " · ".join(f"{number} {clean(name)}" for number, name in enumerate(flow.steps, 1))
        indent = " " * (width + 4)
        yield from (out.style(line, "dim") for line in wrap(indent + steps, out.width, indent))
    yield from wrap(clean(why), out.width, "")


def document(flows: Sequence[Listed], why: str) -> dict[str, object]:
    listed = [{**flow._asdict(), "steps": list(flow.steps), "file": flow.file or None} for flow in flows]
    return {"version": 1, "kind": "flow-list", "flows": listed, "why": why}
