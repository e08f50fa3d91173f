"""How long runs stay: completed ones a week, failed ones a month, then they lie in the archive. Running and paused
ones stay for ever, and nothing is deleted unless somebody asks for it."""

import os
import shutil
import time
from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple

from ..core.errors import ConflictError, FileError, Place, UsageError
from .finding import Run, all_runs, state_of, with_target
from .layout import ARCHIVE, MAX_ATTEMPTS, begun, find_runs
from .state import Status

DAYS = {Status.COMPLETED: 7, Status.FAILED: 30}

_DAY = 86_400.0


class Old(NamedTuple):
    """A run whose time has come."""

    run: str
    session: str
    status: Status
    days: int  # since something was last heard of it
    folder: str  # where it lies, after the move in the archive

    @property
    def why(self) -> str:
        return f"{self.status.value} {self.days} days ago; kept for {DAYS[self.status]}"


def due(runs: str, now: float, *, busy: Collection[str] = ()) -> list[Old]:
    """The runs whose time has come, the oldest first. `busy`: those that are looked after right now."""
    found = [_old(runs, session, name, now) for session, name in find_runs(runs) if _may_be_due(name, now)]
    return sorted((one for one in found if one and one.run not in busy), key=lambda one: -one.days)


def clean_at_start(runs: str, now: float, *, busy: Collection[str] = ()) -> list[Old]:
    """What was moved into the archive. One that is in the way of nobody but cannot be moved stays."""
    moved = []
    for one in due(runs, now, busy=busy):
        with suppress(FileError):
            moved.append(one._replace(folder=archive(runs, one.session, one.run)))
    return moved


def archive(runs: str, session: str, name: str) -> str:
    """Move a run into the archive; where it lies then. One that has the same name there keeps its own."""
    parent, source = os.path.join(runs, ARCHIVE, session), os.path.join(runs, session, name)
    for again in range(1, MAX_ATTEMPTS):
        target = os.path.join(parent, name if again == 1 else f"{name}-{again}")
        if os.path.lexists(target):
            continue
        try:
            os.makedirs(parent, exist_ok=True)
            os.rename(source, target)
        except OSError as error:
            raise FileError(f"cannot be moved: {error.strerror}", place=Place(source)) from None
        with suppress(OSError):  # other runs lie there
            os.rmdir(os.path.dirname(source))
        return target
    raise FileError(f"{MAX_ATTEMPTS} runs in the archive have this name", place=Place(source))


def archive_session(runs: str, session: str, *, busy: Collection[str] = ()) -> list[Run]:
    """All runs of a session, unless one of them is not over."""
    own = [run for run in all_runs(runs) if run.session == session]
    if not own:
        known = ", ".join(dict.fromkeys(run.session for run in all_runs(runs)))
        raise UsageError(
            f"there is no session {session!r}", expected=known or "none has a run", hint="bmad runs session list"
        )
    open_ = [run for run in own if run.state.status in (Status.RUNNING, Status.PAUSED) or run.id in busy]
    if open_:
        raise ConflictError(
            f"session {session} is not over",
            found=", ".join(f"{run.id} ({run.state.status.value})" for run in open_),
            expected="runs that are completed or failed",
            hint=_how_to_end(with_target(open_[0])),
        )
    return [run._replace(folder=archive(runs, session, run.id), is_archived=True) for run in own]


def _how_to_end(run: Run) -> str:
    if run.is_protocol:
        return f"bmad checkpoint close --run {run.id} ends it"
    return f"bmad resume --run {run.id} goes on with it"


def delete(run: Run) -> None:
    """For good. Only what lies in the archive."""
    if not run.is_archived:
        raise ConflictError(f"{run.id} is not in the archive", hint="bmad runs clean")
    try:
        shutil.rmtree(run.folder)
    except OSError as error:
        raise FileError(f"cannot be removed: {error.strerror}", place=Place(run.folder)) from None
    with suppress(OSError):
        os.rmdir(os.path.dirname(run.folder))


def _may_be_due(name: str, now: float) -> bool:
    """By its name alone, which says when it began: most runs are younger, and are not opened."""
    return begun(name)[0] < time.strftime("%Y%m%d-%H%M%S", time.localtime(now - (min(DAYS.values()) - 1) * _DAY))


def _old(runs: str, session: str, name: str, now: float) -> Old | None:
    folder = os.path.join(runs, session, name)
    state = state_of(folder, session)
    if state is None or state.status not in DAYS:
        return None
    last = state.last_checkpoint or state.started_at
    if not last or now - last < DAYS[state.status] * _DAY:
        return None
    return Old(name, session, state.status, int((now - last) // _DAY), folder)
