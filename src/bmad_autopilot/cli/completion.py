"""bmad completion: shell completion scripts for both program names, and completion of keys and statuses."""

from typing import TYPE_CHECKING

import click

from ..core.statuses import OPTIONAL, STORY_LIFECYCLE, RowKind

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..board.sprint_status import Row


SHELLS = ("bash", "zsh", "fish")
NAMES = ("bmad", "bmad-autopilot")

_HELP = """\
Print the shell's completion script.

\b
bash: eval "$(bmad completion bash)"   in ~/.bashrc
zsh:  eval "$(bmad completion zsh)"    in ~/.zshrc, after compinit
fish: bmad completion fish | source    in ~/.config/fish/config.fish
"""


@click.command(help=_HELP)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    for name in NAMES:
        variable = f"_{name.replace('-', '_').upper()}_COMPLETE"
        script = kind(ctx.find_root().command, {}, name, variable)
        # Use the template directly: source() would start bash to ask for its version.
        click.echo(script.source_template % script.source_vars())


# Completion of story keys, epics and statuses. Silent: a broken board completes nothing.

MAX_ITEMS = 500  # a shell asks before it shows so many


def complete_story(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    return _complete(ctx, incomplete, (RowKind.STORY,))


def complete_epic(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    return _complete(ctx, incomplete, (RowKind.EPIC,))


def complete_row(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    return _complete(ctx, incomplete, (RowKind.EPIC, RowKind.STORY, RowKind.RETROSPECTIVE))


def complete_status(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    words = (*STORY_LIFECYCLE, "blocked", "deferred", OPTIONAL)
    return [CompletionItem(word) for word in words if word.startswith(incomplete.lower())]


def _complete(ctx: click.Context, incomplete: str, kinds: tuple[RowKind, ...]) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    from ..core.text import printable

    rows = [row for row in _rows(ctx, kinds) if row.key.lower().startswith(incomplete.lower())]
    return [CompletionItem(row.key, help=printable(row.status.raw)) for row in rows[:MAX_ITEMS]]


def _rows(ctx: click.Context, kinds: tuple[RowKind, ...]) -> "list[Row]":
    from ..board.sprint_status import read_board
    from ..project.project import open_project

    # While completing, click runs no callbacks: the options are parsed, but `ctx.obj` is not set.
    start = ctx.find_root().params.get("project") or "."
    try:
        board = read_board(open_project(start).require_board())
    except Exception:  # completion must never print an error
        return []
    return [row for kind in kinds for row in board.of_kind(kind)]
