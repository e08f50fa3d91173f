"""bmad flow: show the project's flow, run it, and skip, retry or reset a step."""

import gc
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import click

from ..core.errors import EXIT_DONE, EXIT_FAILED, EXIT_HUMAN
from ..core.lane_scope import LaneScope
from ..core.text import printable
from ..project.config import MAX_PARALLEL
from .context import current_project, print_json, terminal
from .flow_lookup import complete_flow, complete_step, current_flow, read_flows, requested_flow
from .run_options import RunOptions, file_options

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..engine.autopilot.options import AutopilotOptions
    from ..engine.flows.status import FlowsOverview, FlowStatus
    from ..engine.ports import Prompter
    from ..project.project import Project
    from ..views.run_view import RunView
    from ..workflows.flows import Flow


# bmad flow list


@click.command("list", short_help="The flows there are.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def list_flows(ctx: click.Context, as_json: bool) -> None:
    """The flows there are, with their steps: those that come with bmad, and the project's own ([flows] in
    bmad-autopilot.toml); and which of them fit this folder."""
    from ..views.flow import FlowList, ListedFlow, render_flow_list

    overview = read_flows(ctx)
    chosen = overview.choice.flow
    fitting = (*((chosen,) if chosen else ()), *(overview.choice.others if chosen else ()))
    listed = [
        ListedFlow(
            flow.name,
            flow.head.description,
            overview.status_of(flow).path,
            tuple(step.name for step in flow.steps),
            flow.path or None,
            fits=flow in fitting,
            chosen=flow is chosen,
        )
        for flow in overview.flows
    ]
    if as_json:
        print_json("flow-list", FlowList(listed, overview.choice.why))
    else:
        click.echo("\n".join(render_flow_list(listed, overview.choice.why, terminal(ctx))))


# bmad flow skip, retry and reset

_STEP = click.argument("step", shell_complete=complete_step)


@click.command(short_help="Go on without the step in hand.")
@_STEP
@click.pass_context
def skip(ctx: click.Context, step: str) -> None:
    """Go on without STEP (its number or name), which must be the one in hand. Its files stay as they are."""
    from ..engine.flows.step_commands import skip_step

    _decide(ctx, step, skip_step, "skipped")


@click.command(short_help="Have a step that has failed tried again.")
@_STEP
@click.pass_context
def retry(ctx: click.Context, step: str) -> None:
    """Have STEP (its number or name) tried again: what failed before does not count any more."""
    from ..engine.flows.step_commands import retry_step

    _decide(ctx, step, retry_step, "will be tried again")


@click.command(short_help="Have a step, and all after it, done anew.")
@_STEP
@click.pass_context
def reset(ctx: click.Context, step: str) -> None:
    """Have STEP (its number or name) and all after it done anew. Their files stay where they are, and are worked
    on again."""
    from ..engine.flows.step_commands import reset_step

    _decide(ctx, step, reset_step, "will be done anew, and all after it")


def _decide(
    ctx: click.Context, step: str, apply_command: "Callable[[Project, Flow, str], FlowStatus]", result: str
) -> None:
    from ..engine.flows.step_commands import find_step_index
    from ..views.flow import next_step_lines
    from .flow_lookup import next_flow_step

    overview = read_flows(ctx)
    flow = current_flow(overview).flow
    at = find_step_index(flow, step)
    status = apply_command(overview.project, flow, step)
    name = status.flow.steps[at].name
    click.echo(printable(f"{status.flow.name}: step {at + 1}, {name}: {result} ({status.path})"))
    click.echo("\n".join(next_step_lines(next_flow_step(overview.project, status), terminal(ctx))))


# bmad flow run


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
    type=click.IntRange(0, MAX_PARALLEL),
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
    from ..engine.flows.runner import FlowOptions, start_flow
    from ..engine.flows.status import load_flows
    from ..engine.flows.step_commands import find_step_index, require_reached, reset_step
    from ..engine.policy import with_base_settings
    from ..engine.run_setup import Caps
    from ..engine.runner import open_run
    from .run_session import finish, prompter_for, watch_run

    gc.enable()  # it may run all night
    project = current_project(ctx)
    project.bmad.require_supported()
    project = with_base_settings(project, lambda kind, data, at: None)
    overview = load_flows(project)
    status = requested_flow(overview, name)
    flow = status.flow
    if first is not None:
        require_reached(status, find_step_index(flow, first))
    before = open_run(project, LaneScope.FLOW, options.session, key=flow.name)
    preset = _all_preset_answers(options.unattended, through, optional)
    with watch_run(ctx, project, [], before, as_json=options.as_json) as view:
        _print_status(ctx, view, overview, status)
        if first is not None and not _confirm_reset(view, status, find_step_index(flow, first)):
            ctx.exit(EXIT_FAILED)
        if first is not None and status.is_started:
            reset_step(project, flow, first)
        elif status.step is None and before is None:
            _print_finished(ctx, view, project, status)
            ctx.exit(EXIT_DONE)
        human = prompter_for(view)
        end = start_flow(
            project,
            flow,
            FlowOptions(
                Caps(options.max_cost, options.max_hours),
                preset,
                _autopilot_options(project, options, preset, deliver=deliver, parallel=parallel),
            ),
            on_event=view,
            human=_PresetAnswers(human, _preset_answers(through, optional)) if human is not None else None,
            session=options.session,
        )
    finish(ctx, project, end, view)


class _PresetAnswers:
    """Answers from the command line first, and asks the user for the rest."""

    def __init__(self, human: "Prompter", chosen: Mapping[str, str]) -> None:
        self._human = human
        self._chosen = chosen

    def ask(self, question: Mapping[str, Any]) -> str | None:
        return self._chosen.get(str(question.get("cause") or "")) or self._human.ask(question)


def _preset_answers(through: bool, optional: str | None) -> dict[str, str]:
    answers = {"boundary": "continue"} if through else {}
    return answers | ({"optional": optional} if optional else {})


def _all_preset_answers(unattended: Mapping[str, str], through: bool, optional: str | None) -> dict[str, str]:
    return {**unattended, **_preset_answers(through, optional)}


def _autopilot_options(
    project: "Project", options: RunOptions, preset: Mapping[str, str], *, deliver: bool, parallel: int | None
) -> "AutopilotOptions | None":
    if not deliver and parallel is None:
        return None
    from ..engine.autopilot.options import AutopilotOptions, Bounds

    until = time.time() + options.max_hours * 3600 if options.max_hours is not None else None
    clock = f"--max-hours {options.max_hours:g}" if options.max_hours is not None else ""
    return AutopilotOptions(
        unattended=preset,
        session=options.session,
        parallel=project.config.parallel if parallel is None else parallel,
        bounds=Bounds(options.max_cost, until=until, clock=clock),
    )


def _print_status(ctx: click.Context, view: "RunView", overview: "FlowsOverview", status: "FlowStatus") -> None:
    """Show the flow's status and decisions before running it."""
    from ..io.json_files import document
    from ..views.flow import flow_report, flow_summary_lines
    from ..views.run_view import EventView
    from .flow_status import flow_view

    is_chosen = overview.choice.flow == status.flow
    details = flow_view(overview, status, overview.choice.why if is_chosen else "as you say")
    if isinstance(view, EventView):
        view("flow", document("flow", flow_report(details)), time.time())
    view.print_lines([*flow_summary_lines(details, terminal(ctx)), ""])


def _confirm_reset(view: "RunView", status: "FlowStatus", index: int) -> bool:
    from .run_session import can_ask

    if not status.is_started or not can_ask(view):
        return True
    step = status.flow.steps[index]
    return click.confirm(f"Have step {index + 1}, {step.name}, and all after it done anew?", err=True)


def _print_finished(ctx: click.Context, view: "RunView", project: "Project", status: "FlowStatus") -> None:
    from ..views.flow import next_step_lines
    from .flow_lookup import next_flow_step

    view.print_lines(next_step_lines(next_flow_step(project, status), terminal(ctx)))


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
    from ..views.flow import flow_report, render
    from .flow_status import current_flow_view

    view = current_flow_view(read_flows(ctx), show_all=show_all)
    if as_json:
        print_json("flow", flow_report(view))
    else:
        click.echo("\n".join(render(view, terminal(ctx))))
    ctx.exit(EXIT_HUMAN if view.is_waiting else EXIT_DONE)


for _command in (run, skip, retry, reset, list_flows):
    flow.add_command(_command)
