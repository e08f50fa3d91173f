"""bmad status: where are we, what comes next, and the command for it."""

import os
import time
from typing import TYPE_CHECKING

import click

from ..board.overview import EpicView, count_stories, next_action, open_retrospective
from ..board.reconcile import Drift
from ..board.risks import Risk, epic_risks, find_risks
from ..board.sprint import action_items
from ..core.statuses import PARKED, Kind
from ..project.bmad import BOARD_OF_6, MIGRATE
from .completing import complete_epic
from .facts import (
    Facts,
    drift_under_way,
    facts_of,
    has_runs,
    one_epic,
    reasons,
    shown_path,
    terminal,
    the_project,
    usable_hint,
)

if TYPE_CHECKING:
    from .under_way import UnderWay

SCHEMA_VERSION = 1


@click.command()
@click.option("--epic", metavar="EPIC", shell_complete=complete_epic, help="Show one epic with all its stories.")
@click.option("--all", "show_all", is_flag=True, help="Show every epic and every story.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def status(ctx: click.Context, epic: str | None, show_all: bool, as_json: bool) -> None:
    """Where are we, and what comes next?"""
    project = the_project(ctx)
    project.bmad.require_readable()
    if epic is None and not project.folders.board and not project.folders.others:
        from .flow_status import show_flow

        show_flow(ctx, project, as_json=as_json, show_all=show_all)
    facts, run = _with_runs(facts_of(project))
    if epic is not None:
        facts = facts.of(one_epic(facts, epic))
    # Of the story in hand board and story file differ by our own doing.
    drift = [item for item in drift_under_way(facts) if run is None or item.row.key != run.story]
    if epic is not None:
        risks = epic_risks(facts.epics)
    else:
        risks = find_risks(facts.board, facts.epics, now=time.time(), stale_days=facts.project.config.stale_days)
        if facts.lanes:  # their boards are written, and this one is not
            risks = [risk for risk in risks if risk.code != "stale"]
    if project.bmad.tickets is not None:
        risks = [risk._replace(hint=usable_hint(project, risk.hint)) for risk in risks]
        risks = [Risk("board-of-bmad-6", BOARD_OF_6, MIGRATE), *risks]
    if as_json:
        click.echo(_document(facts, risks, drift, run))
        return
    from .status_view import lines

    out = terminal(ctx)
    click.echo("\n".join(lines(facts, risks, drift, run, out, show_all=show_all, one_epic=epic is not None)))


def _with_runs(facts: Facts) -> "tuple[Facts, UnderWay | None]":
    """Nothing about runs is imported where there has never been one."""
    if not has_runs(facts):
        return facts, None
    from .under_way import not_over, run_under_way

    found = not_over(facts.project)
    if not found:
        return facts, None
    from .lanes import with_lanes

    return with_lanes(facts, [one.folder for one in found]), run_under_way(facts.project, found)


def _document(facts: Facts, risks: list[Risk], drift: list[Drift], run: "UnderWay | None") -> str:
    """One JSON document. The stories are the only part that grows, so they are put together by hand: ten thousand
    dictionaries would take longer than reading the board."""
    from json import dumps

    from .upcoming import upcoming

    project, board = facts.project, facts.board
    action = next_action(facts.here)
    retro = open_retrospective(facts.here)
    why = reasons(facts)
    head: dict[str, object] = {
        "version": SCHEMA_VERSION,
        "kind": "status",
        "project": {
            "root": project.root.path,
            "checkout": project.root.checkout,
            "name": board.field("project") or os.path.basename(project.root.path),
            "bmad_version": project.bmad.version,
            "era": project.bmad.era.value,
            "board": shown_path(project, board.path),
        },
        "counts": count_stories(facts.epics),
        "next": None if action is None or project.bmad.tickets else upcoming(facts, action),
        "retrospective": retro.key if retro else None,
        "risks": [{"code": risk.code, "message": risk.message, "help": risk.hint} for risk in risks],
        "drift": [_drift(facts, item) for item in drift],
        "action_items": [item._asdict() for item in action_items(board) if item.status != "done"],
        "parked": [
            {"key": row.key, "status": row.status.raw, "reason": why.get(row.key)}
            for epic in facts.epics
            if PARKED in epic.meanings
            for row in epic.stories
            if row.meaning == PARKED
        ],
        "unrecognised": [row.key for row in board.of_kind(Kind.OTHER)],
    }
    if run is not None:
        from .under_way import document

        head["run"] = document(run)
    if facts.lanes:
        from .lanes import document as document_lanes

        head["lanes"] = document_lanes(facts)
    epics = ", ".join(map(_epic, facts.epics))
    return f'{dumps(head, ensure_ascii=False)[:-1]}, "epics": [{epics}]}}'


def _epic(view: EpicView) -> str:
    from json.encoder import encode_basestring as quoted

    def text(value: str | None) -> str:
        return "null" if value is None else quoted(value)

    own = view.row.status if view.row else None
    retro = view.retrospective.status.raw if view.retrospective else None
    stories = ", ".join(
        [
            f'{{"key": {quoted(key)}, "number": {quoted(number)}, "status": {quoted(raw)}, '
            f'"meaning": "{meaning}", "line": {line}}}'
            for key, (raw, meaning), _, _, number, _, line, _ in view.stories
        ]
    )
    return (
        f'{{"key": {text(view.key if view.number is not None else None)}, "number": {text(view.number)}, '
        f'"status": {text(own.raw if own else None)}, "meaning": {text(own.meaning if own else None)}, '
        f'"done": {view.finished}, "retrospective": {text(retro)}, '
        f'"stories": [{stories}]}}'
    )


def _drift(facts: Facts, item: Drift) -> dict[str, object]:
    return {
        "code": item.code,
        "story": item.row.key,
        "board": item.row.status.raw,
        "file": item.file.raw if item.file else None,
        "path": shown_path(facts.project, item.place.file) if item.place.file else None,
        "line": item.place.line,
        "message": item.message,
    }
