"""bmad status: the board's progress, risks, runs and the next step."""

import os
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from ..board.drift import Drift
from ..board.overview import (
    Risk,
    count_stories,
    epic_risks,
    find_risks,
    next_action,
)
from ..board.sprint_status import action_items
from ..project.bmad_install import BMAD6_BOARD_MESSAGE, MIGRATE_HINT, Era
from ..views.status import NextStep, StatusView, render
from ..views.terminal import Terminal
from .completion import complete_epic
from .context import (
    ProjectFacts,
    active_drift,
    current_project,
    display_path,
    facts_of,
    find_epic,
    has_runs,
    parked_reasons,
    read_epics,
    terminal,
    usable_hint,
)
from .next_step import next_story_step

if TYPE_CHECKING:
    from .status_runs import OpenRun


@click.command()
@click.option("--epic", metavar="EPIC", shell_complete=complete_epic, help="Show one epic with all its stories.")
@click.option("--all", "show_all", is_flag=True, help="Show every epic and every story.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def status(ctx: click.Context, epic: str | None, show_all: bool, as_json: bool) -> None:
    """Where are we, and what comes next?"""
    project = current_project(ctx)
    project.bmad.require_readable()
    if epic is None and not project.folders.board and not project.folders.other_boards:
        from .flow_status import show_flow

        show_flow(ctx, project, as_json=as_json, show_all=show_all)
    facts, run = _with_runs(facts_of(project))
    if epic is not None:
        facts = facts.for_epic(find_epic(facts, epic))
    # The running story's board row and story file differ because of the run itself.
    drift = [item for item in active_drift(facts) if run is None or item.row.key != run.story]
    if epic is not None:
        risks = epic_risks(facts.epics)
    else:
        risks = find_risks(facts.board, facts.epics, now=time.time(), stale_days=facts.project.config.stale_days)
        if facts.lanes:  # lanes write to their own boards, not to this one
            risks = [risk for risk in risks if risk.code != "stale"]
    if project.bmad.tickets is not None:
        risks = [risk._replace(hint=usable_hint(project, risk.hint)) for risk in risks]
        risks = [Risk("board-of-bmad-6", BMAD6_BOARD_MESSAGE, MIGRATE_HINT), *risks]
    if as_json:
        from .status_report import status_text

        click.echo(status_text(facts, risks, drift, run))
        return

    out = terminal(ctx)
    click.echo(
        "\n".join(status_lines(facts, risks, drift, run, out, show_all=show_all, one_epic=epic is not None))
    )


def _with_runs(facts: ProjectFacts) -> "tuple[ProjectFacts, OpenRun | None]":
    """Import nothing about runs if the project has never had one."""
    if not has_runs(facts):
        return facts, None
    from .status_runs import find_open_run, unfinished_runs

    found = unfinished_runs(facts.project)
    if not found:
        return facts, None
    from .status_lanes import with_lanes

    return with_lanes(facts, [one.folder for one in found]), find_open_run(facts.project, found)


# Text output.

MAX_DRIFT = 3
FLOW_STATE = "_docs/_autopilot_state.md"


def status_lines(
    facts: ProjectFacts,
    risks: list[Risk],
    drift: list[Drift],
    run: "OpenRun | None",
    out: Terminal,
    *,
    show_all: bool,
    one_epic: bool,
) -> Iterator[str]:
    project, board = facts.project, facts.board
    action = next_action(facts.local_epics)
    view = StatusView(
        title=board.field("project") or os.path.basename(project.root.path),
        subtitle=f"{_bmad_text(facts)} · {display_path(project, board.path)}",
        epics=facts.epics,
        counts=count_stories(facts.epics),
        risks=[*((risk.message, risk.hint) for risk in risks), *_drift_lines(drift), *_action_item_lines(facts)],
        next=_with_run_commands(run, next_story_step(facts, one_epic=one_epic)),
        next_key=action.story_id if action else None,
        parked_reasons=parked_reasons(facts),
        show_all=show_all,
        one_epic=one_epic,
        titles=_titles(facts) if one_epic else {},
        run_lines=(*_run_lines(run), *_lane_lines(facts), *_flow_lines(facts)),
        lane_branches={number: lane.branch for number, lane in facts.lanes.items()},
    )
    return render(view, out)


def _run_lines(run: "OpenRun | None") -> tuple[str, ...]:
    if run is None:
        return ()
    from .status_runs import describe_run

    return tuple(describe_run(run))


def _lane_lines(facts: ProjectFacts) -> tuple[str, ...]:
    if not facts.lanes:
        return ()
    from .status_lanes import describe_lanes

    return tuple(describe_lanes(facts))


def _flow_lines(facts: ProjectFacts) -> Iterator[str]:
    """Only point at a flow beside the board, without importing anything about flows."""
    if os.path.lexists(os.path.join(facts.project.root.checkout, FLOW_STATE)):
        yield f"a flow is kept here too, in {FLOW_STATE}: bmad flow"


def _with_run_commands(run: "OpenRun | None", next_step: NextStep) -> NextStep:
    """With an open run, suggest only its commands: others would disturb it in this work tree."""
    if run is None:
        return next_step
    from .status_runs import run_commands

    return next_step._replace(commands=run_commands(run))


def _bmad_text(facts: ProjectFacts) -> str:
    bmad = facts.project.bmad
    if bmad.era is Era.NONE:
        return "BMAD not installed"
    return f"BMAD {bmad.version or '(version unknown)'} ({bmad.era.value})"


def _drift_lines(drift: list[Drift]) -> list[tuple[str, str | None]]:
    shown: list[tuple[str, str | None]] = [
        (item.message, "bmad board repair" if item.target_status else None) for item in drift[:MAX_DRIFT]
    ]
    if len(drift) > MAX_DRIFT:
        shown.append((f"{len(drift) - MAX_DRIFT} more disagreements of board and story files", "bmad board check"))
    return shown


def _action_item_lines(facts: ProjectFacts) -> list[tuple[str, str | None]]:
    left = [item for item in action_items(facts.board) if item.status != "done"]
    return (
        [(f"{len(left)} action item{'s' * (len(left) != 1)} from retrospectives still open", None)] if left else []
    )


def _titles(facts: ProjectFacts) -> dict[str, str]:
    return {epic.number: epic.title for epic in read_epics(facts).epics}
