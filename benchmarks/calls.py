"""Measures the overhead of one agent call. Run inside the installed environment; prints JSON.

The stub agent is `python3 -S -E -c pass`, measured alternately bare and as an attempt."""

import json
import os
import subprocess
import sys
import time
import uuid

from bmad_autopilot.agents.adapter import AgentCommand
from bmad_autopilot.agents.attempt import AttemptState, CallSpec, attempt_state, read_result
from bmad_autopilot.agents.monitor import cancel_attempt, wait_for_any
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.agents.start import TimeLimits, claim_attempt, reap_shims, start_attempt

STUB = (sys.executable, "-S", "-E", "-c", "pass")
WAITING = (sys.executable, "-S", "-E", "-c", "import time; time.sleep(60)")
SLOW = (sys.executable, "-S", "-E", "-c", "import time; time.sleep(0.3)")
CPU_SECONDS = 10.0


def main(folder: str, rounds: int) -> None:
    tree = f"{folder}/tree"
    _repository(tree)
    bare, whole, taken, adopted = [], [], [], []
    for turn in range(rounds + 1):
        one, (two, after) = _bare(), _attempt(f"{folder}/own-{turn}", tree)
        if turn:
            bare.append(one)
            whole.append(two)
            taken.append(after)
    for turn in range(max(3, rounds // 4)):
        adopted.append(_adopted(f"{folder}/adopted-{turn}", tree))
    memory, cpu = _waiting(f"{folder}/waiting", tree)
    figures = {"bare": bare, "whole": whole, "taken": taken, "adopted": adopted, "memory": memory, "cpu": cpu}
    print(json.dumps(figures))


def _repository(tree: str) -> None:
    os.makedirs(tree)
    for command in (["init", "--quiet"], ["commit", "--quiet", "--allow-empty", "--message", "Begin"]):
        subprocess.run(["git", "-c", "user.name=x", "-c", "user.email=x@y", *command], cwd=tree, check=True)


def _bare() -> float:
    begun = time.perf_counter()
    subprocess.run(STUB, check=True)
    return (time.perf_counter() - begun) * 1000


def _attempt(folder: str, tree: str) -> tuple[float, float]:
    begun = time.perf_counter()
    begin(folder, tree, STUB)
    ended = _harvest(folder)
    return (time.perf_counter() - begun) * 1000, ended


def begin(folder: str, tree: str, argv: tuple[str, ...]) -> None:
    name = uuid.uuid4().hex
    spec = CallSpec(name, "stub", "dev", "1-1", "-", tree, (), time.time())
    with claim_attempt(folder, spec.worktree) as claim:
        start_attempt(
            claim, spec, AgentCommand(argv), environment=dict(os.environ), limits=TimeLimits(60, 60), prompt=""
        )


def _harvest(folder: str) -> float:
    """Wait for the end; milliseconds from there until the result has been read."""
    while attempt_state(folder) is AttemptState.RUNNING:
        wait_for_any([folder])
    result = read_result(folder)
    assert result is not None
    assert result.exit == 0
    reap_shims()
    return (time.time() - result.ended_at) * 1000


def _adopted(folder: str, tree: str) -> float:
    """A call whose starting process has exited."""
    code = "import sys; from benchmarks.calls import SLOW, begin; begin(sys.argv[1], sys.argv[2], SLOW)"
    above = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    command = [sys.executable, "-W", "ignore", "-c", code, folder, tree]
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": above})
    return _harvest(folder)


def _waiting(folder: str, tree: str) -> tuple[float, float]:
    """Memory in megabytes and CPU in percent of one core, of a shim whose agent prints nothing."""
    begin(folder, tree, WAITING)
    while (started := attempt_files.read_started(folder)) is None:
        time.sleep(0.01)
    time.sleep(0.5)
    before = _ticks(started[0])
    time.sleep(CPU_SECONDS)
    used = (_ticks(started[0]) - before) / os.sysconf("SC_CLK_TCK")
    with open(f"/proc/{started[0]}/statm") as file:
        memory = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1024 / 1024
    cancel_attempt(folder, "measured")
    wait_for_any([folder])
    return memory, 100 * used / CPU_SECONDS


def _ticks(pid: int) -> int:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
