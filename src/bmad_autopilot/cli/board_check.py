"""bmad board check: everything odd, with line numbers and what mends it."""

import click

from ..board.check import check_board, check_drift, check_epics
from ..board.reconcile import odd_files
from ..board.sprint import Board
from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import EXIT_DONE, EXIT_FAILED
from ..views.listing import Item, listing
from .facts import (
    Facts,
    all_files,
    all_stories,
    drift_in,
    gather,
    print_json,
    read_plan,
    shown_path,
    terminal,
    usable_hint,
)

COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


@click.command(short_help="What is odd, line by line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def check(ctx: click.Context, as_json: bool) -> None:
    """Everything odd about the board and the files beside it, with line numbers and what mends it."""
    facts = gather(ctx)
    found = _diagnose(facts)
    if as_json:
        print_json(_document(facts, found))
    else:
        for line in listing([_item(facts, item) for item in found], terminal(ctx)):
            click.echo(line)
        click.echo(_summary(facts.board, found))
    failed = any(item.severity is Severity.ERROR for item in found)
    ctx.exit(EXIT_FAILED if failed else EXIT_DONE)


def _diagnose(facts: Facts) -> list[Diagnostic]:
    plan = read_plan(facts)
    files = all_files(facts)
    found = [
        *facts.project.diagnostics,
        *check_board(facts.board, facts.epics),
        *check_drift(facts.board, drift_in(facts, all_stories(facts), files)),
        *odd_files(files),
        *plan.diagnostics,
        *check_epics(facts.board, plan),
    ]
    found = [item._replace(hint=usable_hint(facts.project, item.hint)) for item in found]
    own = facts.board.path
    return sorted(found, key=lambda d: (d.place.file != own, d.place.file, d.place.line or 0, d.code))


def _item(facts: Facts, item: Diagnostic) -> Item:
    place = item.place._replace(file=shown_path(facts.project, item.place.file))
    text = f"{item.message} [{item.code}]"
    return Item(place, text, item.severity.value, COLORS[item.severity], item.hint)


def _summary(board: Board, found: list[Diagnostic]) -> str:
    tally = {severity: sum(item.severity is severity for item in found) for severity in Severity}
    parts = [f"{n} {severity.value}{'s' * (n != 1)}" for severity, n in tally.items() if n]
    rows = f"{len(board.rows)} row{'s' * (len(board.rows) != 1)}"
    return f"{rows} read: {', '.join(parts) or 'nothing to say'}"


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
