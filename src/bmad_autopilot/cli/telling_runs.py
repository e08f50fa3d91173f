"""Telling a run under way what somebody at another terminal wants of it."""

import os

import click

from ..core.commands import command
from ..core.errors import ConflictError, UsageError
from ..project.open import Project
from ..runs.cut_short import cut_short, set_paused
from ..runs.epic_state import NAME as EPIC_STATE
from ..runs.epic_state import Status as EpicStatus
from ..runs.epic_state import read_epic_state, write_epic_state
from ..runs.finding import Run, find_run
from ..runs.layout import runs_folder
from ..runs.requests import Ask, put_request
from ..runs.supervisor import Owner, described, hold, owners
from ..views.terminal import clean
from .opening import open_in_parts

_SAID = {
    Ask.PAUSE: "pauses before its next agent call",
    Ask.STOP: "stops; an agent at work goes on",
    Ask.STOP_NOW: "stops, and its agent with it",
}


def tell_runs(ctx: click.Context, wanted: str | None, ask: Ask) -> None:
    project, _ = open_in_parts(ctx.obj[0])
    at_work = [one for one in owners(project.state_folder) if one.run]
    if not at_work:
        _nobody(project, ask)
        return
    meant = _meant(project, at_work, wanted)
    put_request(meant[1].folder, ask)
    click.echo(clean(f"run {meant[1].id} {_SAID[ask]}: {described(meant[0])}"))
    click.echo(command("resume", "--run", meant[1].id) + "  goes on with it")


def _meant(project: Project, at_work: list[Owner], wanted: str | None) -> tuple[Owner, Run]:
    runs = runs_folder(project.root.path)
    found = [(one, find_run(runs, os.path.basename(one.run))) for one in at_work]
    meant = [(one, run) for one, run in found if wanted is None or run.id.startswith(wanted)]
    if len(meant) == 1:
        return meant[0]
    named = ", ".join(run.id for _, run in found)
    if meant:
        raise UsageError("several runs are under way", found=named, hint="name one: --run RUN")
    raise UsageError(f"no run called {wanted} is under way", found=named)


def _nobody(project: Project, ask: Ask) -> None:
    """What calls itself running and is not, is set right: it was cut short."""
    stale = cut_short(runs_folder(project.root.path), project.state_folder)
    with hold(project.state_folder, str(ask)):
        for run in stale:
            set_paused(run)
            click.echo(clean(f"run {run.id} was cut short; it is paused now"))
        left = _pause_epic_state(os.path.join(project.folders.implementation, EPIC_STATE))
    if left:
        click.echo(clean(left))
    if not stale and not left:
        raise ConflictError("no run is under way in this project", hint="bmad runs lists them")


def _pause_epic_state(path: str) -> str:
    """Ours, or what another tool has left there."""
    state = read_epic_state(path)
    if state is None or state.status is not EpicStatus.RUNNING:
        return ""
    write_epic_state(path, state._replace(status=EpicStatus.PAUSED))
    return f"{EPIC_STATE} said running for {state.epic_id}; it says paused now"
