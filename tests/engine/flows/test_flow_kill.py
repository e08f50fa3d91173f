"""Whole flows, killed inside every step and gone on with: no step is repeated, none is left out."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.agent_stubs import wait_until
from tests.support.flow_runs import FlowProject

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.real

GREENFIELD = [
    "1 Problem",
    "2 Research",
    "3 Plan",
    "5 Decompose",
    "implement 1-1-first",
    "review 1-1-first",
    "implement 1-2-second",
    "review 1-2-second",
    "7 Run Tests",
    "8 Security Audit",
    "9 Performance Test",
    "10 Deploy",
]
EXISTING_CODE = [
    "1 Document",
    "2 Test Spec",
    "3 Decompose Tests",
    "implement 1-1-test-parser",
    "review 1-1-test-parser",
    "implement 1-2-test-cli",
    "review 1-2-test-cli",
    "5 Run Tests",
    "6 Refactor",
    "7 New Task",
    "implement 2-1-export",
    "review 2-1-export",
    "9 Run Tests",
    "10 Security Audit",
    "11 Performance Test",
    "12 Deploy",
]


@pytest.mark.parametrize(
    ("name", "expected", "sources"), [("greenfield", GREENFIELD, False), ("existing-code", EXISTING_CODE, True)]
)
def test_killed_inside_every_step(tmp_path: Path, name: str, expected: list[str], sources: bool) -> None:
    project = FlowProject(tmp_path / "p", sources=sources)
    gates = sorted({_gate(one) for one in expected if not one.startswith("review")})
    for gate in gates:
        os.mkfifo(project.root / ".git" / f"gate-{gate}")
    runner = _start(project, name)
    for number, step in enumerate(expected, 1):
        wait_until(lambda: len(project.ran) >= number, f"{step} has begun", 60)  # noqa: B023
        if step.startswith("review"):
            continue
        runner.send_signal(signal.SIGKILL)
        assert runner.wait(30) == -signal.SIGKILL
        runner = _start(project, name)
        (project.root / ".git" / f"gate-{_gate(step)}").open("w").close()
    assert runner.wait(60) == 0
    assert project.ran == expected
    assert (project.state.step, project.state.status) == ("done", "completed")
    assert [row[0] for row in project.rows()] == [str(one) for one in range(1, len(project.rows()) + 1)]
    assert project.git("status", "--porcelain", "--untracked-files=all") in ("", "M _docs/_autopilot_state.md")


def _gate(step: str) -> str:
    return "implement" if step.startswith("implement") else step.split(" ", 1)[1]


def _start(project: FlowProject, name: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [sys.executable, "-m", "tests.engine.flows.flow_runner", str(project.root), name],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}"},
        stdin=subprocess.DEVNULL,
    )
