"""bmad board: check, set and repair the board."""

import os
from typing import NamedTuple

import click

from ..board.consistency import Repair, check_board, check_drift, check_epics, plan_repairs, repair_story_file
from ..board.drift import check_story_files
from ..board.overview import epic_views
from ..board.sprint_status import Board, Row, find_row
from ..board.sprint_status_writer import check_status, set_status
from ..core.errors import EXIT_DONE, EXIT_FAILED, Diagnostic, Location, Severity, UsageError, command
from ..core.json_types import pick
from ..core.keys import identify
from ..core.statuses import DONE, PARKED, RowKind
from ..core.text import printable
from ..views.format import LocatedMessage, message_lines
from .completion import complete_row, complete_status
from .context import (
    ProjectFacts,
    all_stories,
    all_story_files,
    display_path,
    drift_in_files,
    gather_facts,
    gather_facts_to_act,
    print_json,
    read_epics,
    terminal,
    usable_hint,
)

# bmad board check

COLORS = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "cyan"}


@click.command(short_help="What is odd, line by line.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def check(ctx: click.Context, as_json: bool) -> None:
    """Everything odd about the board and the files beside it, with line numbers and what mends it."""
    facts = gather_facts(ctx)
    found = _diagnose(facts)
    if as_json:
        print_json("board-check", _board_check(facts, found))
    else:
        for line in message_lines([_check_item(facts, item) for item in found], terminal(ctx)):
            click.echo(line)
        click.echo(_summary(facts.board, found))
    failed = any(item.severity is Severity.ERROR for item in found)
    ctx.exit(EXIT_FAILED if failed else EXIT_DONE)


def _diagnose(facts: ProjectFacts) -> list[Diagnostic]:
    plan = read_epics(facts)
    files = all_story_files(facts)
    found = [
        *facts.project.diagnostics,
        *check_board(facts.board, facts.epics),
        *check_drift(facts.board, drift_in_files(facts, all_stories(facts), files)),
        *check_story_files(files),
        *plan.diagnostics,
        *check_epics(facts.board, plan),
    ]
    found = [item._replace(hint=usable_hint(facts.project, item.hint)) for item in found]
    own = facts.board.path
    return sorted(found, key=lambda d: (d.location.file != own, d.location.file, d.location.line or 0, d.code))


def _check_item(facts: ProjectFacts, item: Diagnostic) -> LocatedMessage:
    place = item.location._replace(file=display_path(facts.project, item.location.file))
    text = f"{item.message} [{item.code}]"
    return LocatedMessage(place, text, item.severity.value, COLORS[item.severity], item.hint)


def _summary(board: Board, found: list[Diagnostic]) -> str:
    tally = {severity: sum(item.severity is severity for item in found) for severity in Severity}
    parts = [f"{n} {severity.value}{'s' * (n != 1)}" for severity, n in tally.items() if n]
    rows = f"{len(board.rows)} row{'s' * (len(board.rows) != 1)}"
    return f"{rows} read: {', '.join(parts) or 'nothing to say'}"


class DiagnosticRow(NamedTuple):
    severity: Severity
    code: str
    message: str
    file: str
    line: int | None
    column: int | None
    help: str | None


class BoardCheck(NamedTuple):
    board: str
    rows: int
    diagnostics: list[DiagnosticRow]


def _board_check(facts: ProjectFacts, found: list[Diagnostic]) -> BoardCheck:
    def row(item: Diagnostic) -> DiagnosticRow:
        place = item.location
        file = display_path(facts.project, place.file)
        return pick(DiagnosticRow, item, file=file, line=place.line, column=place.column, help=item.hint)

    return BoardCheck(display_path(facts.project, facts.board.path), len(facts.board.rows), list(map(row, found)))


# bmad board repair


@click.command(short_help="Bring board and story files together.")
@click.option("--apply", is_flag=True, help="Make the changes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def repair(ctx: click.Context, apply: bool, as_json: bool) -> None:
    """What board and story files disagree on, and what would bring them together. Nothing ever goes back."""
    facts = gather_facts_to_act(ctx)
    repairs = plan_repairs(
        facts.board, facts.epics, drift_in_files(facts, all_stories(facts), all_story_files(facts))
    )
    if apply:
        _apply(facts, repairs)
    if as_json:
        print_json("board-repair", BoardRepairs(apply, [_repair_row(facts, item) for item in repairs]))
        return
    for line in message_lines([_repair_item(facts, item) for item in repairs], terminal(ctx)):
        click.echo(line)
    noun = "change" if len(repairs) == 1 else "changes"
    if not repairs:
        click.echo("nothing to repair")
    elif apply:
        click.echo(f"{len(repairs)} {noun} made")
    else:
        click.echo(f"{len(repairs)} {noun} to make: bmad board repair --apply")


def _repair_item(facts: ProjectFacts, item: Repair) -> LocatedMessage:
    place = item.location._replace(file=display_path(facts.project, item.location.file))
    return LocatedMessage(place, f"{item.key}: {item.before or '(empty)'} → {item.after} ({item.reason})")


def _apply(facts: ProjectFacts, repairs: list[Repair]) -> None:
    state, inside = facts.project.state_folder, facts.project.work_tree
    for item in repairs:
        if item.file is not None:
            repair_story_file(item.location.file, item.file, item.after, state=state, allowed_root=inside)
        else:
            set_status(
                facts.board.path, item.key, item.after, state=state, allowed_root=inside, expect=item.before
            )


class RepairRow(NamedTuple):
    key: str
    before: str
    after: str
    why: str
    file: str
    line: int | None


class BoardRepairs(NamedTuple):
    applied: bool
    repairs: list[RepairRow]


def _repair_row(facts: ProjectFacts, item: Repair) -> RepairRow:
    file = display_path(facts.project, item.location.file)
    return pick(RepairRow, item, why=item.reason, file=file, line=item.location.line)


# bmad board set


@click.command("set", short_help="Set one status.")
@click.argument("key", shell_complete=complete_row)
@click.argument("status", shell_complete=complete_status)
@click.option("--force", is_flag=True, help="Allow a step back.")
@click.option("--expect", metavar="STATUS", shell_complete=complete_status, help="Only if it is STATUS now.")
@click.pass_context
def set_(ctx: click.Context, key: str, status: str, force: bool, expect: str | None) -> None:
    """Set the status of one story, epic or retrospective; nothing else in the file changes."""
    facts = gather_facts_to_act(ctx)
    row = _row(facts.board, key)
    check_status(status, row.kind)
    if not force:
        _refuse_early_end(facts.board, row, status)
    path = facts.board.path
    state, inside = facts.project.state_folder, facts.project.work_tree
    change = set_status(path, row.key, status, state=state, allowed_root=inside, expect=expect, regress=force)
    place = f"({os.path.basename(path)}:{change.line})"
    if change.before == status:
        click.echo(printable(f"{row.key} is {status} already {place}"))
    else:
        click.echo(printable(f"{row.key}: {change.before or '(empty)'} → {status} {place}"))


def _row(board: Board, key: str) -> Row:
    if key in board.rows:
        return board.rows[key]
    kind = identify([key])[key].kind
    return find_row(board, key, kind if kind is not RowKind.OTHER else RowKind.STORY)


def _refuse_early_end(board: Board, row: Row, status: str) -> None:
    """Reject setting an epic to done while it has open stories."""
    if row.kind is not RowKind.EPIC or status != DONE:
        return
    epic = next(epic for epic in epic_views(board) if epic.number == row.number)
    waiting = [story for story in epic.stories if story.meaning not in (DONE, PARKED)]
    if waiting:
        raise UsageError(
            f"{row.key} has stories that are not done",
            location=Location(board.path, row.line),
            found=f"{waiting[0].key} is {waiting[0].status.raw}",
            hint=f"if it is meant: {command('board', 'set', row.key, status, '--force')}",
        )


@click.group()
def board() -> None:
    """Check, set and repair the board."""


for _command in (check, set_, repair):
    board.add_command(_command)
