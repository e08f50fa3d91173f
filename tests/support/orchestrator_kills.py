"""Kills orchestrator processes at random moments and checks that every agent ran once."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from bmad_autopilot.agents.attempt import AttemptState, attempt_state, read_call_spec, read_result
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.agents.verdicts import has_verdict
from bmad_autopilot.runs.layout import find_attempts, runs_folder
from tests.engine.projects import board_of, project_with_agent
from tests.support.bmad_project import SampleProject

ROOT = Path(__file__).resolve().parents[2]
AGENT = """
pace = float(open('.git/pace').read())
with open('.git/ran', 'a') as log: log.write(sys.argv[2] + '\\n')
sleeper = [sys.executable, '-S', '-E', '-c', 'import time; time.sleep(600)']
subprocess.Popen(sleeper, start_new_session=True)
time.sleep(pace)
open(f'src-{sys.argv[2]}.txt', 'w').write('done')
"""


def start_orchestrator(project: SampleProject, line: int | None = None) -> subprocess.Popen[bytes]:
    """`line`: the orchestrator kills itself before the nth executed line of our code."""
    arguments = [str(project.root), *([str(line)] if line else [])]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.engine.orchestrator", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        start_new_session=True,
    )


def make_kill_project(root: Path, stories: int, pace: float) -> SampleProject:
    project = project_with_agent(root, AGENT, board=board_of(stories))
    (project.root / ".git" / "pace").write_text(str(pace))
    return project


def kill_often(project: SampleProject, kills: int, seed: int, most: float) -> int:
    """Start and kill at most `kills` times, then let one finish. Returns the number of kills."""
    rng = random.Random(seed)
    killed = 0
    for _ in range(kills):
        orchestrator = start_orchestrator(project)
        try:
            orchestrator.wait(rng.uniform(0.05, most))
            break  # all done before we got to it
        except subprocess.TimeoutExpired:
            orchestrator.send_signal(signal.SIGKILL)
            orchestrator.wait()
            killed += 1
    assert start_orchestrator(project).wait(120) == 0
    return killed


def check_each_agent_ran_once(project: SampleProject, stories: int) -> None:
    """Check that every agent ran once, every result was collected and no process is left."""
    ran = Counter((project.root / ".git" / "ran").read_text().split())
    assert ran == {f"1-{number}-story": 1 for number in range(1, stories + 1)}
    for location in find_attempts(runs_folder(str(project.root))):
        state = attempt_state(location.folder)
        assert state in (AttemptState.FINISHED, AttemptState.NEW), location
        if state is AttemptState.FINISHED:
            result = read_result(location.folder)
            assert result is not None
            assert (result.by, result.exit) == ("exit", 0), location
            assert has_verdict(location.folder), location
        else:
            assert not os.path.exists(f"{location.folder}/{attempt_files.STARTED}")
    assert survivors(project) == []


def survivors(project: SampleProject) -> list[int]:
    """Processes with the environment marker of one of this project's attempts."""
    return survivors_in(str(project.root))


def survivors_in(root: str) -> list[int]:
    folders = [location.folder for location in find_attempts(runs_folder(root))]
    wanted = {f"BMAD_ATTEMPT={read_call_spec(folder).id}".encode() for folder in folders if _has_spec(folder)}
    deadline = time.monotonic() + 10
    while True:
        found = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and wanted & _environ(pid)]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.01)


def _has_spec(folder: str) -> bool:
    return os.path.exists(f"{folder}/{attempt_files.SPEC}")


def _environ(pid: str) -> set[bytes]:
    try:
        return set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    except OSError:
        return set()
