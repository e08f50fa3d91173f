"""What the autopilot tells: to whoever watches, into the bash autopilot's state file, and into its log."""

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from ...agents.shim.redaction import redact
from ...core.errors import AutopilotError
from ...core.rules import Phase
from ...core.table import TABLE
from ...runs.autopilot_state import PendingPull, completed_epics, log_line, write_autopilot_state
from ..onlookers import Told
from .crew import Drove
from .lanes import Held

MAX_TRACE = 1500
_PHASES = {rule.name: rule.phase or Phase.DEVELOP_STORIES for rule in TABLE}


class Telling:
    def __init__(self, project: str, told: Told) -> None:
        self._project = project
        self._tells = told
        self._lock = threading.RLock()  # lanes tell from threads of their own
        self._done = list(completed_epics(project))
        self._pending: list[PendingPull] = []
        self._at: tuple[str, str] = ("", "")  # phase and epic, as the state file says
        self._seen: dict[str, str] = {}  # lanes that were told of: what each was last said to wait for

    def _told(self, kind: str, data: Mapping[str, Any], at: float) -> None:
        with self._lock:
            self._tells(kind, data, at)

    def of_lane(self, key: str, epic: str) -> Told:
        """What is told of its run, with whose it is."""

        def tell(kind: str, data: Mapping[str, Any], at: float) -> None:
            rule = (data.get("decided") or {}).get("rule")
            with self._lock:
                if rule in _PHASES:
                    self._keep(_PHASES[rule], epic)
                if not self._is_known(key, kind, data):
                    self._told(kind, {"lane": key, **data}, at)

        return tell

    def _is_known(self, lane: str, kind: str, data: Mapping[str, Any]) -> bool:
        """A lane is looked at again and again: that, and that it still waits for the same, is no news."""
        if kind in ("run", "resumed"):
            is_known = lane in self._seen
            self._seen.setdefault(lane, "")
            return is_known
        if kind in ("pending", "did", "pull-round"):
            why = str(data.get("why", "")) if kind == "pending" else ""
            before, self._seen[lane] = self._seen.get(lane, ""), why
            return bool(why) and before == why
        return False

    def chose(self, phase: Phase, key: str, epic: str, lanes: Sequence[Held]) -> None:
        self._pending = [
            PendingPull(one.lane.epic or one.lane.key, one.pull, one.stage.value, time.time())
            for one in lanes
            if one.pull
        ]
        self._keep(phase, epic)
        if phase is not Phase.WAIT_COPILOT:
            log_line(self._project, f"{phase} {key}".strip())
        self._told("phase", {"phase": phase.value, "key": key}, time.time())

    def merged(self, key: str, epic: str) -> None:
        self._done = [*(one for one in self._done if one != epic), epic]
        log_line(self._project, f"{key} is merged")

    def _keep(self, phase: Phase, epic: str) -> None:
        """Written for others: that it cannot be holds nothing up."""
        if self._at == (phase, epic) and phase is not Phase.WAIT_COPILOT:
            return
        self._at = (phase, epic)
        with suppress(AutopilotError, OSError):
            write_autopilot_state(self._project, phase.value, epic, self._done, self._pending)

    def say(self, text: str) -> None:
        text = redact(text)  # the daemon's output is a file, too
        self._told("notice", {"text": text}, time.time())
        log_line(self._project, text)

    def broke_off(self, drove: Drove, again: bool) -> None:
        """A lane of several: what is wrong with our own code is told whole in the log."""
        what = "tried again" if again else "parked"
        self.say(f"{drove.key} broke off, and is {what}: {drove.why}")
        if not again:
            mend = f"{drove.hint}; " if drove.hint else ""
            self.say(f"{drove.key}: {mend}the next bmad autopilot tries it again")
        log_line(self._project, " ".join(redact(drove.trace).split())[-MAX_TRACE:])  # what matters most comes last

    def held_up(self, held: Held, why: str, until: float) -> None:
        data = {"why": why, "until": until, "pull": held.pull or None}
        self.of_lane(held.lane.key, held.lane.epic or "")("pending", data, time.time())

    def stopping(self, times: int, *, is_idle: bool) -> None:
        self._told("stopping", {"times": times, "idle": is_idle}, time.time())

    def left(self, lanes: Sequence[Held]) -> None:
        for held in lanes:
            log_line(self._project, f"{held.lane.key}: {held.stage} {held.why}")
