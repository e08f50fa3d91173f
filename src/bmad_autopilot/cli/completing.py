"""Completing story keys and epics in the shell. Silent: a broken board completes nothing."""

import click
from click.shell_completion import CompletionItem

from ..core.errors import AutopilotError
from ..core.statuses import Kind


def complete_story(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _complete(ctx, incomplete, (Kind.STORY,))


def complete_epic(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _complete(ctx, incomplete, (Kind.EPIC,))


def complete_row(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return _complete(ctx, incomplete, (Kind.EPIC, Kind.STORY, Kind.RETROSPECTIVE))


def _complete(ctx: click.Context, incomplete: str, kinds: tuple[Kind, ...]) -> list[CompletionItem]:
    from .facts import gather

    try:
        board = gather(ctx.find_root()).board
    except (AutopilotError, OSError, TypeError):
        return []
    rows = [row for kind in kinds for row in board.of_kind(kind)]
    return [CompletionItem(row.key, help=row.status.raw) for row in rows if row.key.startswith(incomplete)]
