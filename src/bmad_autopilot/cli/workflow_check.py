"""bmad workflow check: read a file of steps, and say what is in it or wrong with it."""

import click

from ..core.errors import EXIT_DONE, EXIT_FAILED
from ..workflows.plan import missing_skills
from .facts import print_json, terminal, the_project
from .workflow_file import VARIABLES, document, oddities, plan_lines, plan_of, read_file


@click.command(short_help="What is in it, or wrong with it.")
@click.argument("file", type=click.Path())
@VARIABLES
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def check(ctx: click.Context, file: str, pairs: tuple[str, ...], as_json: bool) -> None:
    """Read FILE, and show its steps; its first mistake, with the line, where there is one."""
    found = read_file(file, pairs)
    plan = plan_of(the_project(ctx), found)
    if as_json:
        print_json(document(found, plan))
    else:
        out = terminal(ctx)
        for line in (*plan_lines(found, plan, out), *oddities(found.notes, out)):
            click.echo(line)
    ctx.exit(EXIT_FAILED if missing_skills(plan) else EXIT_DONE)
