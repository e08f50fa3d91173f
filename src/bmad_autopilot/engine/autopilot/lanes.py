"""The unfinished lanes of a project: one epic's run each, with its stage and the reason it waits."""

import os
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

from ...core.errors import AutopilotError, command
from ...core.journal_fold import fold
from ...core.run_ending import RunEnding
from ...core.run_record import RunRecord
from ...core.scheduling import EpicCandidate, LaneStage, LaneView
from ...runs.index import Run, unfinished_runs
from ...runs.journal import Journal
from ...runs.questions import open_questions, questions_of
from ...runs.state_file import RunStatus
from ...runs.supervisor_lock import ControlRequest, clear_request, read_request, request_path
from ..delivery.rounds import current_fix_round
from ..lane import LOCAL, Lane
from ..runner import RunEnd, lane_of_run
from .options import Budgets

if TYPE_CHECKING:
    from .ports import LaneStore


class LaneState(NamedTuple):
    """An unfinished lane."""

    folder: str
    lane: Lane
    record: RunRecord
    stage: LaneStage
    why: str = ""
    until: float | None = None
    fingerprint: str = ""  # of its pull request, when last read

    @property
    def is_delivered(self) -> bool:
        return bool(self.record.delivery.started_at)

    @property
    def is_at_work(self) -> bool:
        """It needs its checkout: stories are unfinished, or a fix round is open."""
        return not self.is_delivered or current_fix_round(self.record) is not None

    @property
    def is_busy(self) -> bool:
        """An agent may be running for it, possibly started by an earlier command."""
        return any(story.has_uncollected_call for story in self.record.stories.values())

    @property
    def is_pending(self) -> bool:
        """Another epic may be stacked on its branch. After the merge the branch may be deleted at any time."""
        return self.is_delivered and not self.record.delivery.merged

    @property
    def pull(self) -> int:
        return self.record.delivery.pull

    @property
    def is_published(self) -> bool:
        """Open for review, or complete where delivery is local. Before that no epic is stacked on it: answers to
        its questions may still change it."""
        plan = self.lane.delivery
        return not self.is_at_work and (self.pull > 0 or (plan is not None and plan.kind == LOCAL))

    def view(self) -> LaneView:
        return LaneView(self.lane.key, self.stage, self.is_published, self.until, self.is_busy)

    def as_ready(self) -> "LaneState":
        """The same lane, ready to be resumed."""
        return self._replace(stage=LaneStage.MOVED if self.is_delivered else LaneStage.WORK)

    @property
    def is_waiting_for_checkout(self) -> bool:
        """It waits for the checkout: a lane that waits for anything else has all of its work committed."""
        return self.stage is LaneStage.WAITS and self.is_at_work

    def as_waiting(self, why: str, until: float) -> "LaneState":
        """Blocked for now, and checked again at `until`."""
        return self._replace(stage=LaneStage.WAITS, why=why, until=until, fingerprint="")


def replace_lane(lanes: list[LaneState], state: LaneState) -> list[LaneState]:
    """Keeps the lane's position: an epic is stacked on the one started before it, not on the one run last."""
    folders = [one.folder for one in lanes]
    if state.folder not in folders:
        return [*lanes, state]
    return [state if one.folder == state.folder else one for one in lanes]


def last_pending(lanes: list[LaneState]) -> LaneState | None:
    """The lane the next epic is stacked on: the last one started whose stories are done and unmerged."""
    return next((state for state in reversed(lanes) if state.is_pending), None)


def unfinished_lanes(runs: str, session: str, *, resume_all: bool) -> list[LaneState]:
    """Lanes that earlier commands left, oldest first. `resume_all`: also resume those that were given up."""
    found = []
    for run in unfinished_runs(runs):
        lane = lane_of_run(run)
        if lane is None or lane.delivery is None or lane.session != session:
            continue
        state = _read_lane(run, lane)
        found.append(state.as_ready() if state.stage is LaneStage.BLOCKED and resume_all else state)
    return sorted(found, key=lambda state: state.record.started_at)


