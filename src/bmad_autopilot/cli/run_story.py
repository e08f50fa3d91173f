"""bmad run-story: one story to done."""

import click

from ..board.sprint import find_row
from .completing import complete_story
from .facts import gather_to_act
from .planning import show_plan
from .running_options import RunOptions, run_options


@click.command("run-story")
@click.argument("key", shell_complete=complete_story)
@click.option("--dry-run", is_flag=True, help="Only show each step with the agent call it would make.")
@run_options
@click.pass_context
def run_story(ctx: click.Context, key: str, dry_run: bool, options: RunOptions) -> None:
    """Take one story to done. One that was begun before is gone on with."""
    facts = gather_to_act(ctx)
    row = find_row(facts.board, key)
    if dry_run:
        show_plan(ctx, facts, [row], as_json=options.as_json)
        return
    from .running import Order, run

    run(ctx, facts, Order("story", row.key, f"{row.key}, to done", [row]), options)
