"""bmad runs why: what a decision was made from."""

import click

from ..core.errors import UsageError
from ..runs.decisions import decisions, of_step
from ..runs.finding import find_run
from ..runs.journal import Journal
from ..runs.layout import runs_folder
from ..views.runs_why import WhyView, document, render
from ..views.terminal import Terminal
from .facts import print_json
from .runs_reading import complete_run, the_root

MOST_NAMED = 12


@click.command(short_help="What a decision was made from.")
@click.argument("run", required=False, shell_complete=complete_run)
@click.argument("step", required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def why(ctx: click.Context, run: str | None, step: str | None, as_json: bool) -> None:
    """For each decision of a step the facts that were not as usual, and the row of the table that fitted. STEP is
    its number in the run, or its name; without it, the last step that was begun."""
    found = find_run(runs_folder(the_root(ctx).path), run)
    made = decisions(Journal(found.folder, lambda value: value).entries())
    steps = tuple(dict.fromkeys(f"{one.step} {one.name}".strip() for one in made))
    chosen = of_step(made, step)
    if not made:
        kept = "agents keep it themselves" if found.is_protocol else "its journal names no decision"
        raise UsageError(f"nobody decided anything in {found.id}", found=kept, hint=f"bmad runs show {found.id}")
    if not chosen:
        named = ", ".join(steps[-MOST_NAMED:])
        raise UsageError(f"{found.id} has no decision at step {step}", expected=f"one of: {named}")
    view = WhyView(found.id, chosen, steps)
    if as_json:
        print_json(document(view))
    else:
        click.echo("\n".join(render(view, Terminal(ctx.obj[1]))))
