"""Completing story keys and epics in the shell. Silent: a broken board completes nothing."""

from typing import TYPE_CHECKING

import click

from ..core.statuses import OPTIONAL, STORY_LIFE, Kind

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..board.sprint import Row

MOST = 500  # more than anybody reads; a shell asks before it shows so many


def complete_story(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    return _complete(ctx, incomplete, (Kind.STORY,))


def complete_epic(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    return _complete(ctx, incomplete, (Kind.EPIC,))


def complete_row(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    return _complete(ctx, incomplete, (Kind.EPIC, Kind.STORY, Kind.RETROSPECTIVE))


def complete_status(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    words = (*STORY_LIFE, "blocked", "deferred", OPTIONAL)
    return [CompletionItem(word) for word in words if word.startswith(incomplete.lower())]


def _complete(ctx: click.Context, incomplete: str, kinds: tuple[Kind, ...]) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    from ..views.terminal import clean

    rows = [row for row in _rows(ctx, kinds) if row.key.lower().startswith(incomplete.lower())]
    return [CompletionItem(row.key, help=clean(row.status.raw)) for row in rows[:MOST]]


def _rows(ctx: click.Context, kinds: tuple[Kind, ...]) -> "list[Row]":
    from ..board.sprint import read_board
    from ..project.open import open_project

    # While completing, click runs no callback: the options are there, `ctx.obj` is not.
    start = ctx.find_root().params.get("project") or "."
    try:
        board = read_board(open_project(start).require_board())
    except Exception:  # whatever it is, a person pressing TAB must not see it
        return []
    return [row for kind in kinds for row in board.of_kind(kind)]
