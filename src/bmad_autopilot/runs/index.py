"""Finds runs by name, and lists the unfinished ones that `bmad resume` can resume."""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from ..core.errors import ConflictError, FileError, Location, UsageError
from ..core.lane_scope import LaneScope
from .journal import Journal, JournalEntry, first_entry, is_lane_entry
from .layout import ARCHIVE, find_archived, find_runs, folder_name
from .state_file import RunState, RunStatus, parse_status, read_state, write_state
from .supervisor_lock import busy_runs

MAX_SHOWN = 8  # matches shown for an ambiguous name
OPENED = "opened"  # first entry of a checkpoint-protocol run, written by `bmad checkpoint save`


class Run(NamedTuple):
    folder: str
    id: str
    session: str
    state: RunState
    target: str  # the requested story key, epic key or workflow name
    is_protocol: bool = False  # recorded by agents with `bmad checkpoint`; the engine does not drive it
    is_archived: bool = False
    lane: Mapping[str, Any] = {}  # the lane as its first journal entry records it; empty if the engine has none

    @property
    def last_activity(self) -> float:
        """Time of the last checkpoint, or of the start."""
        return self.state.last_checkpoint or self.state.started_at


def unfinished_runs(runs: str) -> list[Run]:
    """Running, failed and paused runs, newest checkpoint first. Only the supervisor lock tells whether a run
    marked running is still alive."""
    states = _load_runs(runs, find_runs(runs))
    return [with_target(run) for run in _newest_first(states) if run.state.status is not RunStatus.COMPLETED]


def open_runs(
    runs: str,
    scope: LaneScope | None = None,
    *,
    key: str | None = None,
    path: str | None = None,
    session: str | None = None,
    of_tasks: bool | None = None,
) -> Iterator[Run]:
    """Runs of the engine that a command with the same target resumes, newest checkpoint first. A run that the user
    gave up has the status failed and counts as over. A criterion that is left out matches every run. `key`: of the
    story, epic, workflow or flow. `path`: of the workflow's file. Sessions that share a folder are one session, as
    they are for the supervisor lock."""
    wanted = {"scope": scope, "key": key, "path": path, "of_tasks": of_tasks}
    for run in unfinished_runs(runs):
        if not run.lane or run.state.status is RunStatus.FAILED:
            continue
        if session is not None and run.session != folder_name(session):
            continue
        if all(value is None or run.lane.get(name, False) == value for name, value in wanted.items()):
            yield run


def all_runs(runs: str, *, include_archived: bool = False) -> list[Run]:
    """Every run, newest checkpoint first, without its target: call `with_target`, which opens another file, only
    for runs that are shown."""
    found = list(_load_runs(runs, find_runs(runs)))
    if include_archived:
        there = os.path.join(runs, ARCHIVE)
        found += [run._replace(is_archived=True) for run in _load_runs(there, find_archived(runs))]
    return _newest_first(found)


def find_run(runs: str, wanted: str | None) -> Run:
    """The run matching a name, SESSION/RUN, or a prefix of either; the newest if `wanted` is None. Archived runs
    are searched only if no other run matches."""
    for known in (all_runs(runs), all_runs(runs, include_archived=True)):
        meant = known[:1] if wanted is None else _match_runs(known, wanted)
        if len(meant) == 1:
            return with_target(meant[0])
        if meant:
            raise UsageError(
                f"{len(meant)} runs are called {wanted}"
                if _have_same_name(meant)
                else f"{len(meant)} runs begin with {wanted}",
                found=_describe_runs(meant),
                hint="give more of the name, or SESSION/RUN",
            )
    if not known:
        refuse_unreadable(runs)
        raise UsageError("there is no run in this project yet", hint="bmad run-epic begins one")
    raise UsageError(
        f"there is no run {(wanted or '')[:80]!r}", expected=_describe_runs(known), hint="bmad runs --all"
    )


