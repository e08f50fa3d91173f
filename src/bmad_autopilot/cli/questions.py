"""bmad questions: what waits for a human, over all runs that are not over."""

import click

from ..views.questions import QuestionsView, document, render
from .facts import print_json, shown_path, terminal
from .going_on import going_on
from .inbox import Waits, read_inbox, waiting


@click.command(short_help="What waits for a human?")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def questions(ctx: click.Context, as_json: bool) -> None:
    """The open questions of all runs that are not over, the oldest first and one at a time per story, each with
    its options and the command that answers it."""
    waits = read_inbox(ctx)
    asked = waits.inbox.first
    then = " and ".join(sorted({going_on(one.run.folder) for one in asked}))
    view = QuestionsView([waiting(one, waits.inbox) for one in asked], waits.owner, _broken(waits), then)
    if as_json:
        print_json(document(view))
    else:
        click.echo("\n".join(render(view, terminal(ctx))))


def _broken(waits: Waits) -> list[str]:
    found = waits.inbox.diagnostics
    return [f"{shown_path(waits.project, one.place.file)}: {one.message} ({one.hint})" for one in found]
