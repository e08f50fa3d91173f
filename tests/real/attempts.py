"""One real agent call from its request to its verdict, supervised by the shim as in a run."""

import os
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from bmad_autopilot.agents import verdicts
from bmad_autopilot.agents.adapter import JSON, Agent, AgentRequest, AttemptVerdict, Event, Spend
from bmad_autopilot.agents.attempt import AttemptResult, CallSpec
from bmad_autopilot.agents.monitor import wait_for_any
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.agents.start import TimeLimits, claim_attempt, reap_shims, start_attempt

PATIENCE = 60.0
LIMITS = TimeLimits(time=PATIENCE, stall=0)


class Attempt(NamedTuple):
    verdict: AttemptVerdict
    result: AttemptResult
    events: list[Event]

    def all(self, kind: str, subtype: str | None = None) -> list[dict[str, Any]]:
        """The client's events of a type."""
        said = (event.data for event in self.events if event.kind == JSON)
        return [one for one in said if one.get("type") == kind and subtype in (None, one.get("subtype"))]


def attempt(
    agent: Agent,
    request: AgentRequest,
    program: Path,
    environment: Mapping[str, str],
    folder: Path,
    *,
    before: Spend | None = None,
    options: tuple[str, ...] = (),
    limits: TimeLimits = LIMITS,
    meanwhile: Callable[[str], None] | None = None,
) -> Attempt:
    """`meanwhile` gets the attempt's folder while the agent runs."""
    call = agent.call(request)
    assert call.argv[0] == agent.program
    spec = CallSpec(
        id=uuid.uuid4().hex,
        agent=agent.name,
        step="dev",
        story="1-1",
        session=request.session,
        worktree=request.worktree,
        argv=(),
        created_at=time.time(),
        resume=request.resume,
        before=before or Spend(),
    )
    with claim_attempt(str(folder), spec.worktree) as claim:
        start_attempt(
            claim,
            spec,
            call._replace(argv=(str(program), *call.argv[1:], *options)),
            environment={**environment, "TMPDIR": f"{spec.temp_folder}/tmp"},
            limits=limits,
            prompt=request.prompt,
        )
    if meanwhile:
        meanwhile(str(folder))
    assert wait_for_any([str(folder)], PATIENCE), "the agent did not end"
    reap_shims()
    _, result, verdict = verdicts.judge_attempt(str(folder), agent)
    return Attempt(verdict, result, verdicts.read_all_events(str(folder)))


def agent_process(folder: str) -> int:
    """The agent's process id: the shim's first child."""
    started = attempt_files.read_started(folder)
    assert started is not None
    children = Path(f"/proc/{started[0]}/task/{started[0]}/children").read_text().split()
    return int(children[0])


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def offline_environment(home: Path, **more: str) -> dict[str, str]:
    """Nothing but a path, a home and a dead proxy."""
    home.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "TERM": "dumb",
        "HTTPS_PROXY": "http://127.0.0.1:9",
        "NO_PROXY": "127.0.0.1",
        "GIT_CONFIG_GLOBAL": os.environ["GIT_CONFIG_GLOBAL"],
        "GIT_CONFIG_NOSYSTEM": "1",
        **more,
    }