def _read_lane(run: Run, lane: Lane) -> LaneState:
    entries = Journal(run.folder, lambda value: value).entries()
    record = fold((entry.kind, entry.data, entry.at) for entry in entries)
    began = bool(record.delivery.started_at)
    stage = LaneStage.MOVED if began else LaneStage.WORK
    if run.state.status is RunStatus.FAILED:
        stage = LaneStage.BLOCKED
    return LaneState(run.folder, lane, record, stage)


def lane_after_run(end: RunEnd, open_question: str) -> LaneState:
    """The lane's state after a run of it has returned. `open_question`: the question that it asks, if any."""
    waits = end.record.delivery.current_wait or {}
    state = LaneState(end.folder, end.lane, end.record, LaneStage.WAITS)
    if end.status is RunEnding.PENDING:
        why, until = str(waits.get("why", "")), waits.get("until")
        return state._replace(why=why, until=until, fingerprint=str(waits.get("fingerprint", "")))
    if end.status is RunEnding.FAILED:
        last_answer = end.record.answers[-1] if end.record.answers else {}
        why = " ".join(str(last_answer.get("text", "")).split())
        return state._replace(stage=LaneStage.BLOCKED, why=f"given up: {why}" if why else "given up")
    if end.status.is_stopped and not open_question:
        return state.as_ready()
    return state._replace(stage=LaneStage.ASKS, why=open_question)


class RunFolders:
    """The lane store: run folders on disk. `runs`: the folder of all runs."""

    def __init__(self, runs: str, session: str) -> None:
        self._runs = runs
        self._session = session

    def unfinished(self, *, resume_all: bool) -> list[LaneState]:
        return unfinished_lanes(self._runs, self._session, resume_all=resume_all)

    def open_question(self, folder: str) -> str:
        try:
            return next((question.summary for question in open_questions(folder)), "")
        except AutopilotError:
            return ""

    def is_answered(self, folder: str) -> bool:
        return not open_questions(folder)

    def question_files(self, folder: str) -> list[str]:
        return [path for path, question in questions_of(folder)[0] if question.answer is None]

    def request(self, folder: str) -> ControlRequest | None:
        return read_request(folder)

    def clear_request(self, folder: str) -> None:
        clear_request(folder)

    def request_file(self, folder: str) -> str:
        return request_path(folder)


# Pause and stop requests from another terminal: the lane is parked until the request is withdrawn.

_STOP_COUNTS = {ControlRequest.STOP: 1, ControlRequest.STOP_NOW: 2}  # the equivalent number of Ctrl-C
_REASONS = {ControlRequest.PAUSE: "paused", ControlRequest.STOP: "stopped", ControlRequest.STOP_NOW: "stopped"}


ReadRequest = Callable[[str], ControlRequest | None]  # of a run's folder, or of the project's state folder


class ControlRequests:
    """Requests that apply to all lanes: from another terminal, or because a limit of the command is reached."""

    def __init__(self, read: ReadRequest, state_folder: str, budgets: Budgets) -> None:
        self._read = read
        self._folder = state_folder
        self._budgets = budgets

    def is_paused(self) -> bool:
        """No lane may start a new call. Every request counts, so that a lane started just now sees it too."""
        return bool(self._budgets.reached()) or self._read(self._folder) is not None

    def stops(self) -> int:
        request = self._read(self._folder)
        return _STOP_COUNTS.get(request, 0) if request is not None else 0


def apply_requests(lanes: list[LaneState], driven: Collection[str], read: ReadRequest) -> list[LaneState]:
    """Park or unpark the idle lanes. Running lanes apply requests themselves; given-up lanes stay as they are."""
    return [state if state.lane.key in driven else _apply_request(state, read) for state in lanes]


def _apply_request(state: LaneState, read: ReadRequest) -> LaneState:
    if state.stage is LaneStage.BLOCKED:
        return state
    request = read(state.folder)
    if request is None:
        return state.as_ready()._replace(why="") if state.stage is LaneStage.PARKED else state
    if state.stage is LaneStage.PARKED:
        return state
    goes_on = command("resume", "--run", os.path.basename(state.folder))
    return state._replace(stage=LaneStage.PARKED, why=f"{_REASONS[request]}: {goes_on}")


