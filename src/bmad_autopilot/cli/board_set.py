"""bmad board set: one status; nothing else in the file changes."""

import os

import click

from ..board.overview import overview
from ..board.sprint import Board, Row, find_row
from ..board.store import check_word, set_status
from ..core.commands import command
from ..core.errors import Place, UsageError
from ..core.keys import identify
from ..core.statuses import DONE, PARKED, Kind
from ..views.terminal import clean
from .completing import complete_row, complete_status
from .facts import gather_to_act


@click.command("set", short_help="Set one status.")
@click.argument("key", shell_complete=complete_row)
@click.argument("status", shell_complete=complete_status)
@click.option("--force", is_flag=True, help="Allow a step back.")
@click.option("--expect", metavar="STATUS", shell_complete=complete_status, help="Only if it is STATUS now.")
@click.pass_context
def set_(ctx: click.Context, key: str, status: str, force: bool, expect: str | None) -> None:
    """Set the status of one story, epic or retrospective; nothing else in the file changes."""
    facts = gather_to_act(ctx)
    row = _row(facts.board, key)
    check_word(status, row.kind)
    if not force:
        _refuse_early_end(facts.board, row, status)
    path = facts.board.path
    state, inside = facts.project.state_folder, facts.project.inside
    change = set_status(path, row.key, status, state=state, inside=inside, expect=expect, regress=force)
    place = f"({os.path.basename(path)}:{change.line})"
    if change.before == status:
        click.echo(clean(f"{row.key} is {status} already {place}"))
    else:
        click.echo(clean(f"{row.key}: {change.before or '(empty)'} → {status} {place}"))


def _row(board: Board, key: str) -> Row:
    if key in board.rows:
        return board.rows[key]
    kind = identify([key])[key].kind
    return find_row(board, key, kind if kind is not Kind.OTHER else Kind.STORY)


def _refuse_early_end(board: Board, row: Row, status: str) -> None:
    """An epic is done when its stories are."""
    if row.kind is not Kind.EPIC or status != DONE:
        return
    epic = next(epic for epic in overview(board) if epic.number == row.number)
    waiting = [story for story in epic.stories if story.meaning not in (DONE, PARKED)]
    if waiting:
        raise UsageError(
            f"{row.key} has stories that are not done",
            place=Place(board.path, row.line),
            found=f"{waiting[0].key} is {waiting[0].status.raw}",
            hint=f"if it is meant: {command('board', 'set', row.key, status, '--force')}",
        )
