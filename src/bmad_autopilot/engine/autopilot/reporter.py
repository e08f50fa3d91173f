"""Reports the autopilot's events to its caller and to the bash autopilot's files; lists its runs in the lock."""

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, cast

from ...agents.shim.redact import redact
from ...core.errors import AutopilotError
from ...core.transitions import TABLE, EpicPhase
from ...git.git import Git
from ...github.forge import Forge
from ...runs.legacy_state import PendingPull, completed_epics, log_line, write_autopilot_state
from ..ports import EventSink
from ..waiting import Waiter
from ..world.delivery import ForgeFactory
from .lanes import LaneState
from .ports import AutopilotLog, RunRegistry
from .workers import LaneResult

MAX_TRACE = 1500
_PHASES = {rule.name: rule.phase or EpicPhase.DEVELOP_STORIES for rule in TABLE}


class LogFiles:
    """The bash autopilot's log and state file, in the project's folder."""

    def __init__(self, project: str) -> None:
        self._project = project

    def completed_epics(self) -> Sequence[str]:
        return completed_epics(self._project)

    def add_line(self, text: str) -> None:
        log_line(self._project, text)

    def write_state(self, phase: str, epic: str, done: Sequence[str], pending: Sequence[PendingPull]) -> None:
        """For other programs only, so a failure to write is ignored."""
        with suppress(AutopilotError, OSError):
            write_autopilot_state(self._project, phase, epic, done, pending)


class EventReporter:
    def __init__(self, log: AutopilotLog, on_event: EventSink, clock: Callable[[], float]) -> None:
        self._log = log
        self._on_event = on_event
        self._now = clock
        self._lock = threading.RLock()  # lanes report from their own threads
        self._done = list(log.completed_epics())
        self._pending: list[PendingPull] = []
        self._last_state: tuple[str, str] = ("", "")  # phase and epic last written to the state file
        self._last_waits: dict[str, str] = {}  # lane → the reason to wait last reported

    def _emit(self, kind: str, data: Mapping[str, Any], at: float) -> None:
        with self._lock:
            self._on_event(kind, data, at)

    def for_lane(self, key: str, epic: str) -> EventSink:
        """An event sink for the lane's run that adds the lane's key."""

        def report(kind: str, data: Mapping[str, Any], at: float) -> None:
            rule = (data.get("decided") or {}).get("rule")
            with self._lock:
                if rule in _PHASES:
                    self._write_state(_PHASES[rule], epic)
                if not self._is_repeated(key, kind, data):
                    self._emit(kind, {"lane": key, **data}, at)

        return report

    def _is_repeated(self, lane: str, kind: str, data: Mapping[str, Any]) -> bool:
        """A lane is resumed again and again: report neither that nor an unchanged reason to wait twice."""
        if kind in ("run", "resumed"):
            is_repeated = lane in self._last_waits
            self._last_waits.setdefault(lane, "")
            return is_repeated
        if kind in ("pending", "did", "pull-round"):
            why = str(data.get("why", "")) if kind == "pending" else ""
            before, self._last_waits[lane] = self._last_waits.get(lane, ""), why
            return bool(why) and before == why
        return False

    def report_choice(self, phase: EpicPhase, key: str, epic: str, lanes: Sequence[LaneState]) -> None:
        self._pending = [
            PendingPull(one.lane.epic or one.lane.key, one.pull, one.stage.value, self._now())
            for one in lanes
            if one.pull
        ]
        self._write_state(phase, epic)
        if phase is not EpicPhase.WAIT_COPILOT:
            self._log.add_line(f"{phase} {key}".strip())
        self._emit("phase", {"phase": phase.value, "key": key}, self._now())

    def report_merged(self, key: str, epic: str) -> None:
        self._done = [*(one for one in self._done if one != epic), epic]
        self._log.add_line(f"{key} is merged")

    def _write_state(self, phase: EpicPhase, epic: str) -> None:
        if self._last_state == (phase, epic) and phase is not EpicPhase.WAIT_COPILOT:
            return
        self._last_state = (phase, epic)
        self._log.write_state(phase.value, epic, self._done, self._pending)

    def notify(self, text: str) -> None:
        text = redact(text)  # the daemon's output goes to a file
        self._emit("notice", {"text": text}, self._now())
        self._log.add_line(text)

    def report_failure(self, result: LaneResult, retry: bool) -> None:
        """Report a lane that raised an error. The log gets the traceback."""
        what = "tried again" if retry else "parked"
        self.notify(f"{result.key} broke off, and is {what}: {result.why}")
        if not retry:
            hint = f"{result.hint}; " if result.hint else ""
            self.notify(f"{result.key}: {hint}the next bmad autopilot tries it again")
        self._log.add_line(" ".join(redact(result.trace).split())[-MAX_TRACE:])  # the end matters most

    def report_waiting(self, state: LaneState, why: str, until: float) -> None:
        data = {"why": why, "until": until, "pull": state.pull or None}
        self.for_lane(state.lane.key, state.lane.epic or "")("pending", data, self._now())

    def report_stopping(self, times: int, *, is_idle: bool) -> None:
        self._emit("stopping", {"times": times, "idle": is_idle}, self._now())

    def log_left(self, lanes: Sequence[LaneState]) -> None:
        for state in lanes:
            self._log.add_line(f"{state.lane.key}: {state.stage} {state.why}")


