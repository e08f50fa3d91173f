"""bmad plan: which epics run when."""

import click

from ..core.errors import EXIT_DONE
from ..project.config import MOST_AT_ONCE


@click.command()
@click.argument("patterns", nargs=-1, metavar="[PATTERN]…")
@click.option(
    "--parallel",
    type=click.IntRange(0, MOST_AT_ONCE),
    default=None,
    metavar="N",
    help="As if up to N agents were at work at a time; 0 and 1: one after another. Unset: as in the settings.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def plan(ctx: click.Context, patterns: tuple[str, ...], parallel: int | None, as_json: bool) -> None:
    """Which epics run when, what each waits for and why, how long all of it takes and what it costs. Nothing is
    begun.

    PATTERN: a regular expression, in any case, that an epic's number or title must hold; several: one of them."""
    from ..views.plan import document, render
    from .epic_plan import epic_plan
    from .facts import gather_to_act, print_json, terminal

    facts = gather_to_act(ctx)
    at_once = facts.project.config.parallel if parallel is None else parallel
    view = epic_plan(facts, patterns, max(1, at_once))
    if as_json:
        print_json(document(view))
    else:
        for line in render(view, terminal(ctx)):
            click.echo(line)
    ctx.exit(EXIT_DONE)
