"""Finds the flow a command refers to, and its next step."""

from typing import TYPE_CHECKING

import click

from ..core.errors import AutopilotError, UsageError, command
from ..core.stop_causes import Cause
from ..engine.flows.status import FlowStatus
from ..project.project import Project
from ..views.questions import OpenQuestion
from ..views.status import NextStep
from ..workflows.flows import Flow
from .context import current_project

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..engine.flows.status import FlowsOverview


def read_flows(ctx: click.Context) -> "FlowsOverview":
    from ..engine.flows.status import load_flows

    project = current_project(ctx)
    project.bmad.require_supported()
    return load_flows(_with_base_policy(project))


def _with_base_policy(project: Project) -> Project:
    """Custom flows are read from the base branch, so that an agent cannot change the flow that drives it."""
    if not project.config.flow_files:
        return project
    from ..engine.policy import with_base_settings

    return with_base_settings(project, lambda kind, data, at: None)


def current_flow(overview: "FlowsOverview") -> "FlowStatus":
    """The project's current flow."""
    status = overview.chosen
    if status is None:
        raise _no_flow_error(overview)
    return status


def requested_flow(overview: "FlowsOverview", name: str | None) -> "FlowStatus":
    """The named flow, unless the project is in the middle of another one."""
    from ..workflows.flows import get_flow

    if name is None:
        return current_flow(overview)
    wanted, chosen = get_flow(overview.flows, name), overview.chosen
    _refuse_unknown_state(overview, wanted)
    if chosen is None or chosen.flow is wanted or not _blocks(chosen, overview.status_of(wanted)):
        return overview.status_of(wanted)
    kept = chosen.path.removesuffix(".md")
    raise UsageError(
        f"this project is in another flow: {chosen.flow.name}",
        found=overview.choice.why,
        expected=command("flow", "run", chosen.flow.name),
        hint=f"to change over, move its state file away: mv {chosen.path} {kept}.{chosen.flow.name}.md",
    )


def _refuse_unknown_state(overview: "FlowsOverview", wanted: "Flow") -> None:
    """Reject a state file that names an unknown flow: its rows do not belong to this one."""
    from ..engine.flows.status import state_path
    from ..workflows.flows import find_flow

    state = overview.states.get(wanted.head.state)
    named = state.flow.strip() if state is not None else ""
    if not named or find_flow(overview.flows, named) is not None:
        return
    path = state_path(overview.project, wanted)
    raise UsageError(
        f"{path} is another flow's state file",
        found=f"flow: {named[:60]}",
        expected=f"flow: {wanted.name}",
        hint=f"if that is meant, write it there; else move it away: mv {path} {path.removesuffix('.md')}.old.md",
    )


def _blocks(chosen: "FlowStatus", wanted: "FlowStatus") -> bool:
    """A finished flow does not block another one, unless both use the same state file."""
    if chosen.state is not None and chosen.path == wanted.path:
        return True
    return chosen.is_started and chosen.position.index is not None and not wanted.is_started


def _no_flow_error(overview: "FlowsOverview") -> AutopilotError:
    names = ", ".join(flow.name for flow in overview.choice.others)
    if overview.project.folders.board:
        hint = "there is a board: bmad status says what comes next on it"
    else:
        hint = "choose one by its name: bmad flow run NAME (bmad flow list says what each is for)"
    return UsageError("this project is in no flow", found=overview.choice.why, expected=names, hint=hint)


def complete_flow(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    overview = _read_flows_or_none(ctx)
    flows = overview.flows if overview else ()
    return [
        CompletionItem(one.name, help=one.head.description) for one in flows if one.name.startswith(incomplete)
    ]


def complete_step(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Complete numbers: names contain spaces and may occur twice in a flow."""
    from click.shell_completion import CompletionItem

    overview = _read_flows_or_none(ctx)
    flow = overview.choice.flow if overview else None
    steps = enumerate(flow.steps, 1) if flow else ()
    return [CompletionItem(str(at), help=step.name) for at, step in steps if str(at).startswith(incomplete)]


def _read_flows_or_none(ctx: click.Context) -> "FlowsOverview | None":
    from ..engine.flows.status import load_flows
    from ..project.project import open_project

    try:
        return load_flows(open_project(ctx.find_root().params.get("project") or "."))
    except Exception:  # completion must never print an error
        return None


# The next step of a flow, in a sentence and commands.

Commands = tuple[tuple[str, str], ...]


def next_flow_step(project: Project, status: FlowStatus, others: tuple[Flow, ...] = ()) -> NextStep:
    """`others`: other flows that fit."""
    step, part = status.step, status.part
    if status.owner is not None:
        return NextStep("it is under way", _commands_while_running(status))
    if status.question is not None:
        return _next_by_question(status)
    if step is None or part is None:
        return _next_when_done(project, status)
    named = f"step {part.number}, {step.name}"
    if status.has_failed:
        number = str(part.number)
        again = (command("flow", "retry", number), "try it again, once what stands in its way is mended")
        without = (command("flow", "skip", number), "or go on without it")
        return NextStep(
            f"{named}, has failed {status.state.retry_count if status.state else 0} times", (again, without)
        )
    if status.position.at_gate and part.gate is not None:
        return NextStep(part.gate.ask, (("bmad flow run", "asks, and goes on as you choose"),))
    return NextStep(named, (*_run(status, others), *_other_flows(status, others)))


def _run(status: FlowStatus, others: tuple[Flow, ...]) -> Commands:
    """Name the flow if it has not started: a later detection may choose another one."""
    named = () if status.is_started or not others else (status.flow.name,)
    return ((command("flow", "run", *named), "go on with it" if status.is_started else "begin it"),)


def _other_flows(status: FlowStatus, others: tuple[Flow, ...]) -> Commands:
    if status.is_started:
        return ()
    return tuple((command("flow", "run", one.name), "or the other one that fits") for one in others)


def _commands_while_running(status: FlowStatus) -> Commands:
    answer = (("bmad questions", "see what it asks, and how to answer"),) if status.question else ()
    return (
        *answer,
        ("bmad agent logs", "see what its agent does"),
        ("bmad pause", "stop it before its next call"),
    )


def _next_by_question(status: FlowStatus) -> NextStep:
    assert status.question is not None
    question = status.question.question
    answer = OpenQuestion(question, status.question.run.id, 0.0).command
    if question.cause == Cause.BOUNDARY:
        step = status.step.name if status.step else "what follows"
        stay = command("intervene", question.story, "continue", "--resume")
        return NextStep(
            f"the session is over, and {step} comes in the next",
            (("bmad flow run", "starts it"), (stay, "or go on in this one")),
        )
    return NextStep(
        "an answer of yours",
        ((answer, "answer it (bmad questions shows it whole)"), ("bmad flow run", "then go on")),
    )


def _next_when_done(project: Project, status: FlowStatus) -> NextStep:
    if project.folders.board:
        return NextStep("every step is done, and there is a board", board_commands())
    loop = next((at for at, step in enumerate(status.flow.steps, 1) if step.flow and step.flow.loops), None)
    more = command("flow", "run", "--from", str(loop)) if loop else ""
    return NextStep(
        "nothing: every step is done", ((more, f"another {status.flow.steps[loop - 1].name}"),) if loop else ()
    )


def board_commands() -> Commands:
    """Commands that continue on the board a flow has produced."""
    return (("bmad status", "what comes next on it"), ("bmad autopilot", "take its epics to merged pull requests"))
