"""bmad next: do the next thing."""

import click

from ..board.overview import next_action
from ..core.errors import EXIT_DONE, EXIT_HUMAN
from .facts import gather
from .planning import not_yet, show_plan
from .what_next import what_next


@click.command("next")
@click.option("--dry-run", is_flag=True, help="Only show what it would do.")
@click.option("--json", "as_json", is_flag=True, help="With --dry-run: print one JSON document.")
@click.pass_context
def next(ctx: click.Context, dry_run: bool, as_json: bool) -> None:
    """Do the next thing."""
    facts = gather(ctx)
    if not dry_run:
        raise not_yet("bmad next --dry-run")
    action = next_action(facts.epics)
    if action is not None:
        show_plan(ctx, facts, [facts.board.rows[action.story_id]], as_json=as_json, first_only=True)
        return
    if as_json:
        show_plan(ctx, facts, [], as_json=True)
    else:
        click.echo(what_next(facts).sentence)
    unfinished = any(epic.finished < len(epic.stories) for epic in facts.epics)
    ctx.exit(EXIT_HUMAN if unfinished else EXIT_DONE)
