"""bmad flow run: go on with the flow where it stands."""

import gc
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ..core.errors import EXIT_DONE, EXIT_FAILED
from ..project.config import MOST_AT_ONCE
from .facts import terminal, the_project
from .flow_facts import complete_flow, complete_step, meant_flow
from .running_options import RunOptions, file_options

if TYPE_CHECKING:
    from ..engine.autopilot.wishes import Wishes
    from ..engine.flows.standing import Looked, Standing
    from ..engine.onlookers import Human
    from ..project.open import Project
    from ..views.run_view import RunView


@click.command(short_help="Go on with it where it stands.")
@click.argument("name", required=False, shell_complete=complete_flow)
@click.option(
    "--from", "first", metavar="STEP", shell_complete=complete_step, help="Anew from STEP (number or name)."
)
@click.option("--through", is_flag=True, help="Go on over the ends of sessions, too.")
@click.option("--optional", type=click.Choice(["run", "skip"]), help="What to do with optional steps, unasked.")
@click.option("--deliver", is_flag=True, help="Tasks go through branches and pull requests, as epics do.")
@click.option(
    "--parallel",
    type=click.IntRange(0, MOST_AT_ONCE),
    metavar="N",
    help="Up to N agents at once on tasks, each batch in a worktree; delivers them, too.",
)
@file_options
@click.pass_context
def run(
    ctx: click.Context,
    name: str | None,
    first: str | None,
    through: bool,
    optional: str | None,
    deliver: bool,
    parallel: int | None,
    options: RunOptions,
) -> None:
    """Go on with the flow where it stands, step after step, until it is done, its session ends, or only you can
    say how. NAME is needed where nothing says which flow the project is in."""
    from ..engine.flows.by_hand import refuse_beyond, reset_step, step_named
    from ..engine.flows.running import Wish, flow_under_way, start_flow
    from ..engine.flows.standing import look_at_flows
    from ..engine.policy import with_policy
    from ..engine.setting_out import Caps
    from .running import finish, human_at, watching

    gc.enable()  # it may be here for a night
    project = the_project(ctx)
    project.bmad.require_supported()
    project = with_policy(project, lambda kind, data, at: None)
    looked = look_at_flows(project)
    standing = meant_flow(looked, name)
    flow = standing.flow
    if first is not None:
        refuse_beyond(standing, step_named(flow, first))
    before = flow_under_way(project, flow.name, options.session)
    ahead = _chosen_ahead(options.unattended, through, optional)
    with watching(ctx, project, [], before, as_json=options.as_json) as view:
        _present(ctx, view, looked, standing)
        if first is not None and not _begins_anew(view, standing, step_named(flow, first)):
            ctx.exit(EXIT_FAILED)
        if first is not None and standing.is_begun:
            reset_step(project, flow, first)
        elif standing.step is None and before is None:
            _say_over(ctx, view, project, standing)
            ctx.exit(EXIT_DONE)
        human = human_at(view)
        end = start_flow(
            project,
            flow,
            Wish(
                Caps(options.max_cost, options.max_hours),
                ahead,
                _wishes(project, options, ahead, deliver=deliver, parallel=parallel),
            ),
            told=view,
            human=_Deciding(human, _own(through, optional)) if human is not None else None,
            session=options.session,
        )
    finish(ctx, project, end, view)


class _Deciding:
    """Somebody at the terminal who has said some of it on the command line already."""

    def __init__(self, human: "Human", chosen: Mapping[str, str]) -> None:
        self._human = human
        self._chosen = chosen

    def ask(self, question: Mapping[str, Any]) -> str | None:
        return self._chosen.get(str(question.get("cause") or "")) or self._human.ask(question)


def _own(through: bool, optional: str | None) -> dict[str, str]:
    said = {"boundary": "continue"} if through else {}
    return said | ({"optional": optional} if optional else {})


def _chosen_ahead(unattended: Mapping[str, str], through: bool, optional: str | None) -> dict[str, str]:
    return {**unattended, **_own(through, optional)}


def _wishes(
    project: "Project", options: RunOptions, ahead: Mapping[str, str], *, deliver: bool, parallel: int | None
) -> "Wishes | None":
    if not deliver and parallel is None:
        return None
    from ..engine.autopilot.budgets import Bounds
    from ..engine.autopilot.wishes import Wishes

    until = time.time() + options.max_hours * 3600 if options.max_hours is not None else None
    clock = f"--max-hours {options.max_hours:g}" if options.max_hours is not None else ""
    return Wishes(
        unattended=ahead,
        session=options.session,
        parallel=project.config.parallel if parallel is None else parallel,
        bounds=Bounds(options.max_cost, until=until, clock=clock),
    )


def _present(ctx: click.Context, view: "RunView", looked: "Looked", standing: "Standing") -> None:
    """Where it stands, and what was decided, before anything is done."""
    from ..views.flow import document, summary
    from ..views.run_view import EventView
    from .flow_view import flow_view

    is_chosen = looked.choice.flow == standing.flow
    told = flow_view(looked, standing, looked.choice.why if is_chosen else "as you say")
    if isinstance(view, EventView):
        view("flow", document(told), time.time())
    view.say([*summary(told, terminal(ctx)), ""])


def _begins_anew(view: "RunView", standing: "Standing", index: int) -> bool:
    from .running import can_ask

    if not standing.is_begun or not can_ask(view):
        return True
    step = standing.flow.steps[index]
    return click.confirm(f"Have step {index + 1}, {step.name}, and all after it done anew?", err=True)


def _say_over(ctx: click.Context, view: "RunView", project: "Project", standing: "Standing") -> None:
    from ..views.flow import coming
    from .flow_next import what_next

    view.say(coming(what_next(project, standing), terminal(ctx)))
