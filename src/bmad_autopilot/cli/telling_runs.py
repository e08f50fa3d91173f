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
from ..runs.finding import Run, all_runs, with_target
from ..runs.layout import runs_folder
from ..runs.requests import Ask, put_request
from ..runs.supervisor import AUTOPILOT, Owner, described, hold, owners
from ..views.terminal import clean
from .going_on import going_on
from .opening import open_in_parts

_SAID = {
    Ask.PAUSE: "pauses before its next agent call",
    Ask.STOP: "stops; an agent at work goes on",
    Ask.STOP_NOW: "stops, and its agent with it",
}
_SAID_OF_ALL = {
    Ask.PAUSE: "pauses before the next agent call of each epic",
    Ask.STOP: "stops; agents at work go on",
    Ask.STOP_NOW: "stops, and its agents with it",
}


def tell_runs(ctx: click.Context, wanted: str | None, ask: Ask) -> None:
    project, _ = open_in_parts(ctx.obj[0])
    at_work = [one for one in owners(project.state_folder) if one.run_ids or one.command == AUTOPILOT]
    if not at_work:
        _nobody(project, ask)
        return
    pilot = next((one for one in at_work if one.command == AUTOPILOT), None)
    if pilot is not None and (wanted == AUTOPILOT or (wanted is None and len(at_work) == 1)):
        _tell_all(project, pilot, ask)
        return
    owner, run = _meant(project, at_work, wanted)
    put_request(run.folder, ask)
    others = "; the others go on" if len(owner.run_ids) > 1 else ""
    click.echo(clean(f"run {run.id} of {run.target} {_SAID[ask]}{others}: {described(owner)}"))
    click.echo(command("resume", "--run", run.id) + "  goes on with it")


def _tell_all(project: Project, pilot: Owner, ask: Ask) -> None:
    """Of the autopilot first: a lane that leaves because of its own request must not look parked alone."""
    found = runs_of(project, pilot)
    put_request(project.state_folder, ask)
    for run in found:
        put_request(run.folder, ask)
    click.echo(clean(f"{described(pilot)} {_SAID_OF_ALL[ask]}"))
    click.echo((going_on(found[0].folder) if found else command("autopilot")) + "  goes on with all of them")


def _meant(project: Project, at_work: list[Owner], wanted: str | None) -> tuple[Owner, Run]:
    found = [(one, run) for one in at_work for run in runs_of(project, one)]
    runs = [run for _, run in found]
    chosen = runs if wanted is None else named(runs, wanted)
    meant = [(one, run) for one, run in found if run in chosen]
    if len(meant) == 1:
        return meant[0]
    ids = ", ".join(run.id for run in runs)
    if meant:
        all_of_it = (
            f", or all epics: --run {AUTOPILOT}" if any(one.command == AUTOPILOT for one, _ in meant) else ""
        )
        raise UsageError("several runs are under way", found=ids, hint=f"name one: --run RUN{all_of_it}")
    raise UsageError(f"no run called {wanted} is under way", found=ids or "none")


def runs_of(project: Project, owner: Owner) -> list[Run]:
    """One that is just being made is not there yet."""
    runs = runs_folder(project.root.path)
    found = {run.id: run for run in all_runs(runs)}
    return [with_target(found[name]) for name in owner.run_ids if name in found]


def named(runs: list[Run], wanted: str) -> list[Run]:
    """By their epic or story; else by the beginning of their names: `epic-1` does not mean epic-12's."""
    keys = (wanted, f"epic-{wanted.replace('.', '-')}")
    return [run for run in runs if run.target in keys] or [run for run in runs if run.id.startswith(wanted)]


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
