"""What a running agent has done so far, for whoever looks on: read from its events, a little at a time."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from ..agents.attempts import Spec, read_spec
from ..agents.events import Event, read_events
from ..agents.protocol import Agent
from ..agents.registry import recorded_agent
from ..agents.shim import records
from ..core.errors import FileError
from ..project.config import Config
from .doors import CallId

MAX_LAST = 160
AT_ONCE = 500  # events read for one line of progress


class Progress:
    def __init__(
        self, folder: str, call: CallId, config: Config, told: Callable[[str, Mapping[str, Any], float], None]
    ) -> None:
        self.call = call
        self._folder = folder
        self._config = config
        self._told = told
        self._offset = 0
        self._last = ""
        self._tokens: dict[str, int] = {}
        self._agent: Agent | None = None
        self._spec: Spec | None = None
        self._began = time.time()

    @property
    def story(self) -> str:
        return self._spec.story if self._known_agent() and self._spec else ""

    @property
    def minutes(self) -> float:
        """How long the agent has been at work."""
        return (time.time() - self._began) / 60 if self._known_agent() else 0.0

    def tell(self) -> None:
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
        self._told("progress", data, time.time())

    def _read(self) -> None:
        agent = self._known_agent()
        if agent is None:
            return
        for count, (event, offset) in enumerate(read_events(f"{self._folder}/{records.EVENTS}", self._offset)):
            lines = [line for line in agent.lines(event) if line.strip()]
            self._last = lines[-1].strip()[:MAX_LAST] if lines else self._last
            self._offset = offset
            self._count(event)
            if count >= AT_ONCE:
                break

    def _count(self, event: Event) -> None:
        """Clients tell what a message has used, some of them several times for one message."""
        data = event.data if isinstance(event.data, dict) else {}
        message = data.get("message")
        said = message if isinstance(message, dict) else data
        used = said.get("usage")
        if isinstance(used, dict) and data.get("type") != "result":
            numbers = (value for key, value in used.items() if key.endswith("tokens") and isinstance(value, int))
            self._tokens[str(said.get("id") or self._offset)] = sum(numbers)

    def _known_agent(self) -> Agent | None:
        if self._agent is None:
            try:
                spec = read_spec(self._folder)
            except FileError:
                return None
            self._spec = spec
            self._agent = recorded_agent(spec.agent, self._config.agents)
            started = records.read_started(self._folder)
            self._began = started[1] if started else spec.created_at
        return self._agent
