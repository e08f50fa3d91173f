"""bmad run-epic: one epic to done."""

import click

from ..core.statuses import DONE
from .completing import complete_epic
from .facts import gather_to_act, one_epic
from .planning import show_plan
from .running_options import RunOptions, run_options


@click.command("run-epic")
@click.argument("epic", shell_complete=complete_epic)
@click.option("--dry-run", is_flag=True, help="Only show each step with the agent call it would make.")
@click.option("--retrospective/--no-retrospective", default=None, help="Look back on it once it is over, or not.")
@run_options
@click.pass_context
def run_epic(
    ctx: click.Context, epic: str, dry_run: bool, retrospective: bool | None, options: RunOptions
) -> None:
    """Take one epic to done, story by story. One that was begun before is gone on with."""
    facts = gather_to_act(ctx)
    view = one_epic(facts, epic)
    if dry_run:
        show_plan(ctx, facts, view.stories, as_json=options.as_json)
        return
    from .running import Order, run

    if retrospective is not None:
        options = options._replace(retrospective="run" if retrospective else "never")
    left = [row for row in view.stories if row.meaning != DONE]
    looks_back = (options.retrospective or facts.project.config.retrospective) == "run"
    then = ", then its retrospective" if looks_back and view.retrospective else ""
    title = f"{view.key}: {len(left)} of {len(view.stories)} stories left{then}"
    run(ctx, facts, Order("epic", view.key, title, left), options)
