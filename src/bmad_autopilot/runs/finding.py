"""Runs by what a person types; and those that are not over, which `bmad resume` goes on with."""

import os
from collections.abc import Iterable
from contextlib import suppress
from typing import NamedTuple

from ..core.errors import FileError, Place, UsageError
from .journal import Journal, first_entry
from .journal_lines import Entry
from .layout import ARCHIVE, find_archived, find_runs
from .state import RunState, Status, read_state, status_of

MAX_SHOWN = 8  # runs that one name may mean
OPENED = "opened"  # the first entry of a run that agents keep themselves: `bmad checkpoint save`


class Run(NamedTuple):
    folder: str
    id: str
    session: str
    state: RunState
    target: str  # what was asked for: a story's or an epic's key, a workflow's name
    is_protocol: bool = False  # agents keep it, with `bmad checkpoint`: nobody drives it
    is_archived: bool = False

    @property
    def last_sign(self) -> float:
        """When something was last heard of it."""
        return self.state.last_checkpoint or self.state.started_at


def newest_unfinished(runs: str) -> Run | None:
    return next(iter(unfinished(runs)), None)


def unfinished(runs: str) -> list[Run]:
    """Running, failed and paused ones, by the time of their last checkpoint. Whether a running one really runs,
    the supervisor's lock tells."""
    states = _states(runs, find_runs(runs))
    return [with_target(run) for run in _newest_first(states) if run.state.status is not Status.COMPLETED]


def all_runs(runs: str, *, archive: bool = False) -> list[Run]:
    """Every run, by the time of its last checkpoint, the newest first, and without its target: whoever shows it
    asks `with_target`, which opens another file."""
    found = list(_states(runs, find_runs(runs)))
    if archive:
        there = os.path.join(runs, ARCHIVE)
        found += [run._replace(is_archived=True) for run in _states(there, find_archived(runs))]
    return _newest_first(found)


def find_run(runs: str, wanted: str | None) -> Run:
    """The one meant by a run's name, SESSION/RUN, or the beginning of either; the newest where none is named. One
    in the archive is found where no other is meant."""
    for known in (all_runs(runs), all_runs(runs, archive=True)):
        meant = known[:1] if wanted is None else _meant(known, wanted)
        if len(meant) == 1:
            return with_target(meant[0])
        if meant:
            raise UsageError(
                f"{len(meant)} runs are called {wanted}"
                if _is_name(meant)
                else f"{len(meant)} runs begin with {wanted}",
                found=_named(meant),
                hint="give more of the name, or SESSION/RUN",
            )
    if not known:
        refuse_unreadable(runs)
        raise UsageError("there is no run in this project yet", hint="bmad run-epic begins one")
    raise UsageError(f"there is no run {(wanted or '')[:80]!r}", expected=_named(known), hint="bmad runs --all")


def unreadable_runs(runs: str) -> list[str]:
    """Folders of runs whose state and journal nobody can read."""
    places = [os.path.join(runs, session, name) for session, name in find_runs(runs)]
    return [place for place in places if os.listdir(place) and state_of(place, "") is None]


def refuse_unreadable(runs: str) -> None:
    found = unreadable_runs(runs)
    if found:
        raise FileError(
            "no run can be read: neither its state.json nor its journal.jsonl",
            place=Place(found[0]),
            found=f"{len(found)} such folders" if len(found) > 1 else None,
            hint="put one of the two back, or move the folder away; git and the board hold what was done",
        )


def with_target(run: Run) -> Run:
    """And with who keeps it, both from the first line of its journal."""
    try:
        first = first_entry(run.folder)
    except FileError:
        first = None
    target = first.data.get("target") if first else None
    is_protocol = first is not None and first.kind == OPENED
    return run._replace(target=target if isinstance(target, str) else "", is_protocol=is_protocol)


def state_of(run: str, session: str) -> RunState | None:
    """Where a run stands: by its state file, else by its journal; by that, too, where the file is of another run.
    None: it is none of ours."""
    state = None
    with suppress(FileError):
        state = read_state(run)
        if state is not None and state.run_id == os.path.basename(run):
            return state
    with suppress(FileError):
        return _from_journal(run, session, Journal(run, lambda value: value).entries()) or state
    return state


def _states(runs: str, named: Iterable[tuple[str, str]]) -> Iterable[Run]:
    for session, name in named:
        folder = os.path.join(runs, session, name)
        state = state_of(folder, session)
        if state is not None:
            yield Run(folder, name, session, state, "")


def _newest_first(found: Iterable[Run]) -> list[Run]:
    return sorted(found, key=lambda run: (run.state.last_checkpoint, run.state.started_at, run.id), reverse=True)


def _meant(known: list[Run], wanted: str) -> list[Run]:
    """By the whole name first: one run's may be the beginning of another's."""
    whole = [run for run in known if wanted in (run.id, f"{run.session}/{run.id}")]
    begun = (run for run in known if run.id.startswith(wanted) or f"{run.session}/{run.id}".startswith(wanted))
    return whole or (list(begun) if wanted else [])


def _is_name(meant: list[Run]) -> bool:
    return len({run.id for run in meant}) == 1


def _named(runs: list[Run]) -> str:
    more = f", … {len(runs) - MAX_SHOWN} more" if len(runs) > MAX_SHOWN else ""
    return ", ".join(f"{run.session}/{run.id}" for run in runs[:MAX_SHOWN]) + more


def _from_journal(run: str, session: str, entries: list[Entry]) -> RunState | None:
    if not entries:
        return None
    status, done = Status.RUNNING, set()
    for entry in entries:
        if entry.kind in ("finished", "saved"):
            status = status_of(entry.data.get("status"))
        elif entry.kind in ("left", "waiting", "pending"):
            status = Status.PAUSED
        elif entry.kind in ("resumed", "answered"):
            status = Status.RUNNING
        made = entry.data.get("checkpoint") if entry.kind != "saved" else None  # that is before its step
        if isinstance(made, dict) and type(made.get("step")) is int and made["step"] > 0:
            done.add(made["step"])
    return RunState(
        os.path.basename(run),
        session_branch=session,
        started_at=entries[0].at,
        last_checkpoint=entries[-1].at,
        status=status,
        steps_completed=tuple(sorted(done)),
        current_step=max(done, default=0),
    )
