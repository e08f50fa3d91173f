"""bmad flow list: the flows there are."""

import click

from .facts import print_json, terminal
from .flow_facts import flows_of


@click.command("list", short_help="The flows there are.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def list_flows(ctx: click.Context, as_json: bool) -> None:
    """The flows there are, with their steps: those that come with bmad, and the project's own ([flows] in
    bmad-autopilot.toml); and which of them fit this folder."""
    from ..views.flow_list import Listed, document, render

    looked = flows_of(ctx)
    chosen = looked.choice.flow
    fitting = (*((chosen,) if chosen else ()), *(looked.choice.others if chosen else ()))
    listed = [
        Listed(
            flow.name,
            flow.head.description,
            looked.standing(flow).path,
            tuple(step.name for step in flow.steps),
            flow.path,
            fits=flow in fitting,
            chosen=flow is chosen,
        )
        for flow in looked.flows
    ]
    if as_json:
        print_json(document(listed, looked.choice.why))
    else:
        click.echo("\n".join(render(listed, looked.choice.why, terminal(ctx))))
