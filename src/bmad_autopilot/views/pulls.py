"""Renders the list of pull requests and the approval gate of one."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

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
    number: int
    title: str
    head_ref: str
    base_ref: str
    url: str
    ci: str
    approved_by: tuple[str, ...]
    objected_by: tuple[str, ...]
    unresolved: int
    is_draft: bool
    waits_for: str
    run: str


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


def document(pulls: Sequence[PullRow]) -> dict[str, object]:
    rows = [
        {**one._asdict(), "approved_by": list(one.approved_by), "objected_by": list(one.objected_by)}
        for one in pulls
    ]
    return {"version": 1, "kind": "pulls", "pulls": rows}


def gate_lines(pull: Pull, ruling: Ruling, now: float, out: Terminal) -> Iterator[str]:
    words, color = _RULINGS[ruling.word]
    yield out.style(f"#{pull.number} {words}", color, "bold")
    for reason in ruling.reasons:
        yield from fit(f"  {printable(reason)}", out, "    ")
    if ruling.again_at > now:
        yield f"  look again {clock_or_date(ruling.again_at, now)}"


def gate_document(pull: Pull, ruling: Ruling) -> dict[str, object]:
    return {
        "version": 1,
        "kind": "pull-gate",
        "number": pull.number,
        "head": pull.head,
        "ruling": ruling.word,
        "reasons": list(ruling.reasons),
        "again_at": ruling.again_at or None,
    }
