"""bmad pause and bmad stop: send requests to running commands, and clear them again."""

import os

import click

from ..core.errors import ConflictError, UsageError, command
from ..core.text import printable
from ..project.project import Project
from ..runs.index import Run, all_runs, mark_paused, stale_runs, with_target
from ..runs.layout import runs_folder
from ..runs.legacy_state import EPIC_STATE_FILE as EPIC_STATE
from ..runs.legacy_state import EpicStatus, read_epic_state, write_epic_state
from ..runs.supervisor_lock import (
    AUTOPILOT,
    ControlRequest,
    LockOwner,
    clear_request,
    describe_owner,
    hold_supervisor_lock,
    lock_owner,
    lock_owners,
    read_request,
    write_request,
)
from .context import open_tolerant
from .resume_command import resume_command

# Sending a request to a running command from another terminal.

_REQUEST_TEXT = {
    ControlRequest.PAUSE: "pauses before its next agent call",
    ControlRequest.STOP: "stops; an agent at work goes on",
    ControlRequest.STOP_NOW: "stops, and its agent with it",
}
_REQUEST_TEXT_FOR_ALL = {
    ControlRequest.PAUSE: "pauses before the next agent call of each epic",
    ControlRequest.STOP: "stops; agents at work go on",
    ControlRequest.STOP_NOW: "stops, and its agents with it",
}


def send_request(ctx: click.Context, wanted: str | None, ask: ControlRequest) -> None:
    project, _ = open_tolerant(ctx.obj[0])
    at_work = [one for one in lock_owners(project.state_folder) if one.run_ids or one.command == AUTOPILOT]
    if not at_work:
        _pause_stale_runs(project, ask)
        return
    pilot = next((one for one in at_work if one.command == AUTOPILOT), None)
    if pilot is not None and (wanted == AUTOPILOT or (wanted is None and len(at_work) == 1)):
        _request_all(project, pilot, ask)
        return
    owner, run = _find_target(project, at_work, wanted)
    write_request(run.folder, ask)
    others = "; the others go on" if len(owner.run_ids) > 1 else ""
    click.echo(printable(f"run {run.id} of {run.target} {_REQUEST_TEXT[ask]}{others}: {describe_owner(owner)}"))
    click.echo(command("resume", "--run", run.id) + "  goes on with it")


def _request_all(project: Project, pilot: LockOwner, ask: ControlRequest) -> None:
    """Write the autopilot's request first: a lane that stops for its own request would look parked alone."""
    found = owned_runs(project, pilot)
    write_request(project.state_folder, ask)
    for run in found:
        write_request(run.folder, ask)
    click.echo(printable(f"{describe_owner(pilot)} {_REQUEST_TEXT_FOR_ALL[ask]}"))
    click.echo((resume_command(found[0].folder) if found else command("autopilot")) + "  goes on with all of them")


def _find_target(project: Project, at_work: list[LockOwner], wanted: str | None) -> tuple[LockOwner, Run]:
    found = [(one, run) for one in at_work for run in owned_runs(project, one)]
    runs = [run for _, run in found]
    chosen = runs if wanted is None else runs_named(runs, wanted)
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


def owned_runs(project: Project, owner: LockOwner) -> list[Run]:
    """The owner's runs. A run that is just being created is not listed yet."""
    runs = runs_folder(project.root.path)
    found = {run.id: run for run in all_runs(runs)}
    return [with_target(found[name]) for name in owner.run_ids if name in found]


def runs_named(runs: list[Run], wanted: str) -> list[Run]:
    """Match by epic or story, else by run id prefix: `epic-1` does not match epic-12."""
    keys = (wanted, f"epic-{wanted.replace('.', '-')}")
    return [run for run in runs if run.target in keys] or [run for run in runs if run.id.startswith(wanted)]


def _pause_stale_runs(project: Project, ask: ControlRequest) -> None:
    """No supervisor is alive: set runs that are still marked running to paused."""
    stale = stale_runs(runs_folder(project.root.path), project.state_folder)
    with hold_supervisor_lock(project.state_folder, str(ask)):
        for run in stale:
            mark_paused(run)
            click.echo(printable(f"run {run.id} was cut short; it is paused now"))
        left = _pause_epic_state(os.path.join(project.folders.implementation, EPIC_STATE))
    if left:
        click.echo(printable(left))
    if not stale and not left:
        raise ConflictError("no run is under way in this project", hint="bmad runs lists them")


def _pause_epic_state(path: str) -> str:
    """Pause the epic state file, written by us or by another tool. Returns the message to print."""
    state = read_epic_state(path)
    if state is None or state.status is not EpicStatus.RUNNING:
        return ""
    write_epic_state(path, state._replace(status=EpicStatus.PAUSED))
    return f"{EPIC_STATE} said running for {state.epic_id}; it says paused now"


@click.command()
@click.option("--run", metavar="RUN", help="This one: its name, or its epic. The autopilot's others go on.")
@click.pass_context
def pause(ctx: click.Context, run: str | None) -> None:
    """The agent call under way is finished, taken in and recorded; then the run ends, paused, with exit code 3. Of
    `bmad autopilot` all that it looks after. `bmad resume` or `bmad autopilot` goes on."""
    send_request(ctx, run, ControlRequest.PAUSE)


# bmad stop


@click.command()
@click.option("--now", is_flag=True, help="Its agents too; what they did is kept.")
@click.option("--run", metavar="RUN", help="This one: its name, or its epic. The autopilot's others go on.")
@click.pass_context
def stop(ctx: click.Context, now: bool, run: str | None) -> None:
    """Leave the run as it stands, as Ctrl-C at its own terminal does; of `bmad autopilot` all that it looks after.
    An agent at work goes on, and `bmad resume` or `bmad autopilot` picks it up. Where nobody looks after a
    run that still calls itself running, it is set to paused."""
    send_request(ctx, run, ControlRequest.STOP_NOW if now else ControlRequest.STOP)


# bmad resume while an autopilot is running: clear the requests of its parked lanes.


def unpause(project: Project, wanted: str | None) -> bool:
    """Unpark the named lane, or all parked lanes. False: no autopilot is running, or no such lane is parked."""
    pilot = lock_owner(project.state_folder)
    if pilot is None or pilot.command != AUTOPILOT or read_request(project.state_folder) is not None:
        return False
    runs = owned_runs(project, pilot)
    meant = runs if wanted is None else runs_named(runs, wanted)
    parked = [run for run in meant if read_request(run.folder) is not None]
    if not parked or (wanted is not None and len(meant) > 1):
        return False
    for run in parked:
        clear_request(run.folder)
        click.echo(printable(f"run {run.id} of {run.target} goes on: {describe_owner(pilot)}"))
    return True
