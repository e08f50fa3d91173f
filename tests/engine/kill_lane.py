"""Kill whoever runs an epic, at any moment, and see that nothing was lost, repeated or paid for twice."""

import os
import random
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

from bmad_autopilot.agents.attempt import AttemptState, attempt_state, read_call_spec, read_result
from bmad_autopilot.agents.verdicts import has_verdict
from bmad_autopilot.runs.layout import find_attempts, runs_folder
from tests.support.lane_projects import LaneProject
from tests.support.orchestrator_kills import survivors_in

ROOT = Path(__file__).resolve().parents[2]
CALLS = ("create-story", "dev", "code-review")  # of one story whose agent is honest


def start(sample: LaneProject, line: int | None = None) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.engine.lane_runner", str(sample.root), *([str(line)] if line else [])],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        start_new_session=True,
    )


def kill_often(sample: LaneProject, kills: int, seed: int, most: float) -> int:
    """Start and kill, `kills` times at most, then let one come to the end; how often it was really killed."""
    rng = random.Random(seed)
    killed = 0
    for _ in range(kills):
        runner = start(sample)
        try:
            assert runner.wait(rng.uniform(0.05, most)) == 0
            return killed
        except subprocess.TimeoutExpired:
            runner.send_signal(signal.SIGKILL)
            runner.wait()
            killed += 1
    assert start(sample).wait(300) == 0
    return killed


def check(sample: LaneProject, stories: int) -> None:
    """Every story is done by just the calls it needs, each with one commit that holds its work."""
    rows = {key: row for key, row in sample.rows().items() if not key.endswith("-retrospective")}
    assert set(rows.values()) == {"done"}, rows
    called: Counter[tuple[str, str]] = Counter()
    for place in find_attempts(runs_folder(str(sample.root))):
        if attempt_state(place.folder) is AttemptState.NEW:
            continue
        result, spec = read_result(place.folder), read_call_spec(place.folder)
        assert result is not None, place
        assert (result.by, result.exit, has_verdict(place.folder)) == ("exit", 0, True), place
        called[spec.story, spec.step] += 1
    keys = [key for key in rows if not key.startswith("epic-")]
    assert called == {(key, step): 1 for key in keys for step in CALLS}
    assert len(keys) == stories
    subjects = sample.story_commits()
    assert sorted(subjects) == sorted([*(f"Story {key}" for key in keys), "Close epic-1"])
    for key in keys:
        assert _files_of(sample, f"Story {key}") >= 3, key
    dirt = sample.git("status", "--porcelain")
    assert dirt == "", dirt
    assert survivors_in(str(sample.root)) == []


def _files_of(sample: LaneProject, subject: str) -> int:
    sha = sample.git("log", "--format=%H", "--fixed-strings", f"--grep={subject}", "-1")
    return len(sample.git("show", "--name-only", "--format=", sha).splitlines())
