"""Beside a living autopilot: lanes that somebody has parked go on, by the one who looks after them."""

import click

from ..project.open import Project
from ..runs.requests import clear_request, read_request
from ..runs.supervisor import AUTOPILOT, described, owner
from ..views.terminal import clean
from .telling_runs import named, runs_of


def let_go_on(project: Project, wanted: str | None) -> bool:
    """Those meant; all that are parked where none is named. False: none of the autopilot's, or not parked."""
    pilot = owner(project.state_folder)
    if pilot is None or pilot.command != AUTOPILOT or read_request(project.state_folder) is not None:
        return False
    runs = runs_of(project, pilot)
    meant = runs if wanted is None else named(runs, wanted)
    parked = [run for run in meant if read_request(run.folder) is not None]
    if not parked or (wanted is not None and len(meant) > 1):
        return False
    for run in parked:
        clear_request(run.folder)
        click.echo(clean(f"run {run.id} of {run.target} goes on: {described(pilot)}"))
    return True
