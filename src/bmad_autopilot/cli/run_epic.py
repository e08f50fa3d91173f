"""bmad run-epic: one epic to done."""

import click

from .completing import complete_epic
from .facts import gather, one_epic
from .planning import not_yet, show_plan


@click.command("run-epic")
@click.argument("epic", shell_complete=complete_epic)
@click.option("--dry-run", is_flag=True, help="Only show each step with the agent call it would make.")
@click.option("--json", "as_json", is_flag=True, help="With --dry-run: print one JSON document.")
@click.pass_context
def run_epic(ctx: click.Context, epic: str, dry_run: bool, as_json: bool) -> None:
    """Take one epic to done."""
    facts = gather(ctx)
    view = one_epic(facts, epic)
    if not dry_run:
        raise not_yet(f"bmad run-epic {epic} --dry-run")
    show_plan(ctx, facts, view.stories, as_json=as_json)
