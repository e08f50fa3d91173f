"""Progress of a running agent, read incrementally from its events; and the duration and cost of past calls."""

import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from ..agents.adapter import Agent, Event, Outcome, read_events
from ..agents.attempt import CallSpec, read_call_spec, read_result
from ..agents.registry import find_recorded_agent
from ..agents.shim import attempt_files
from ..agents.verdicts import read_verdict
from ..core.errors import FileError
from ..core.estimates import PastCall
from ..project.config import Config
from ..runs.layout import find_attempts
from .ports import CallId

MAX_LAST = 160
MAX_EVENTS_READ = 500  # events read per progress report


class CallProgress:
    def __init__(
        self, folder: str, call: CallId, config: Config, on_event: Callable[[str, Mapping[str, Any], float], None]
    ) -> None:
        self.call = call
        self._folder = folder
        self._config = config
        self._on_event = on_event
        self._offset = 0
        self._last = ""
        self._tokens: dict[str, int] = {}
        self._agent: Agent | None = None
        self._spec: CallSpec | None = None
        self._began = time.time()

    @property
    def story(self) -> str:
        return self._spec.story if self._known_agent() and self._spec else ""

    @property
    def minutes(self) -> float:
        """How long the agent has been at work."""
        return (time.time() - self._began) / 60 if self._known_agent() else 0.0

    def report(self) -> None:
        self._read()
        call = self.call
        data = {
            "number": call.number,
            "step": call.step,
            "attempt": call.attempt,
            "story": self._spec.story if self._spec else "",
            "seconds": time.time() - self._began,
            "tokens": sum(self._tokens.values()),
            "last": self._last,
        }
        self._on_event("progress", data, time.time())

    def _read(self) -> None:
        agent = self._known_agent()
        if agent is None:
            return
        for count, (event, offset) in enumerate(
            read_events(f"{self._folder}/{attempt_files.EVENTS}", self._offset)
        ):
            lines = [line for line in agent.format_event(event) if line.strip()]
            self._last = lines[-1].strip()[:MAX_LAST] if lines else self._last
            self._offset = offset
            self._count(event)
            if count >= MAX_EVENTS_READ:
                break

    def _count(self, event: Event) -> None:
        """Count tokens by message id: some clients report the usage of one message several times."""
        data = event.data if isinstance(event.data, dict) else {}
        message = data.get("message")
        payload = message if isinstance(message, dict) else data
        used = payload.get("usage")
        if isinstance(used, dict) and data.get("type") != "result":
            numbers = (value for key, value in used.items() if key.endswith("tokens") and isinstance(value, int))
            self._tokens[str(payload.get("id") or self._offset)] = sum(numbers)

    def _known_agent(self) -> Agent | None:
        if self._agent is None:
            try:
                spec = read_call_spec(self._folder)
            except FileError:
                return None
            self._spec = spec
            self._agent = find_recorded_agent(spec.agent, self._config.agents)
            started = attempt_files.read_started(self._folder)
            self._began = started[1] if started else spec.created_at
        return self._agent


# The end of an agent's output, shown with a question.

MAX_READ = 128 * 1024
MAX_LINES = 8
MAX_LINE = 200


def last_lines(folder: str, config: Config) -> str:
    """Empty: no output, or it cannot be read. Secrets were redacted when the events were written."""
    path = f"{folder}/{attempt_files.EVENTS}"
    try:
        agent = find_recorded_agent(read_call_spec(folder).agent, config.agents)
        start = max(0, os.stat(path).st_size - MAX_READ)
    except (FileError, OSError):
        return ""
    found: deque[str] = deque(maxlen=MAX_LINES)
    for event, _ in read_events(path, start):  # skips the rest of a line that was cut
        for line in agent.format_event(event):
            found.extend(text.strip()[:MAX_LINE] for text in line.splitlines() if text.strip())
    return "\n".join(found)


# Duration and cost of this project's past calls.

MAX_PAST_CALLS = 100  # the newest ones; reading them takes a few milliseconds


def past_calls(runs: str) -> list[PastCall]:
    """The calls that completed, newest first: interrupted ones say nothing about the next."""
    found = []
    for attempt in find_attempts(runs)[:MAX_PAST_CALLS]:
        verdict = read_verdict(attempt.folder)
        if verdict is None or verdict.outcome is not Outcome.COMPLETED:
            continue
        try:
            spec, result = read_call_spec(attempt.folder), read_result(attempt.folder)
        except FileError:
            continue
        if result is not None and result.seconds > 0:
            found.append(PastCall(attempt.run, spec.story, spec.step, result.seconds, verdict.spend.dollars))
    return found
