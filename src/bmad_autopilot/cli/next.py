"""bmad next: do the next thing."""

import sys

import click

from ..board.overview import next_action
from ..core.actions import Action
from ..core.errors import EXIT_DONE, EXIT_HUMAN, UsageError
from .facts import Facts, gather_to_act, has_runs
from .planning import show_plan
from .running_options import RunOptions, run_options
from .what_next import what_next


@click.command("next")
@click.option("--dry-run", is_flag=True, help="Only show what it would do.")
@click.option("-y", "--yes", is_flag=True, help="Do it without asking.")
@run_options
@click.pass_context
def next(ctx: click.Context, dry_run: bool, yes: bool, options: RunOptions) -> None:
    """Do the next thing: one step of the story whose turn it is."""
    facts = _without_lanes(gather_to_act(ctx))
    action = next_action(facts.here)
    if action is None:
        _nothing(ctx, facts, as_json=options.as_json)
    elif dry_run:
        rows = [facts.board.rows[action.story_id]]
        show_plan(ctx, facts, rows, as_json=options.as_json, first_only=True)
    else:
        _do(ctx, facts, action, yes, options)


def _without_lanes(facts: Facts) -> Facts:
    """What is under way elsewhere is not to be done here a second time."""
    if not has_runs(facts):
        return facts
    from .lanes import with_lanes
    from .under_way import not_over

    return with_lanes(facts, [one.folder for one in not_over(facts.project)])


def _nothing(ctx: click.Context, facts: Facts, *, as_json: bool) -> None:
    if as_json:
        show_plan(ctx, facts, [], as_json=True)
    else:
        click.echo(what_next(facts).sentence)
    unfinished = any(epic.finished < len(epic.stories) for epic in facts.epics)
    ctx.exit(EXIT_HUMAN if unfinished else EXIT_DONE)


def _do(ctx: click.Context, facts: Facts, action: Action, yes: bool, options: RunOptions) -> None:
    if not yes and (options.as_json or not (sys.stdin.isatty() and sys.stdout.isatty())):
        hint = "bmad next -y, or bmad next --dry-run to see it first"
        raise UsageError("bmad next starts an agent, and there is nobody to ask whether it may", hint=hint)
    from .running import Order, run

    rows = [facts.board.rows[action.story_id]]
    run(ctx, facts, Order("step", action.story_id, what_next(facts).sentence, rows, confirm=not yes), options)
