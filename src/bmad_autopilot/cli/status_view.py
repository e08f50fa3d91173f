"""From the facts to what `bmad status` shows."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from ..board.overview import count_stories, next_action
from ..board.reconcile import Drift
from ..board.risks import Risk
from ..board.sprint import action_items
from ..project.bmad import Era
from ..views.status import Next, StatusView, render
from ..views.terminal import Terminal
from .facts import Facts, read_plan, reasons, shown_path
from .what_next import what_next

if TYPE_CHECKING:
    from .under_way import UnderWay

MOST_DRIFT = 3
FLOW_STATE = "_docs/_autopilot_state.md"


def lines(
    facts: Facts,
    risks: list[Risk],
    drift: list[Drift],
    run: "UnderWay | None",
    out: Terminal,
    *,
    show_all: bool,
    one_epic: bool,
) -> Iterator[str]:
    project, board = facts.project, facts.board
    action = next_action(facts.here)
    view = StatusView(
        title=board.field("project") or os.path.basename(project.root.path),
        subtitle=f"{_bmad(facts)} · {shown_path(project, board.path)}",
        epics=facts.epics,
        counts=count_stories(facts.epics),
        risks=[*((risk.message, risk.hint) for risk in risks), *_drift(drift), *_items(facts)],
        next=_beside(run, what_next(facts, one_epic=one_epic)),
        next_key=action.story_id if action else None,
        reasons=reasons(facts),
        show_all=show_all,
        one_epic=one_epic,
        titles=_titles(facts) if one_epic else {},
        run=(*_run(run), *_lanes(facts), *_flow(facts)),
        lanes={number: lane.branch for number, lane in facts.lanes.items()},
    )
    return render(view, out)


def _run(run: "UnderWay | None") -> tuple[str, ...]:
    if run is None:
        return ()
    from .under_way import told

    return tuple(told(run))


def _lanes(facts: Facts) -> tuple[str, ...]:
    if not facts.lanes:
        return ()
    from .lanes import told

    return tuple(told(facts))


def _flow(facts: Facts) -> Iterator[str]:
    """Where there is a board it says what comes next; a flow beside it is only pointed at: no more is imported."""
    if os.path.lexists(os.path.join(facts.project.root.checkout, FLOW_STATE)):
        yield f"a flow is kept here too, in {FLOW_STATE}: bmad flow"


def _beside(run: "UnderWay | None", coming: Next) -> Next:
    """Nothing is suggested that would be in a run's way: it works in this very tree."""
    if run is None:
        return coming
    from .under_way import commands

    return coming._replace(commands=commands(run))


def _bmad(facts: Facts) -> str:
    bmad = facts.project.bmad
    if bmad.era is Era.NONE:
        return "BMAD not installed"
    return f"BMAD {bmad.version or '(version unknown)'} ({bmad.era.value})"


def _drift(drift: list[Drift]) -> list[tuple[str, str | None]]:
    shown: list[tuple[str, str | None]] = [
        (item.message, "bmad board repair" if item.further else None) for item in drift[:MOST_DRIFT]
    ]
    if len(drift) > MOST_DRIFT:
        shown.append(
            (f"{len(drift) - MOST_DRIFT} more disagreements of board and story files", "bmad board check")
        )
    return shown


def _items(facts: Facts) -> list[tuple[str, str | None]]:
    left = [item for item in action_items(facts.board) if item.status != "done"]
    return (
        [(f"{len(left)} action item{'s' * (len(left) != 1)} from retrospectives still open", None)] if left else []
    )


def _titles(facts: Facts) -> dict[str, str]:
    return {epic.number: epic.title for epic in read_plan(facts).epics}
