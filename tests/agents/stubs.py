"""Agents made of a few lines of Python, started as real attempts."""

import os
import sys
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from bmad_autopilot.agents.attempts import Result, Spec, State, read_result, state_of
from bmad_autopilot.agents.protocol import Call, Guard
from bmad_autopilot.agents.starting import Limits, collect, start
from bmad_autopilot.agents.watching import wait_for_any
from tests.support import git

PATIENCE = 30.0


def repository(folder: Path) -> Path:
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
    guard: Guard | None = None,
    others: Iterable[str] = (),
    stop: Iterable[str] = (),
    outlived: bool = False,
) -> Spec:
    """Start `code` as an agent; it runs in `worktree` with the environment of the tests."""
    name = uuid.uuid4().hex
    spec = Spec(
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
    return start(
        str(folder),
        spec,
        Call((sys.executable, "-S", "-E", "-c", code, *arguments), stdin, guard=guard, outlived=outlived),
        environment={**os.environ, "TMPDIR": f"{spec.private}/tmp", **(environment or {})},
        limits=Limits(time_limit, stall_limit, grace),
        prompt=stdin,
        secrets=secrets,
        others=others,
    )


def finish(folder: Path, seconds: float = PATIENCE) -> Result:
    """Wait for the end, and take the result."""
    deadline = time.monotonic() + seconds
    while state_of(str(folder)) is State.RUNNING:
        left = deadline - time.monotonic()
        assert left > 0, "the attempt goes on and on"
        wait_for_any([str(folder)], left)
    collect()
    result = read_result(str(folder))
    assert result is not None, f"no result; the attempt is {state_of(str(folder))}"
    return result


def until(condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"still not: {what}"
        time.sleep(0.005)


def alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"
