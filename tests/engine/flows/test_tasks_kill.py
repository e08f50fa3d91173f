"""`kill -9` of the process that implements tasks, while planning, while working and while finishing."""

import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.engine.flows.task_setup import Tasking
from tests.support.orchestrator_kills import survivors_in

ROOT = Path(__file__).resolve().parents[3]
NAMES = ("01_setup", "02_login", "03_search")
KEYS = ("1-1-setup", "2-1-login", "2-2-search")


def start(sample: Tasking, *bomb: str) -> int:
    words = [sys.executable, "-m", "tests.engine.flows.tasks_runner", str(sample.root), *bomb]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"}
    return subprocess.run(words, cwd=ROOT, env=environment, timeout=120, check=False).returncode


def three(folder: Path) -> Tasking:
    sample = Tasking(folder)
    sample.task(NAMES[0])
    sample.task(NAMES[1], "01")
    sample.task(NAMES[2], "01")
    return sample


def check(sample: Tasking) -> None:
    """Every call was made once, and each of our commits, whatever was cut short; nothing is left over."""
    assert Counter(sample.ran()) == {f"{step} {key}": 1 for step in ("implement", "review") for key in KEYS}
    assert Counter(sample.subjects()) == {
        "Plan tasks: 3 tasks in 2 batches, 9 complexity points": 1,
        **{f"Story {key}": 1 for key in KEYS},
        "Close epic-1": 1,
        "Close epic-2": 1,
        "Implementation report: features, 3 tasks done": 1,
    }
    assert (sample.files("todo"), sample.files("done")) == ([], [f"{name}.md" for name in NAMES])
    assert set(sample.rows().values()) == {"done"}
    assert "Tasks: 3 of 3 done" in sample.report()
    assert sample.report().count("| done |") == 3
    assert sample.git("status", "--porcelain") == ""
    assert survivors_in(str(sample.root)) == []


@pytest.mark.real
def test_killed_again_and_again_it_repeats_nothing(tmp_path: Path) -> None:
    sample = three(tmp_path / "p")
    for line in (40, 700, 1500, 2500, 4000, 6000):
        assert start(sample, "bmad_autopilot/engine/", str(line)) in (0, -signal.SIGKILL)
    assert start(sample) == 0
    check(sample)


@pytest.mark.real
@pytest.mark.parametrize("part", ["flows/task_records.py", "flows/tasks.py", "board/task_board.py"])
def test_killed_while_records_are_written(tmp_path: Path, part: str) -> None:
    """One project, killed at a later line of the module each time: the next process finishes what was started."""
    sample = three(tmp_path / "p")
    codes = [start(sample, part, str(line)) for line in range(4, 180, 22)]
    assert codes.count(-signal.SIGKILL) >= 3
    assert set(codes) <= {0, -signal.SIGKILL}
    assert start(sample) == 0
    check(sample)


@pytest.mark.soak
def test_killed_at_many_lines(tmp_path: Path) -> None:
    for line in range(50, 9000, 300):
        sample = three(tmp_path / f"line-{line}")
        start(sample, "bmad_autopilot/", str(line))
        assert start(sample) == 0
        check(sample)
