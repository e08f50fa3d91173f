"""Archives old runs: completed ones after a week, failed ones after a month. Running and paused runs are never
archived, and runs are deleted only on request."""

import os
import shutil
import time
from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple

from ..core.errors import ConflictError, FileError, Location, UsageError
from .index import Run, all_runs, load_run_state, with_target
from .layout import ARCHIVE, MAX_ATTEMPTS, find_runs, run_start
from .state_file import RunStatus

RETENTION_DAYS = {RunStatus.COMPLETED: 7, RunStatus.FAILED: 30}

_DAY = 86_400.0


class ExpiredRun(NamedTuple):
    """A run past its retention period."""

    run: str
    session: str
    status: RunStatus
    days: int  # since its last checkpoint
    folder: str  # current folder; in the archive after the move

    @property
    def reason(self) -> str:
        return f"{self.status.value} {self.days} days ago; kept for {RETENTION_DAYS[self.status]}"


def expired_runs(runs: str, now: float, *, busy: Collection[str] = ()) -> list[ExpiredRun]:
    """Runs past their retention period, oldest first. `busy`: supervised runs, which are skipped."""
    found = [_expired(runs, session, name, now) for session, name in find_runs(runs) if _may_be_expired(name, now)]
    return sorted((one for one in found if one and one.run not in busy), key=lambda one: -one.days)


def archive_expired_runs(runs: str, now: float, *, busy: Collection[str] = ()) -> list[ExpiredRun]:
    """Archives expired runs and returns them. A run that cannot be moved is left in place."""
    moved = []
    for one in expired_runs(runs, now, busy=busy):
        with suppress(FileError):
            moved.append(one._replace(folder=archive_run(runs, one.session, one.run)))
    return moved


def archive_run(runs: str, session: str, name: str) -> str:
    """Moves a run into the archive and returns its new folder, renamed if the name is taken there."""
    parent, source = os.path.join(runs, ARCHIVE, session), os.path.join(runs, session, name)
    for again in range(1, MAX_ATTEMPTS):
        target = os.path.join(parent, name if again == 1 else f"{name}-{again}")
        if os.path.lexists(target):
            continue
        try:
            os.makedirs(parent, exist_ok=True)
            os.rename(source, target)
        except OSError as error:
            raise FileError(f"cannot be moved: {error.strerror}", location=Location(source)) from None
        with suppress(OSError):  # not empty: other runs remain
            os.rmdir(os.path.dirname(source))
        return target
    raise FileError(f"{MAX_ATTEMPTS} runs in the archive have this name", location=Location(source))


def archive_session(runs: str, session: str, *, busy: Collection[str] = ()) -> list[Run]:
    """Archives all runs of a session. Raises ConflictError if one is unfinished."""
    session_runs = [run for run in all_runs(runs) if run.session == session]
    if not session_runs:
        known = ", ".join(dict.fromkeys(run.session for run in all_runs(runs)))
        raise UsageError(
            f"there is no session {session!r}", expected=known or "none has a run", hint="bmad runs session list"
        )
    open_ = [
        run for run in session_runs if run.state.status in (RunStatus.RUNNING, RunStatus.PAUSED) or run.id in busy
    ]
    if open_:
        raise ConflictError(
            f"session {session} is not over",
            found=", ".join(f"{run.id} ({run.state.status.value})" for run in open_),
            expected="runs that are completed or failed",
            hint=_how_to_end(with_target(open_[0])),
        )
    return [run._replace(folder=archive_run(runs, session, run.id), is_archived=True) for run in session_runs]


def _how_to_end(run: Run) -> str:
    if run.is_protocol:
        return f"bmad checkpoint close --run {run.id} ends it"
    return f"bmad resume --run {run.id} goes on with it"


def delete_archived_run(run: Run) -> None:
    """Deletes an archived run permanently."""
    if not run.is_archived:
        raise ConflictError(f"{run.id} is not in the archive", hint="bmad runs clean")
    try:
        shutil.rmtree(run.folder)
    except OSError as error:
        raise FileError(f"cannot be removed: {error.strerror}", location=Location(run.folder)) from None
    with suppress(OSError):
        os.rmdir(os.path.dirname(run.folder))


def _may_be_expired(name: str, now: float) -> bool:
    """Checks the start time in the name, so that recent runs need not be opened."""
    return run_start(name)[0] < time.strftime(
        "%Y%m%d-%H%M%S", time.localtime(now - (min(RETENTION_DAYS.values()) - 1) * _DAY)
    )


def _expired(runs: str, session: str, name: str, now: float) -> ExpiredRun | None:
    folder = os.path.join(runs, session, name)
    state = load_run_state(folder, session)
    if state is None or state.status not in RETENTION_DAYS:
        return None
    last = state.last_checkpoint or state.started_at
    if not last or now - last < RETENTION_DAYS[state.status] * _DAY:
        return None
    return ExpiredRun(name, session, state.status, int((now - last) // _DAY), folder)
