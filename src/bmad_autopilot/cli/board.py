"""bmad board: check, set, repair."""

import os
import time

import click

from ..board.check import check_board, check_drift, check_epics
from ..board.epics import read_all_epics
from ..board.epics_files import find_epics_files
from ..board.repair import Repair, plan_repairs, repair_story_file
from ..board.sprint import Board, Row, find_row
from ..board.store import check_word, set_status
from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import EXIT_DONE, EXIT_FAILED
from ..core.keys import identify
from ..core.statuses import Kind
from ..views.terminal import Terminal, clean
from .completing import complete_row
from .facts import Facts, all_drift, gather, print_json, shown_path, state_folder, terminal

COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


@click.group()
def board() -> None:
    """Check, set and repair the board."""


@board.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def check(ctx: click.Context, as_json: bool) -> None:
    """Everything odd about the board and the files beside it, with line numbers and what mends it."""
    facts = gather(ctx)
    found = _diagnose(facts)
    failed = any(item.severity is Severity.ERROR for item in found)
    if as_json:
        print_json(_document(facts, found))
    else:
        out = terminal(ctx)
        for item in found:
            click.echo(_line(facts, item, out))
        click.echo(_summary(facts.board, found))
    ctx.exit(EXIT_FAILED if failed else EXIT_DONE)


def _diagnose(facts: Facts) -> list[Diagnostic]:
    folders = facts.project.folders
    plan = read_all_epics(find_epics_files(folders.planning, [folders.output, os.path.dirname(facts.board.path)]))
    drift = all_drift(facts)
    found = [
        *facts.project.diagnostics,
        *check_board(facts.board, facts.epics),
        *check_drift(facts.board, drift),
        *plan.diagnostics,
        *check_epics(facts.board, plan),
    ]
    own = facts.board.path
    return sorted(found, key=lambda d: (d.place.file != own, d.place.file, d.place.line or 0, d.code))


def _line(facts: Facts, item: Diagnostic, out: Terminal) -> str:
    place = item.place._replace(file=shown_path(facts.project, item.place.file))
    text = f"{clean(str(place))}: {out.style(item.severity.value, COLORS[item.severity])}: {clean(item.message)}"
    text += out.style(f" [{item.code}]", "dim")
    return text + (f"\n    help: {clean(item.hint)}" if item.hint else "")


def _summary(board: Board, found: list[Diagnostic]) -> str:
    tally = {severity: sum(item.severity is severity for item in found) for severity in Severity}
    parts = [f"{n} {severity.value}{'s' * (n != 1)}" for severity, n in tally.items() if n]
    return f"{len(board.rows)} rows read: {', '.join(parts) or 'nothing to say'}"


def _document(facts: Facts, found: list[Diagnostic]) -> dict[str, object]:
    return {
        "version": 1,
        "kind": "board-check",
        "board": shown_path(facts.project, facts.board.path),
        "rows": len(facts.board.rows),
        "diagnostics": [
            {
                "severity": item.severity.value,
                "code": item.code,
                "message": item.message,
                "file": shown_path(facts.project, item.place.file),
                "line": item.place.line,
                "column": item.place.column,
                "help": item.hint,
            }
            for item in found
        ],
    }


@board.command("set")
@click.argument("key", shell_complete=complete_row)
@click.argument("status")
@click.option("--force", is_flag=True, help="Allow a step back.")
@click.option("--expect", metavar="STATUS", help="Only if it is STATUS now.")
@click.pass_context
def set_(ctx: click.Context, key: str, status: str, force: bool, expect: str | None) -> None:
    """Set the status of one story, epic or retrospective; nothing else in the file changes."""
    facts = gather(ctx)
    row = _row(facts.board, key)
    check_word(status, row.kind)
    path = facts.board.path
    change = set_status(path, row.key, status, state=state_folder(facts.project), expect=expect, regress=force)
    place = f"{shown_path(facts.project, path)}:{change.line}"
    if change.before == status:
        click.echo(f"{place}: {row.key} is {status} already")
    else:
        click.echo(f"{place}: {row.key}: {change.before or '(empty)'} → {status}")


def _row(board: Board, key: str) -> Row:
    kind = identify([key])[key].kind
    return find_row(board, key, kind if kind is not Kind.OTHER else Kind.STORY)


@board.command()
@click.option("--apply", is_flag=True, help="Make the changes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def repair(ctx: click.Context, apply: bool, as_json: bool) -> None:
    """What board and story files disagree on, and what would bring them together. Nothing ever goes back."""
    facts = gather(ctx)
    drift = all_drift(facts)
    repairs = plan_repairs(facts.board, facts.epics, drift)
    if apply:
        _apply(facts, repairs)
    if as_json:
        print_json({"version": 1, "kind": "board-repair", "applied": apply, "repairs": _rows(facts, repairs)})
        return
    for item in repairs:
        place = item.place._replace(file=shown_path(facts.project, item.place.file))
        click.echo(clean(f"{place}: {item.key}: {item.before or '(empty)'} → {item.after} ({item.why})"))
    noun = "change" if len(repairs) == 1 else "changes"
    if not repairs:
        click.echo("nothing to repair")
    elif apply:
        click.echo(f"{len(repairs)} {noun} made")
    else:
        click.echo(f"{len(repairs)} {noun} to make: bmad board repair --apply")


def _apply(facts: Facts, repairs: list[Repair]) -> None:
    for item in repairs:
        if item.file is not None:
            repair_story_file(item.place.file, item.file, item.after)
        else:
            state = state_folder(facts.project)
            set_status(facts.board.path, item.key, item.after, state=state, expect=item.before, now=time.time())


def _rows(facts: Facts, repairs: list[Repair]) -> list[dict[str, object]]:
    return [
        {
            "key": item.key,
            "before": item.before,
            "after": item.after,
            "why": item.why,
            "file": shown_path(facts.project, item.place.file),
            "line": item.place.line,
        }
        for item in repairs
    ]
