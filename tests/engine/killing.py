"""Kill orchestrators at random moments, and see that every agent ran once."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from bmad_autopilot.agents.attempts import State, read_result, read_spec, state_of
from bmad_autopilot.agents.shim import records
from bmad_autopilot.agents.verdicts import is_harvested
from bmad_autopilot.runs.layout import find_attempts, runs_folder
from tests.engine.projects import board_of, project_with_agent
from tests.support import SampleProject

ROOT = Path(__file__).resolve().parents[2]
AGENT = """
pace = float(open('.git/pace').read())
with open('.git/ran', 'a') as log: log.write(sys.argv[2] + '\\n')
sleeper = [sys.executable, '-S', '-E', '-c', 'import time; time.sleep(600)']
subprocess.Popen(sleeper, start_new_session=True)
time.sleep(pace)
open(f'src-{sys.argv[2]}.txt', 'w').write('done')
"""


def start(project: SampleProject, line: int | None = None) -> subprocess.Popen[bytes]:
    """`line`: it kills itself before the line of ours that has this number."""
    arguments = [str(project.root), *([str(line)] if line else [])]
    return subprocess.Popen(
        [sys.executable, "-m", "tests.engine.orchestrator", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        start_new_session=True,
    )


def make(root: Path, stories: int, pace: float) -> SampleProject:
    project = project_with_agent(root, AGENT, board=board_of(stories))
    (project.root / ".git" / "pace").write_text(str(pace))
    return project


def kill_often(project: SampleProject, kills: int, seed: int, most: float) -> int:
    """Start and kill, `kills` times at most, then let one finish; how often it was really killed."""
    rng = random.Random(seed)
    killed = 0
    for _ in range(kills):
        orchestrator = start(project)
        try:
            orchestrator.wait(rng.uniform(0.05, most))
            break  # all done before we got to it
        except subprocess.TimeoutExpired:
            orchestrator.send_signal(signal.SIGKILL)
            orchestrator.wait()
            killed += 1
    assert start(project).wait(120) == 0
    return killed


def check(project: SampleProject, stories: int) -> None:
    """Every agent ran exactly once, every result was taken in, nothing of theirs is left."""
    ran = Counter((project.root / ".git" / "ran").read_text().split())
    assert ran == {f"1-{number}-story": 1 for number in range(1, stories + 1)}
    for place in find_attempts(runs_folder(str(project.root))):
        state = state_of(place.folder)
        assert state in (State.FINISHED, State.NEW), place
        if state is State.FINISHED:
            result = read_result(place.folder)
            assert result is not None
            assert (result.by, result.exit) == ("exit", 0), place
            assert is_harvested(place.folder), place
        else:
            assert not os.path.exists(f"{place.folder}/{records.STARTED}")
    assert survivors(project) == []


def survivors(project: SampleProject) -> list[int]:
    """Processes that carry the marker of one of this project's attempts."""
    return survivors_in(str(project.root))


def survivors_in(root: str) -> list[int]:
    folders = [place.folder for place in find_attempts(runs_folder(root))]
    wanted = {f"BMAD_ATTEMPT={read_spec(folder).id}".encode() for folder in folders if _has_spec(folder)}
    deadline = time.monotonic() + 10
    while True:
        found = [int(pid) for pid in os.listdir("/proc") if pid.isdigit() and wanted & _environ(pid)]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.01)


def _has_spec(folder: str) -> bool:
    return os.path.exists(f"{folder}/{records.SPEC}")


def _environ(pid: str) -> set[bytes]:
    try:
        return set(Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"))
    except OSError:
        return set()
