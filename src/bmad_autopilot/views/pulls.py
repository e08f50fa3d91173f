"""Renders the list of pull requests and the approval gate of one."""

from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

from ..core.json_types import Count, Positive, one_of
from ..core.text import printable
from ..github.approval import Ruling
from ..github.forge import Pull
from .format import clock_or_date, fit
from .terminal import Terminal

_CI = {
    "green": ("checks passed", "green"),
    "pending": ("checks under way", "cyan"),
    "red": ("checks failed", "red"),
    "none": ("no checks", "yellow"),
    "action": ("a check waits for somebody", "yellow"),
    "unknown": ("a check says what nobody understands", "red"),
}
_RULINGS = {
    "approve": ("may be approved", "green"),
    "wait": ("is not ready to be approved", "yellow"),
    "dismiss": ("must not stay approved", "red"),
    "refuse": ("is not for a robot to approve", "red"),
}


class PullRow(NamedTuple):
    number: Positive
    title: str
    head_ref: str
    base_ref: str
    url: str
    ci: Annotated[str, one_of(_CI), "all checks of its head together; unknown is not green"]
    approved_by: tuple[str, ...]
    objected_by: tuple[str, ...]
    unresolved: Count
    is_draft: bool
    waits_for: str
    run: Annotated[str, "the run of ours that it belongs to; empty: none"]


class PullList(NamedTuple):
    pulls: tuple[PullRow, ...]


def render(pulls: Sequence[PullRow], out: Terminal) -> Iterator[str]:
    if not pulls:
        yield "no pull request of an epic is open"
    for one in pulls:
        draft = " (draft)" if one.is_draft else ""
        head = f"#{one.number}  {printable(one.title)}{draft}"
        yield from (out.style(line, "bold") for line in fit(head, out, "    "))
        words, color = _CI.get(one.ci, (one.ci, ""))
        parts = [out.style(words, color), _review(one), _threads(one)]
        yield from fit(f"    {' · '.join(parts)}", out, "    ")
        yield from fit(
            f"    {printable(one.head_ref)} → {printable(one.base_ref)}   {printable(one.url)}", out, "    "
        )
        if one.waits_for:
            yield from fit(
                f"    waits for {printable(one.waits_for.splitlines()[0])}   ({printable(one.run)})", out, "    "
            )
        elif not one.run:
            yield from fit(
                "    no run of this tool goes with it: bmad autopilot --continue takes it over", out, "    "
            )


def _review(one: PullRow) -> str:
    if one.objected_by:
        return f"changes asked for by {printable(', '.join(one.objected_by))}"
    return f"approved by {printable(', '.join(one.approved_by))}" if one.approved_by else "not approved"


def _threads(one: PullRow) -> str:
    return f"{one.unresolved} open threads" if one.unresolved != 1 else "1 open thread"


def gate_lines(pull: Pull, ruling: Ruling, now: float, out: Terminal) -> Iterator[str]:
    words, color = _RULINGS[ruling.word]
    yield out.style(f"#{pull.number} {words}", color, "bold")
    for reason in ruling.reasons:
        yield from fit(f"  {printable(reason)}", out, "    ")
    if ruling.again_at > now:
        yield f"  look again {clock_or_date(ruling.again_at, now)}"


class PullGate(NamedTuple):
    number: Positive
    head: str
    ruling: Annotated[str, one_of(_RULINGS)]
    reasons: tuple[str, ...]
    again_at: Annotated[float | None, "seconds since 1970: only time is missing, until then"]


def pull_gate(pull: Pull, ruling: Ruling) -> PullGate:
    return PullGate(pull.number, pull.head, ruling.word, ruling.reasons, ruling.again_at or None)
