"""bmad flow skip, retry and reset: a person's word on one step."""

from typing import TYPE_CHECKING

import click

from ..views.terminal import clean
from .facts import terminal
from .flow_facts import complete_step, flows_of, the_flow

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..engine.flows.standing import Standing
    from ..project.open import Project
    from ..workflows.flow_list import Flow

_STEP = click.argument("step", shell_complete=complete_step)


@click.command(short_help="Go on without the step in hand.")
@_STEP
@click.pass_context
def skip(ctx: click.Context, step: str) -> None:
    """Go on without STEP (its number or name), which must be the one in hand. Its files stay as they are."""
    from ..engine.flows.by_hand import skip_step

    _decide(ctx, step, skip_step, "skipped")


@click.command(short_help="Have a step that has failed tried again.")
@_STEP
@click.pass_context
def retry(ctx: click.Context, step: str) -> None:
    """Have STEP (its number or name) tried again: what failed before does not count any more."""
    from ..engine.flows.by_hand import retry_step

    _decide(ctx, step, retry_step, "will be tried again")


@click.command(short_help="Have a step, and all after it, done anew.")
@_STEP
@click.pass_context
def reset(ctx: click.Context, step: str) -> None:
    """Have STEP (its number or name) and all after it done anew. Their files stay where they are, and are worked
    on again."""
    from ..engine.flows.by_hand import reset_step

    _decide(ctx, step, reset_step, "will be done anew, and all after it")


def _decide(ctx: click.Context, step: str, by_hand: "Callable[[Project, Flow, str], Standing]", what: str) -> None:
    from ..engine.flows.by_hand import step_named
    from ..views.flow import coming
    from .flow_next import what_next

    looked = flows_of(ctx)
    flow = the_flow(looked).flow
    at = step_named(flow, step)
    standing = by_hand(looked.project, flow, step)
    name = standing.flow.steps[at].name
    click.echo(clean(f"{standing.flow.name}: step {at + 1}, {name}: {what} ({standing.path})"))
    click.echo("\n".join(coming(what_next(looked.project, standing), terminal(ctx))))
