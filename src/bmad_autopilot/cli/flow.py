"""bmad flow: where the project stands in its flow, and why."""

import click

from ..core.errors import EXIT_DONE, EXIT_HUMAN
from .facts import print_json, terminal
from .flow_facts import flows_of
from .flow_list import list_flows
from .flow_run import run
from .flow_steps import reset, retry, skip


@click.group(invoke_without_command=True)
@click.option("--all", "show_all", is_flag=True, help="Show every decision and every try that failed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def flow(ctx: click.Context, show_all: bool, as_json: bool) -> None:
    """Where are we in the flow, in which one, and why? What was decided, what stands in the way, what comes next.

    A flow leads from an idea or an old codebase to a board, or to what is deployed (docs/flows.md). Exit code 3:
    it waits for you."""
    if ctx.invoked_subcommand is not None:
        return
    from ..views.flow import document, render
    from .flow_view import view_of

    view = view_of(flows_of(ctx), show_all=show_all)
    if as_json:
        print_json(document(view))
    else:
        click.echo("\n".join(render(view, terminal(ctx))))
    ctx.exit(EXIT_HUMAN if view.waits else EXIT_DONE)


for _command in (run, skip, retry, reset, list_flows):
    flow.add_command(_command)
