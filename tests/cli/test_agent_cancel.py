"""bmad agent cancel: a call is stopped, its work kept and named."""

import os
import re
import signal

import pytest

from bmad_autopilot.agents.attempt import AttemptState, attempt_state
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.agents.verdicts import has_verdict
from tests.cli.agent_runs import NAME, RUN, attempt_of, call, project_with_stub, steady, under_way
from tests.support.agent_stubs import wait_until
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.terminals import assert_golden, run_piped

WORKS = "import time\nopen('half.txt', 'w').write('half')\nprint('ready', flush=True)\ntime.sleep(1000)"


@pytest.fixture
def sample(project: ProjectMaker) -> SampleProject:
    return project_with_stub(project)


def kept_ref(text: str) -> str:
    found = re.search(r"git show --stat (refs/\S+)", text)
    assert found is not None, text
    return found[1]


def test_it_is_stopped_and_its_work_kept(sample: SampleProject) -> None:
    with under_way(sample, WORKS) as folder:
        done = run_piped("agent", "cancel", RUN, "--why", "the wrong story", cwd=sample.root)
        assert (done.returncode, done.stderr) == (0, "")
        assert attempt_state(str(folder)) is AttemptState.FINISHED
    assert_golden("agent-cancel", steady(done.stdout))
    assert sample.git("show", f"{kept_ref(done.stdout)}:half.txt") == "half"
    assert "cancelled: the wrong story" in run_piped("agent", "logs", cwd=sample.root).stdout
    assert not has_verdict(str(folder)), "whoever asked for the call takes it in"


def test_one_that_has_ended_is_not_cancelled(sample: SampleProject) -> None:
    call(sample, "print(1)")
    done = run_piped("agent", "cancel", RUN, cwd=sample.root)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{NAME} is not running: finished\n"


def test_one_that_was_never_started(sample: SampleProject) -> None:
    attempt_of(sample)
    done = run_piped("agent", "cancel", RUN, cwd=sample.root)
    assert done.returncode == 2
    assert "no agent has been called in this project yet" in done.stderr


def test_a_lost_one_is_settled_and_its_work_kept(sample: SampleProject) -> None:
    with under_way(sample, WORKS) as folder:
        started = attempt_files.read_started(str(folder))
        assert started is not None
        os.kill(started[0], signal.SIGKILL)
        wait_until(lambda: attempt_state(str(folder)) is AttemptState.LOST, "lost")
        done = run_piped("agent", "cancel", "1-1", cwd=sample.root)
        assert done.returncode == 0
        assert attempt_state(str(folder)) is AttemptState.FINISHED
    assert f"{NAME} was lost" in done.stdout
    assert sample.git("show", f"{kept_ref(done.stdout)}:half.txt") == "half"


def test_a_broken_project_does_not_keep_one_from_stopping_an_agent(sample: SampleProject) -> None:
    with under_way(sample, WORKS):
        sample.write("bmad-autopilot.toml", "agent = [")
        sample.board.write_bytes(b"\xff\xfe")
        done = run_piped("agent", "cancel", RUN, cwd=sample.root)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_reason_is_one_line_without_tricks(sample: SampleProject) -> None:
    with under_way(sample, WORKS) as folder:
        run_piped("agent", "cancel", RUN, "--why", "\x1b[2J" + "long " * 500 + "\nend", cwd=sample.root)
        assert len((folder / "cancel").read_text()) < 600
    text = run_piped("agent", "logs", cwd=sample.root).stdout
    assert "\x1b" not in text
    assert text.splitlines()[-2].startswith("cancelled: �[2Jlong long")


def test_a_run_must_be_named(sample: SampleProject) -> None:
    assert run_piped("agent", "cancel", cwd=sample.root).returncode == 2
