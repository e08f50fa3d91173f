"""bmad next: do the next thing."""

import click

from ..board.overview import next_action
from .facts import gather
from .planning import not_yet, show_plan
from .what_next import what_next


@click.command("next")
@click.option("--dry-run", is_flag=True, help="Only show what it would do.")
@click.option("--json", "as_json", is_flag=True, help="With --dry-run: print one JSON document.")
@click.pass_context
def next(ctx: click.Context, dry_run: bool, as_json: bool) -> None:
    """Do the next thing."""
    if not dry_run:
        raise not_yet("bmad next --dry-run")
    facts = gather(ctx)
    action = next_action(facts.epics)
    if action is None and not as_json:
        click.echo(what_next(facts).sentence)
        return
    rows = [facts.board.rows[action.story_id]] if action else []
    show_plan(ctx, facts, rows, as_json=as_json, first_only=True)