def unreadable_runs(runs: str) -> list[str]:
    """Run folders whose state and journal are both unreadable."""
    places = [os.path.join(runs, session, name) for session, name in find_runs(runs)]
    return [place for place in places if os.listdir(place) and load_run_state(place, "") is None]


def refuse_unreadable(runs: str) -> None:
    found = unreadable_runs(runs)
    if found:
        raise FileError(
            "no run can be read: neither its state.json nor its journal.jsonl",
            location=Location(found[0]),
            found=f"{len(found)} such folders" if len(found) > 1 else None,
            hint="put one of the two back, or move the folder away; git and the board hold what was done",
        )


def with_target(run: Run) -> Run:
    """Adds `target`, `is_protocol` and `lane` from the first line of the journal."""
    try:
        first = first_entry(run.folder)
    except FileError:
        first = None
    target = first.data.get("target") if first else None
    return run._replace(
        target=target if isinstance(target, str) else "",
        is_protocol=first is not None and first.kind == OPENED,
        lane=first.data if first is not None and is_lane_entry(first) else {},
    )


def load_run_state(run: str, session: str) -> RunState | None:
    """State from the state file, else from the journal; also from the journal if the state file belongs to another
    run. None if the folder is not a run."""
    state = None
    with suppress(FileError):
        state = read_state(run)
        if state is not None and state.run_id == os.path.basename(run):
            return state
    with suppress(FileError):
        return _state_from_journal(run, session, Journal(run, lambda value: value).entries()) or state
    return state


def _load_runs(runs: str, named: Iterable[tuple[str, str]]) -> Iterable[Run]:
    for session, name in named:
        folder = os.path.join(runs, session, name)
        state = load_run_state(folder, session)
        if state is not None:
            yield Run(folder, name, session, state, "")


def _newest_first(found: Iterable[Run]) -> list[Run]:
    return sorted(found, key=lambda run: (run.state.last_checkpoint, run.state.started_at, run.id), reverse=True)


def _match_runs(known: list[Run], wanted: str) -> list[Run]:
    """Tries full names first: one run's name may be a prefix of another's."""
    whole = [run for run in known if wanted in (run.id, f"{run.session}/{run.id}")]
    begun = (run for run in known if run.id.startswith(wanted) or f"{run.session}/{run.id}".startswith(wanted))
    return whole or (list(begun) if wanted else [])


def _have_same_name(meant: list[Run]) -> bool:
    return len({run.id for run in meant}) == 1


def _describe_runs(runs: list[Run]) -> str:
    more = f", … {len(runs) - MAX_SHOWN} more" if len(runs) > MAX_SHOWN else ""
    return ", ".join(f"{run.session}/{run.id}" for run in runs[:MAX_SHOWN]) + more


def _state_from_journal(run: str, session: str, entries: list[JournalEntry]) -> RunState | None:
    if not entries:
        return None
    status, done = RunStatus.RUNNING, set()
    for entry in entries:
        if entry.kind in ("finished", "saved"):
            status = parse_status(entry.data.get("status"))
        elif entry.kind in ("left", "waiting", "pending"):
            status = RunStatus.PAUSED
        elif entry.kind in ("resumed", "answered"):
            status = RunStatus.RUNNING
        made = entry.data.get("checkpoint") if entry.kind != "saved" else None  # written before its step
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


# Stale runs: marked running, but their supervisor was killed or the machine went down.


def stale_runs(runs: str, state_folder: str) -> list[Run]:
    """Newest first. Checkpoint-protocol runs have no supervisor and are not included."""
    alive = busy_runs(state_folder)
    found = (run for run in unfinished_runs(runs) if run.state.status is RunStatus.RUNNING and not run.is_protocol)
    return [run for run in found if run.id not in alive]


def mark_paused(run: Run) -> None:
    journal = Journal(run.folder, lambda value: value)
    with suppress(ConflictError):  # another supervisor has just resumed it
        journal.append("left", agents="none", paused=True)
    journal.close()
    write_state(run.folder, run.state._replace(status=RunStatus.PAUSED))
