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
from ...runs.supervisor_lock import SupervisorLock
from ..ports import EventSink
from ..world.delivery import ForgeFactory
from .lanes import LaneState
from .workers import LaneResult

MAX_TRACE = 1500
_PHASES = {rule.name: rule.phase or EpicPhase.DEVELOP_STORIES for rule in TABLE}


class EventReporter:
    def __init__(self, project: str, on_event: EventSink) -> None:
        self._project = project
        self._on_event = on_event
        self._lock = threading.RLock()  # lanes report from their own threads
        self._done = list(completed_epics(project))
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
            PendingPull(one.lane.epic or one.lane.key, one.pull, one.stage.value, time.time())
            for one in lanes
            if one.pull
        ]
        self._write_state(phase, epic)
        if phase is not EpicPhase.WAIT_COPILOT:
            log_line(self._project, f"{phase} {key}".strip())
        self._emit("phase", {"phase": phase.value, "key": key}, time.time())

    def report_merged(self, key: str, epic: str) -> None:
        self._done = [*(one for one in self._done if one != epic), epic]
        log_line(self._project, f"{key} is merged")

    def _write_state(self, phase: EpicPhase, epic: str) -> None:
        """For other programs only, so a failure to write is ignored."""
        if self._last_state == (phase, epic) and phase is not EpicPhase.WAIT_COPILOT:
            return
        self._last_state = (phase, epic)
        with suppress(AutopilotError, OSError):
            write_autopilot_state(self._project, phase.value, epic, self._done, self._pending)

    def notify(self, text: str) -> None:
        text = redact(text)  # the daemon's output goes to a file
        self._emit("notice", {"text": text}, time.time())
        log_line(self._project, text)

    def report_failure(self, result: LaneResult, retry: bool) -> None:
        """Report a lane that raised an error. The log gets the traceback."""
        what = "tried again" if retry else "parked"
        self.notify(f"{result.key} broke off, and is {what}: {result.why}")
        if not retry:
            hint = f"{result.hint}; " if result.hint else ""
            self.notify(f"{result.key}: {hint}the next bmad autopilot tries it again")
        log_line(self._project, " ".join(redact(result.trace).split())[-MAX_TRACE:])  # the end matters most

    def report_waiting(self, state: LaneState, why: str, until: float) -> None:
        data = {"why": why, "until": until, "pull": state.pull or None}
        self.for_lane(state.lane.key, state.lane.epic or "")("pending", data, time.time())

    def report_stopping(self, times: int, *, is_idle: bool) -> None:
        self._emit("stopping", {"times": times, "idle": is_idle}, time.time())

    def log_left(self, lanes: Sequence[LaneState]) -> None:
        for state in lanes:
            log_line(self._project, f"{state.lane.key}: {state.stage} {state.why}")


# The runs of this supervisor, listed in its lock file for other commands.


class OwnedRuns:
    def __init__(self, supervision: SupervisorLock) -> None:
        self._supervision = supervision
        self._lock = threading.Lock()  # lanes call from their own threads
        self._runs: dict[str, None] = {}  # by name, the last one run at the end

    def adopt(self, folders: Iterable[str]) -> None:
        """Take over the runs that earlier commands left."""
        with self._lock:
            self._runs |= dict.fromkeys(map(os.path.basename, folders))
            self._write()
        self._supervision.mark_ready()

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
            self._supervision.set_runs(tuple(self._runs), next(reversed(self._runs), ""))


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
    """Creates the forge client on first use; local delivery never does. `wait`: how the client sleeps."""

    def __init__(
        self, git: Git, remote: str, maker: ForgeFactory | None, wait: Callable[[float], None], *, is_shared: bool
    ) -> None:
        self._git = git
        self._remote = remote
        self._maker = maker
        self._wait = wait
        self._is_shared = is_shared
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

        return find_forge(self._git, self._remote, wait=self._wait)
