"""bmad agent attach: a call followed to its end, or left running."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from bmad_autopilot.agents.attempt import AttemptState, attempt_state
from bmad_autopilot.agents.shim import attempt_files
from tests.cli.agent_runs import NAME, RUN, attempt_of, call, project_with_stub, steady, under_way
from tests.support.agent_stubs import TIMEOUT
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.terminals import COMMAND, assert_golden, run_piped


@pytest.fixture
def sample(project: ProjectMaker) -> SampleProject:
    return project_with_stub(project)


def attach(sample: SampleProject, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, "agent", "attach", *arguments],
        cwd=sample.root,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def read_until(child: subprocess.Popen[str], words: str) -> str:
    """What it prints up to the line that holds `words`; the test's time limit is the bound."""
    assert child.stdout is not None
    seen = ""
    while words not in seen:
        line = child.stdout.readline()
        assert line, f"it ended without {words!r}: {seen}"
        seen += line
    return seen


def ended(child: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return child.communicate(timeout=TIMEOUT)
    finally:
        child.kill()
        child.wait()


def test_it_prints_what_is_there_then_what_comes_then_how_it_ended(sample: SampleProject) -> None:
    with under_way(sample):
        child = attach(sample, RUN)
        seen = read_until(child, "ready")
        (sample.root / "go").touch()
        rest, errors = ended(child)
    assert (child.returncode, errors) == (0, "")
    assert_golden("agent-attach", steady(seen + rest))


def test_ctrl_c_leaves_the_call_running(sample: SampleProject) -> None:
    with under_way(sample) as folder:
        child = attach(sample)
        read_until(child, "ready")
        child.send_signal(signal.SIGINT)
        _, errors = ended(child)
        assert child.returncode == 130
        assert "detached; the call goes on" in errors
        assert f"bmad agent attach {NAME}" in errors
        assert f"bmad agent cancel {NAME}" in errors
        assert attempt_state(str(folder)) is AttemptState.RUNNING


def test_one_that_is_cancelled_meanwhile(sample: SampleProject) -> None:
    with under_way(sample):
        child = attach(sample)
        read_until(child, "ready")
        assert run_piped("agent", "cancel", RUN, "--why", "enough of it", cwd=sample.root).returncode == 0
        rest, _ = ended(child)
    assert child.returncode == 1
    assert "cancelled: enough of it" in rest


def test_one_whose_supervisor_is_killed(sample: SampleProject) -> None:
    with under_way(sample) as folder:
        child = attach(sample)
        read_until(child, "ready")
        started = attempt_files.read_started(str(folder))
        assert started is not None
        os.kill(started[0], signal.SIGKILL)
        rest, _ = ended(child)
        assert child.returncode == 1
        assert f"settle it: bmad agent cancel {NAME}" in rest
        assert run_piped("agent", "cancel", RUN, cwd=sample.root).returncode == 0


@pytest.mark.parametrize(
    ("code", "agent", "expected"),
    [
        ("print('well')", "stub", 0),
        ("import sys; sys.exit(3)", "stub", 1),
        (
            "import json; print(json.dumps({'type': 'rate_limit_event', 'rate_limit_info': "
            "{'status': 'rejected', 'resetsAt': 4102444800, 'rateLimitType': 'five_hour'}})); "
            "print(json.dumps({'type': 'result', 'subtype': 'success', 'is_error': True, "
            "'terminal_reason': 'api_error', 'api_error_status': 429})); raise SystemExit(1)",
            "claude",
            3,
        ),
    ],
)
def test_the_exit_code_says_how_it_ended(sample: SampleProject, code: str, agent: str, expected: int) -> None:
    call(sample, code, agent=agent)
    done = run_piped("agent", "attach", "1-1", cwd=sample.root)
    assert (done.returncode, done.stderr) == (expected, "")
    alone = run_piped("agent", "attach", cwd=sample.root)
    assert (alone.returncode, "no agent call is running" in alone.stderr) == (2, True)


def test_without_a_name_the_one_that_runs_is_followed(sample: SampleProject, tmp_path: Path) -> None:
    newer = attempt_of(sample, "dev-story-20270101-120000")
    call(sample, "print('ended long ago')", newer)
    with under_way(sample):
        child = attach(sample)
        seen = read_until(child, "ready")
        (sample.root / "go").touch()
        ended(child)
    assert "ended long ago" not in seen
    assert child.returncode == 0
