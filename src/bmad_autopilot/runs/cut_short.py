"""Runs that call themselves running, and nobody looks after: whoever did was killed, or the machine went down."""

from contextlib import suppress

from ..core.errors import ConflictError
from .finding import Run, unfinished
from .journal import Journal
from .state import Status, write_state
from .supervisor import busy_runs


def cut_short(runs: str, state_folder: str) -> list[Run]:
    """The newest first. Those that agents keep themselves are none of ours to judge."""
    alive = busy_runs(state_folder)
    found = (run for run in unfinished(runs) if run.state.status is Status.RUNNING and not run.is_protocol)
    return [run for run in found if run.id not in alive]


def set_paused(run: Run) -> None:
    journal = Journal(run.folder, lambda value: value)
    with suppress(ConflictError):  # somebody has just taken it up
        journal.append("left", agents="none", paused=True)
    journal.close()
    write_state(run.folder, run.state._replace(status=Status.PAUSED))
