"""Waits until a lane can be resumed: polls all waiting pull requests with one query, and watches answers,
requests and workers."""

from collections.abc import Callable, Sequence

from ...core.forge_errors import TRANSIENT_FOR_POLLS, ForgeError
from ...core.scheduling import LaneStage
from ...github.forge import Forge
from ...project.config import Config
from ..lane import LOCAL
from .lanes import ControlRequests, LaneState, apply_requests
from .ports import SupervisorPorts, SupervisorWaiter
from .scheduler import LaneScheduler
from .workers import Workers

# Which waiting lanes can be resumed.

AWAY = 60.0  # seconds before an unreachable forge is queried again


def ready_without_forge(waits: Sequence[LaneState], now: float, base: str) -> set[str]:
    """For local delivery; returns run folders. `base`: head of the base, where a person may have merged."""
    return _due_lanes(waits, now) | {state.folder for state in waits if state.fingerprint not in ("", base)}


def _due_lanes(waits: Sequence[LaneState], now: float) -> set[str]:
    return {state.folder for state in waits if state.until is not None and state.until <= now}


def ready_lanes(
    waits: Sequence[LaneState], now: float, forge: Forge, wait_until: Callable[[float], object]
) -> set[str]:
    """Run folders. An unreachable forge is not queried again for a while."""
    ready = _due_lanes(waits, now)
    # Without a fingerprint the lane waits for the forge itself or for its checkout: only time ends that.
    numbers = {state.pull: state for state in waits if state.pull and state.fingerprint}
    if not numbers:
        return ready or {state.folder for state in waits if not state.pull and state.until is None}
    try:
        marks = forge.watch(list(numbers))
    except ForgeError as error:
        if error.kind not in TRANSIENT_FOR_POLLS:
            raise
        wait_until(max(error.until, now + AWAY))
        return ready
    same = {mark.number for mark in marks if mark.fingerprint == numbers[mark.number].fingerprint}
    return ready | {state.folder for number, state in numbers.items() if number not in same}


# Seconds after which a pending pull request is read in full, whatever its fingerprint says. A safety net, and rare
# because a hundred pull requests cost hundreds of points each time.
RESCAN = 7200.0


class LaneMonitor:
    """`end`: the command's deadline; None: there is none."""

    def __init__(
        self, ports: SupervisorPorts, config: Config, base: str, requests: ControlRequests, end: float | None
    ) -> None:
        self._store = ports.store
        self._branches = ports.branches
        self._forge = ports.forge
        self._now = ports.clock
        self._request_file = ports.store.request_file(ports.state_folder)
        self._seconds = float(config.github.check_interval)
        self._is_local = config.delivery == LOCAL
        self._base = base
        self._requests = requests
        self._end = end
        self._next_check = 0.0

    def check_now(self) -> None:
        """Poll at once: a lane has run, and other lanes may be ready because of it."""
        self._next_check = 0.0

    def wait(
        self,
        idle: list[LaneState],
        waiting: SupervisorWaiter,
        workers: Workers,
        scheduler: LaneScheduler,
        retry_at: float,
    ) -> set[str]:
        """Poll and wait until lanes are ready, or until `retry_at`. Returns their run folders: changed, answered
        or due; empty: a stop, a request, a completed worker or a scheduler change needs attention."""
        waits = [state for state in idle if state.stage is LaneStage.WAITS]
        asks = [state for state in idle if state.stage is LaneStage.ASKS]
        requests = [self._request_file, *(self._store.request_file(state.folder) for state in idle)]
        files = (*requests, *(path for state in asks for path in self._store.question_files(state.folder)))
        rescan = min(self._now() + RESCAN, retry_at)
        while not (
            waiting.stop_count or workers.has_completed or scheduler.has_changed() or self._has_request(idle)
        ):
            ready = {state.folder for state in asks if self._store.is_answered(state.folder)}
            ready |= {state.folder for state in waits if state.lane.key in scheduler.merge_turns()}
            if self._now() >= self._next_check:
                ready |= self._find_ready(waits, waiting)
                self._next_check = self._now() + self._interval()
            if self._now() >= rescan:
                return ready | {state.folder for state in waits}
            if ready:
                return ready
            times = [state.until for state in waits if state.until is not None and state.until > self._now()]
            waiting.wait_until(min([self._next_check, rescan, *times, *([self._end] if self._end else [])]), files)
        return set()

    def _has_request(self, idle: list[LaneState]) -> bool:
        """A request came from another terminal, or a limit of the command is reached."""
        is_changed = apply_requests(idle, (), self._store.request) != idle
        return bool(self._requests.stops()) or self._requests.is_paused() or is_changed

    def _find_ready(self, waits: list[LaneState], waiting: SupervisorWaiter) -> set[str]:
        if self._is_local:
            return ready_without_forge(waits, self._now(), self._branches.branch_head(self._base))
        return ready_lanes(waits, self._now(), self._forge(), waiting.wait_until)

    def _interval(self) -> float:
        return self._seconds if self._is_local else self._forge().pace(self._seconds)