def strongest_request(lanes: list[LaneState], read: ReadRequest) -> ControlRequest | None:
    """Of the parked lanes' requests, the most urgent one."""
    found = {read(state.folder) for state in lanes if state.stage is LaneStage.PARKED}
    return next(
        (ask for ask in (ControlRequest.STOP_NOW, ControlRequest.STOP, ControlRequest.PAUSE) if ask in found), None
    )


def park_lane(state: LaneState, why: str) -> LaneState:
    """Park a ready lane. One that waits, asks, was given up or is parked already keeps its own reason."""
    is_idle = state.stage in (LaneStage.WORK, LaneStage.MOVED)
    return state._replace(stage=LaneStage.PARKED, why=why) if is_idle else state


# The state of every epic during one command: running, starting, finished, failed to start.


class FailedStart(NamedTuple):
    """Why an epic could not be started, and the hint for the user."""

    why: str
    hint: str = ""


class LaneTable:
    def __init__(self, store: "LaneStore", lanes: list[LaneState]) -> None:
        self._store = store
        self.lanes = lanes
        self.merged: list[str] = []
        self.finished: list[str] = []  # also epics left on their branch: not started again
        self.starting: dict[str, str] = {}  # key → number
        self.failed_starts: dict[str, FailedStart] = {}  # those of `starting` that failed

    @property
    def is_blocked(self) -> bool:
        return bool(self.failed_starts) or any(state.stage is LaneStage.BLOCKED for state in self.lanes)

    def find(self, key: str) -> LaneState | None:
        return next((state for state in self.lanes if state.lane.key == key), None)

    def idle(self, driven: Collection[str]) -> list[LaneState]:
        """The lanes that no worker is running."""
        return [state for state in self.lanes if state.lane.key not in driven]

    def start(self, epic: EpicCandidate) -> None:
        self.starting[epic.key] = epic.number

    def cancel_start(self, key: str) -> None:
        """The epic was not started, and may be tried later."""
        self.starting.pop(key, None)

    def record_end(self, end: RunEnd) -> None:
        """Update the table after a run of a lane has returned."""
        key = end.lane.key
        self.make_ready([state.folder for state in self.lanes if state.is_waiting_for_checkout])
        self.starting.pop(key, None)
        if not end.status.is_over:
            self.lanes = replace_lane(self.lanes, lane_after_run(end, self._store.open_question(end.folder)))
            return
        self.lanes = [state for state in self.lanes if state.folder != end.folder]
        self.finished.append(key)
        if end.record.delivery.merged:
            self.merged.append(key)

    def has_run(self, key: str) -> bool:
        return self._read_lane(key) is not None

    def _read_lane(self, key: str) -> LaneState | None:
        return next((one for one in self._store.unfinished(resume_all=True) if one.lane.key == key), None)

    def record_failure(self, key: str, why: str, hint: str = "", *, retry: bool) -> None:
        """Read the lane from disk: before the failure it may have made progress or started an agent."""
        state = self._read_lane(key)
        if state is not None:
            stage = state.as_ready().stage if retry else LaneStage.BLOCKED
            self.lanes = replace_lane(self.lanes, state._replace(stage=stage, why=why))
        elif not retry:  # it stays in `starting`: its dependants must not start
            self.failed_starts[key] = FailedStart(why, hint)
            return
        self.starting.pop(key, None)

    def make_wait(self, state: LaneState, why: str, until: float) -> None:
        """The checkout is occupied: check again at `until`, and whenever another lane has run."""
        self.lanes = replace_lane(self.lanes, state.as_waiting(why, until))

    def make_ready(self, folders: Collection[str]) -> None:
        """Mark these lanes as ready to be resumed."""
        self.lanes = [state.as_ready() if state.folder in folders else state for state in self.lanes]

    def apply_requests(self, driven: Collection[str]) -> list[str]:
        """Apply requests for single lanes. Returns the keys of the lanes parked by this call."""
        before = {state.folder for state in self.lanes if state.stage is LaneStage.PARKED}
        self.lanes = apply_requests(self.lanes, driven, self._store.request)
        return [
            state.lane.key
            for state in self.lanes
            if state.stage is LaneStage.PARKED and state.folder not in before
        ]

    def park_idle(self, why: str) -> None:
        self.lanes = [park_lane(state, why) for state in self.lanes]
