"""What was left running, offered to whoever starts something else: go on with it, or stop it."""

import os
from typing import TYPE_CHECKING

import click

from ..engine.adopting import LeftRunning
from ..project.open import Project
from ..runs.adoption import LeftBehind
from ..runs.cut_short import cut_short
from ..runs.epic_state import Status, read_epic_state, write_epic_state
from ..runs.finding import Run
from ..runs.layout import runs_folder
from ..views.terminal import clean

if TYPE_CHECKING:
    from .running import Order

RESUME, STOP = "resume", "stop"


def offer_resume(project: Project, order: "Order") -> Run | None:
    """The run that somebody would rather go on with. One of the same target is gone on with anyway; those that
    stay behind are set to paused when the new one starts."""
    found = cut_short(runs_folder(project.root.path), project.state_folder)
    if not found or any(run.target == order.key for run in found):
        return None
    run = found[0]
    click.echo(clean(f"Run {run.id} of {run.target} was cut short, and still calls itself running."), err=True)
    said = _choose(f"Resume it, or stop it and go on with {clean(order.key)}?")
    return run if said == RESUME else None


def offer_adoption(left: LeftRunning) -> bool:
    """False: it is set to paused."""
    click.echo(clean(f"{left.message}: {left.found}."), err=True)
    if _choose("Resume it here, or stop it?") == RESUME:
        return True
    stop_left(left.left)
    return False


def stop_left(left: LeftBehind) -> None:
    state = read_epic_state(left.path) if os.path.exists(left.path) else None
    if state is not None:
        write_epic_state(left.path, state._replace(status=Status.PAUSED))


def _choose(question: str) -> str:
    said: str = click.prompt(
        f"{question} [r/s]", type=click.Choice(["r", "s"]), show_choices=False, default="r", err=True
    )
    return RESUME if said == "r" else STOP
