"""What the commands of flows begin with: one look, and the flow that is meant."""

from typing import TYPE_CHECKING

import click

from ..core.commands import command
from ..core.errors import AutopilotError, UsageError
from ..project.open import Project
from .facts import the_project

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..engine.flows.standing import Looked, Standing
    from ..workflows.flow_list import Flow


def flows_of(ctx: click.Context) -> "Looked":
    from ..engine.flows.standing import look_at_flows

    project = the_project(ctx)
    project.bmad.require_supported()
    return look_at_flows(_settled(project))


def _settled(project: Project) -> Project:
    """A project's own flows count as the base branch has them: an agent cannot change what it is led by."""
    if not project.config.flow_files:
        return project
    from ..engine.policy import with_policy

    return with_policy(project, lambda kind, data, at: None)


def the_flow(looked: "Looked") -> "Standing":
    """The one that the project is in."""
    standing = looked.chosen
    if standing is None:
        raise _none(looked)
    return standing


def meant_flow(looked: "Looked", name: str | None) -> "Standing":
    """The one that is named, unless the project is on its way in another."""
    from ..workflows.flow_list import flow_named

    if name is None:
        return the_flow(looked)
    wanted, chosen = flow_named(looked.flows, name), looked.chosen
    _refuse_another(looked, wanted)
    if chosen is None or chosen.flow is wanted or not _keeps_from(chosen, looked.standing(wanted)):
        return looked.standing(wanted)
    kept = chosen.path.removesuffix(".md")
    raise UsageError(
        f"this project is in another flow: {chosen.flow.name}",
        found=looked.choice.why,
        expected=command("flow", "run", chosen.flow.name),
        hint=f"to change over, move its state file away: mv {chosen.path} {kept}.{chosen.flow.name}.md",
    )


def _refuse_another(looked: "Looked", wanted: "Flow") -> None:
    """A state file of a flow that nobody knows here: its rows are none of this one's."""
    from ..engine.flows.standing import state_path
    from ..workflows.flow_list import find_flow

    state = looked.states.get(wanted.head.state)
    named = state.flow.strip() if state is not None else ""
    if not named or find_flow(looked.flows, named) is not None:
        return
    path = state_path(looked.project, wanted)
    raise UsageError(
        f"{path} is another flow's state file",
        found=f"flow: {named[:60]}",
        expected=f"flow: {wanted.name}",
        hint=f"if that is meant, write it there; else move it away: mv {path} {path.removesuffix('.md')}.old.md",
    )


def _keeps_from(chosen: "Standing", wanted: "Standing") -> bool:
    """One that is over keeps nobody from another, unless both would write one state file."""
    if chosen.state is not None and chosen.path == wanted.path:
        return True
    return chosen.is_begun and chosen.place.index is not None and not wanted.is_begun


def _none(looked: "Looked") -> AutopilotError:
    names = ", ".join(flow.name for flow in looked.choice.others)
    if looked.project.folders.board:
        hint = "there is a board: bmad status says what comes next on it"
    else:
        hint = "choose one by its name: bmad flow run NAME (bmad flow list says what each is for)"
    return UsageError("this project is in no flow", found=looked.choice.why, expected=names, hint=hint)


def complete_flow(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    from click.shell_completion import CompletionItem

    looked = _silently(ctx)
    flows = looked.flows if looked else ()
    return [
        CompletionItem(one.name, help=one.head.description) for one in flows if one.name.startswith(incomplete)
    ]


def complete_step(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """By number: names hold spaces, and a flow may have one twice."""
    from click.shell_completion import CompletionItem

    looked = _silently(ctx)
    flow = looked.choice.flow if looked else None
    steps = enumerate(flow.steps, 1) if flow else ()
    return [CompletionItem(str(at), help=step.name) for at, step in steps if str(at).startswith(incomplete)]


def _silently(ctx: click.Context) -> "Looked | None":
    from ..engine.flows.standing import look_at_flows
    from ..project.open import open_project

    try:
        return look_at_flows(open_project(ctx.find_root().params.get("project") or "."))
    except Exception:  # whatever it is, a person pressing TAB must not see it
        return None
