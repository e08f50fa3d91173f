"""bmad run-story: one story to done."""

import click

from ..board.sprint import find_row
from .completing import complete_story
from .facts import gather
from .planning import not_yet, show_plan


@click.command("run-story")
@click.argument("key", shell_complete=complete_story)
@click.option("--dry-run", is_flag=True, help="Only show each step with the agent call it would make.")
@click.option("--json", "as_json", is_flag=True, help="With --dry-run: print one JSON document.")
@click.pass_context
def run_story(ctx: click.Context, key: str, dry_run: bool, as_json: bool) -> None:
    """Take one story to done."""
    facts = gather(ctx)
    row = find_row(facts.board, key)
    if not dry_run:
        raise not_yet(f"bmad run-story {key} --dry-run")
    show_plan(ctx, facts, [row], as_json=as_json)
