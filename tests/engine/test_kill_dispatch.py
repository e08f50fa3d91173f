"""`kill -9` of the orchestrator, at any moment."""

import os
import signal
from pathlib import Path

import pytest

from bmad_autopilot.agents.attempt import AttemptState, attempt_state, read_result
from bmad_autopilot.agents.shim import attempt_files
from bmad_autopilot.runs.layout import AttemptLocation, find_attempts, runs_folder
from tests.support.agent_stubs import wait_until
from tests.support.bmad_project import SampleProject
from tests.support.orchestrator_kills import (
    check_each_agent_ran_once,
    kill_often,
    make_kill_project,
    start_orchestrator,
    survivors,
)


@pytest.mark.real
def test_an_orchestrator_killed_again_and_again_repeats_nothing(tmp_path: Path) -> None:
    project = make_kill_project(tmp_path / "project", 3, 0.3)
    kill_often(project, 6, seed=7, most=1.2)
    check_each_agent_ran_once(project, 3)


@pytest.mark.real
def test_thirty_kills(tmp_path: Path) -> None:
    killed = 0
    for batch in range(20):
        project = make_kill_project(tmp_path / f"project-{batch}", 4, 0.25)
        killed += kill_often(project, 8, seed=batch, most=1.0)
        check_each_agent_ran_once(project, 4)
        if killed >= 30:
            break
    assert killed >= 30


@pytest.mark.soak
def test_three_hundred_kills(tmp_path: Path) -> None:
    killed = 0
    for batch in range(100):
        project = make_kill_project(tmp_path / f"project-{batch}", 5, 0.3)
        killed += kill_often(project, 10, seed=1000 + batch, most=1.2)
        check_each_agent_ran_once(project, 5)
        if killed >= 300:
            break
    assert killed >= 300


@pytest.mark.real
def test_killed_at_a_line(tmp_path: Path) -> None:
    """From the first line of a dispatch to its last, in steps: a kill before each, then one that goes on."""
    lines = killed_at_lines(tmp_path, 60)
    assert len(lines) >= 10, "so many kills there were before it came through"


@pytest.mark.soak
def test_killed_at_many_lines(tmp_path: Path) -> None:
    assert len(killed_at_lines(tmp_path, 6)) >= 100


def killed_at_lines(tmp_path: Path, step: int) -> list[int]:
    killed: list[int] = []
    for line in range(1, 20_000, step):
        project = make_kill_project(tmp_path / f"line-{line}", 1, 0.05)
        code = start_orchestrator(project, line).wait(60)
        if code == 0:
            return killed
        assert code == -signal.SIGKILL
        killed.append(line)
        assert start_orchestrator(project).wait(60) == 0
        check_each_agent_ran_once(project, 1)
    raise AssertionError("it never came through")


def test_killed_with_its_shim_a_call_is_lost_and_made_once_more(tmp_path: Path) -> None:
    project = make_kill_project(tmp_path / "project", 1, 600.0)
    first = start_orchestrator(project)
    place = running(project)
    ran = project.root / ".git" / "ran"
    wait_until(lambda: ran.exists() and ran.read_text().endswith("\n"), "the agent runs")
    started = attempt_files.read_started(place.folder)
    assert started is not None
    for pid in (first.pid, started[0]):
        os.kill(pid, signal.SIGKILL)
    first.wait()
    wait_until(lambda: attempt_state(place.folder) is AttemptState.LOST, "lost")
    (project.root / ".git" / "pace").write_text("0.1")
    assert start_orchestrator(project).wait(60) == 0
    places = find_attempts(runs_folder(str(project.root)))
    ends = [result.by for one in places if (result := read_result(one.folder))]
    assert sorted(ends) == ["exit", "lost"]
    assert ran.read_text().split() == ["1-1-story"] * 2
    assert survivors(project) == []


def test_orchestrators_that_start_together_make_each_call_once(tmp_path: Path) -> None:
    project = make_kill_project(tmp_path / "project", 3, 0.05)
    together = [start_orchestrator(project) for _ in range(4)]
    assert [one.wait(60) for one in together] == [0] * 4
    check_each_agent_ran_once(project, 3)


def test_a_stopped_orchestrator_and_a_second_one_make_one_call(tmp_path: Path) -> None:
    project = make_kill_project(tmp_path / "project", 1, 1.0)
    first = start_orchestrator(project)
    running(project)
    first.send_signal(signal.SIGSTOP)
    second = start_orchestrator(project)
    try:
        assert second.wait(60) == 0
    finally:
        first.send_signal(signal.SIGCONT)
    assert first.wait(60) == 0
    check_each_agent_ran_once(project, 1)


def running(project: SampleProject) -> AttemptLocation:
    runs = runs_folder(str(project.root))

    def started() -> list[AttemptLocation]:
        return [
            place for place in find_attempts(runs) if os.path.exists(f"{place.folder}/{attempt_files.STARTED}")
        ]

    wait_until(started, "a call has been started")
    return started()[0]