# The runs of this supervisor, listed in its lock file for other commands.


class OwnedRuns:
    def __init__(self, registry: RunRegistry) -> None:
        self._registry = registry
        self._lock = threading.Lock()  # lanes call from their own threads
        self._runs: dict[str, None] = {}  # by name, the last one run at the end

    def adopt(self, folders: Iterable[str]) -> None:
        """Take over the runs that earlier commands left."""
        with self._lock:
            self._runs |= dict.fromkeys(map(os.path.basename, folders))
            self._write()
        self._registry.mark_ready()

    def add(self, folder: str) -> None:
        name = os.path.basename(folder)
        with self._lock:
            self._runs.pop(name, None)
            self._runs[name] = None
            self._write()

    def remove(self, folder: str) -> None:
        with self._lock:
            self._runs.pop(os.path.basename(folder), None)
            self._write()

    def _write(self) -> None:
        """For other commands only, so a failure to write (a full disk) is ignored."""
        with suppress(OSError):
            self._registry.set_runs(tuple(self._runs), next(reversed(self._runs), ""))


# One forge client for all lanes: one login has one rate budget, and the client is not thread-safe.


class _LockedForge:
    def __init__(self, forge: Forge) -> None:
        self._forge = forge
        self._lock = threading.RLock()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._forge, name)

        def alone(*arguments: Any, **named: Any) -> Any:
            with self._lock:
                return method(*arguments, **named)

        return alone


def locked_forge(forge: Forge) -> Forge:
    return cast(Forge, _LockedForge(forge))


class LazyForge:
    """Creates the forge client on first use; local delivery never does. `waiter`: the supervisor's."""

    def __init__(
        self, git: Git, remote: str, maker: ForgeFactory | None, waiter: Waiter, *, is_shared: bool
    ) -> None:
        self._git = git
        self._remote = remote
        self._maker = maker
        self._waiter = waiter
        self._is_shared = is_shared
        self._stopped = threading.Event()
        self._forge: Forge | None = None

    def __call__(self) -> Forge:
        if self._forge is None:
            made = self._make()
            self._forge = locked_forge(made) if self._is_shared else made
        return self._forge

    def _make(self) -> Forge:
        if self._maker is not None:
            return self._maker(self._git, self._remote)
        from ...github.gh_forge import find_forge

        return find_forge(self._git, self._remote, wait=self._pause)

    def _pause(self, seconds: float) -> None:
        if threading.current_thread() is threading.main_thread():
            self._waiter.wait_until(time.time() + seconds)
        else:
            self._stopped.wait(seconds)

    def stop_waits(self) -> None:
        self._stopped.set()
