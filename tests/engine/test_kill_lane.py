"""`kill -9` of whoever runs an epic: real git, real agents, at any moment and before many a line."""

import signal
from pathlib import Path

import pytest

from tests.engine.kill_lane import check, kill_often, start
from tests.support.lane_projects import LaneProject


@pytest.mark.real
def test_an_epic_killed_again_and_again(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", stories=2)
    kill_often(sample, 6, seed=11, most=1.5)
    check(sample, 2)


@pytest.mark.real
def test_thirty_kills_of_epics(tmp_path: Path) -> None:
    assert _kills(tmp_path, 30, seed=0) >= 30


@pytest.mark.soak
def test_five_hundred_kills_of_epics(tmp_path: Path) -> None:
    assert _kills(tmp_path, 500, seed=5000) >= 500


def _kills(tmp_path: Path, wanted: int, seed: int) -> int:
    killed = 0
    for batch in range(wanted):
        sample = LaneProject(tmp_path / f"p{batch}", stories=3)
        killed += kill_often(sample, 12, seed=seed + batch, most=1.2)
        check(sample, 3)
        if killed >= wanted:
            break
    return killed


@pytest.mark.real
def test_an_epic_killed_at_a_line(tmp_path: Path) -> None:
    assert len(_at_lines(tmp_path, 4003)) >= 6


@pytest.mark.soak
def test_an_epic_killed_at_many_lines(tmp_path: Path) -> None:
    assert len(_at_lines(tmp_path, 199)) >= 100


def _at_lines(tmp_path: Path, step: int) -> list[int]:
    """From a run's first line of ours to its last, in steps: a kill before each, then one that goes on."""
    killed: list[int] = []
    for line in range(1, 100_000, step):
        sample = LaneProject(tmp_path / f"line-{line}")
        code = start(sample, line).wait(120)
        if code == 0:
            return killed
        assert code == -signal.SIGKILL
        killed.append(line)
        assert start(sample).wait(120) == 0
        check(sample, 1)
    raise AssertionError("it never came through")
