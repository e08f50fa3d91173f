"""One agent call as its folder tells it, for those who look on. Nothing is written and nothing taken in: that is
for whoever asked for the call."""

import os
import time
from typing import NamedTuple

from ..agents.attempts import Result, Spec, State, read_result, read_spec, state_of
from ..agents.protocol import Agent
from ..agents.registry import recorded_agent
from ..agents.shim import records
from ..agents.verdicts import judge, read_verdict
from ..core.errors import UsageError
from ..project.config import Config
from ..runs.layout import Place
from ..views.calls import CallView, EndView


class Call(NamedTuple):
    place: Place
    spec: Spec
    agent: Agent

    @property
    def events(self) -> str:
        return f"{self.place.folder}/{records.EVENTS}"

    @property
    def state(self) -> State:
        return state_of(self.place.folder)


def read_call(place: Place, config: Config) -> Call:
    if not os.path.exists(f"{place.folder}/{records.SPEC}"):
        raise UsageError(f"{place.name} was never started", hint="bmad agent list")
    spec = read_spec(place.folder)
    return Call(place, spec, recorded_agent(spec.agent, config.agents))


def view(call: Call) -> CallView:
    spec, state = call.spec, call.state
    return CallView(call.place.name, spec.story, spec.step, spec.agent, spec.model, state, seconds_so_far(call))


def seconds_so_far(call: Call) -> float:
    """How long it ran, or has run."""
    result = _result(call)
    if result is not None:
        return result.seconds
    started = records.read_started(call.place.folder)
    return max(0.0, time.time() - (started[1] if started else call.spec.created_at))


def ending(call: Call) -> EndView | None:
    """How it ended; None while it runs, and where nobody knows."""
    result = _result(call)
    if result is None:
        return None
    verdict = read_verdict(call.place.folder) or judge(call.place.folder, call.agent)[2]
    return EndView(verdict, result)


def _result(call: Call) -> Result | None:
    return read_result(call.place.folder)
