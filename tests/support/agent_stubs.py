"""Stub agents of a few lines of Python, started as real attempts."""

import os
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from bmad_autopilot.agents.adapter import AgentCommand, SkillGuard
from bmad_autopilot.agents.attempt import AttemptResult, AttemptState, CallSpec, attempt_state, read_result
from bmad_autopilot.agents.monitor import wait_for_any
from bmad_autopilot.agents.start import TimeLimits, claim_attempt, reap_shims, start_attempt
from tests.support.bmad_project import git

TIMEOUT = 30.0


def init_repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    (folder / "readme.txt").write_text("hello\n")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "Begin")
    return folder


def begin(
    folder: Path,
    worktree: Path,
    code: str,
    *,
    stdin: str = "",
    arguments: Iterable[str] = (),
    environment: Mapping[str, str] | None = None,
    secrets: Iterable[str] = (),
    time_limit: float = 60,
    stall_limit: float = 0,
    grace: float = 0.5,
    guard: SkillGuard | None = None,
    others: Iterable[str] = (),
    stop: Iterable[str] = (),
    outlived: bool = False,
) -> CallSpec:
    """Start `code` as an agent in `worktree`, with the tests' environment."""
    name = uuid.uuid4().hex
    spec = CallSpec(
        id=name,
        agent="stub",
        step="dev",
        story="1-1-it",
        session=str(uuid.uuid4()),
        worktree=str(worktree),
        argv=(),
        created_at=time.time(),
        stop=tuple(stop),
    )
    with claim_attempt(str(folder), spec.worktree) as claim:
        return start_attempt(
            claim,
            spec,
            AgentCommand(
                (sys.executable, "-S", "-E", "-c", code, *arguments), stdin, guard=guard, is_detached=outlived
            ),
            environment={**os.environ, "TMPDIR": f"{spec.temp_folder}/tmp", **(environment or {})},
            limits=TimeLimits(time_limit, stall_limit, grace),
            prompt=stdin,
            secrets=secrets,
            other_worktrees=others,
        )


def finish(folder: Path, seconds: float = TIMEOUT) -> AttemptResult:
    """Wait for the attempt to end and return its result."""
    deadline = time.monotonic() + seconds
    while attempt_state(str(folder)) is AttemptState.RUNNING:
        left = deadline - time.monotonic()
        assert left > 0, "the attempt goes on and on"
        wait_for_any([str(folder)], left)
    reap_shims()
    result = read_result(str(folder))
    assert result is not None, f"no result; the attempt is {attempt_state(str(folder))}"
    return result


def wait_until(condition: Callable[[], object], what: str, seconds: float = TIMEOUT) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"still not: {what}"
        time.sleep(0.005)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
