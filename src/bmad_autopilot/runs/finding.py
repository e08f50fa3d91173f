"""Runs that are not over, the newest first: what `bmad resume` goes on with, and whose questions wait."""

import os
from typing import NamedTuple

from ..core.errors import FileError
from .journal import Journal, first_entry
from .journal_lines import Entry
from .layout import find_runs
from .state import RunState, Status, read_state, status_of


class Run(NamedTuple):
    folder: str
    id: str
    session: str
    state: RunState
    target: str  # what was asked for: a story's or an epic's key


def newest_unfinished(runs: str) -> Run | None:
    return next(iter(unfinished(runs)), None)


def unfinished(runs: str) -> list[Run]:
    """Running, failed and paused ones, by the time of their last checkpoint. Whether a running one really runs,
    the supervisor's lock tells."""
    found = [run for session, name in find_runs(runs) if (run := _unfinished_run(runs, session, name))]
    found.sort(key=lambda run: (run.state.last_checkpoint, run.state.started_at, run.id), reverse=True)
    return found


def _unfinished_run(runs: str, session: str, name: str) -> Run | None:
    folder = os.path.join(runs, session, name)
    state = state_of(folder, session)
    if state is None or state.status is Status.COMPLETED:
        return None
    try:
        first = first_entry(folder)
    except FileError:
        first = None
    target = first.data.get("target") if first else None
    return Run(folder, name, session, state, target if isinstance(target, str) else "")


def state_of(run: str, session: str) -> RunState | None:
    """Where a run stands: by its state file, else by its journal. None: it is none of ours."""
    try:
        state = read_state(run)
        if state is not None:
            return state
    except FileError:
        pass
    try:
        return _from_journal(run, session, Journal(run, lambda value: value).entries())
    except FileError:
        return None


def _from_journal(run: str, session: str, entries: list[Entry]) -> RunState | None:
    if not entries:
        return None
    status = Status.RUNNING
    for entry in entries:
        if entry.kind == "finished":
            status = status_of(entry.data.get("status"))
        elif entry.kind == "resumed":
            status = Status.RUNNING
    return RunState(
        os.path.basename(run),
        session_branch=session,
        started_at=entries[0].at,
        last_checkpoint=entries[-1].at,
        status=status,
    )
