"""Lanes beside each other, their supervisor killed again and again: nothing is lost, and nothing done twice."""

import random
import subprocess
from pathlib import Path

import pytest

from tests.real.delivery_bench import PATIENCE, use_gh
from tests.real.parallel_bench import SETTINGS, ParallelBench
from tests.real.parallel_checks import check_flown
from tests.support.orchestrator_kills import survivors_in

AGENTS = "3"


class Quick(ParallelBench):
    seconds = 0.3


def kill_one(bench: ParallelBench, seconds: float) -> int | None:
    """Its exit code, where it ended before."""
    process = bench.start("autopilot", "--parallel", AGENTS)
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        process.kill()
        process.wait(PATIENCE)


def killed(bench: ParallelBench, kills: int, seed: int, most: float) -> int:
    """How often it really was; then it comes to its end."""
    rng = random.Random(seed)
    with bench.serve():
        times = 0
        while times < kills:
            code = kill_one(bench, rng.uniform(0.8, most))
            if code is not None:
                assert code == 0, bench.told()
                break
            times += 1
        process = bench.start("autopilot", "--parallel", AGENTS)
        try:
            assert process.wait(600.0) == 0, bench.told()
        finally:
            process.kill()
            process.wait(PATIENCE)
        return times


@pytest.mark.real
@pytest.mark.parametrize("seed", [3])
def test_killed_at_any_moment_everything_is_done_once(
    seed: int, real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_gh(real, "2.102", monkeypatch)
    bench = Quick(tmp_path, monkeypatch, epics=4, stories=2, settings=SETTINGS)
    bench.people()
    assert killed(bench, 8, seed, 5.0) >= 5
    check_flown(bench, 4, 2)
    assert survivors_in(str(bench.work)) == []


@pytest.mark.soak
@pytest.mark.parametrize(("seed", "kills", "most"), [(11, 20, 6.0), (12, 100, 3.0)])
def test_killed_often_six_epics_are_merged_once(
    seed: int, kills: int, most: float, real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_gh(real, "2.102", monkeypatch)
    bench = Quick(tmp_path, monkeypatch, epics=6, stories=4, settings=SETTINGS)
    bench.people()
    assert killed(bench, kills, seed, most) >= kills * 3 // 4
    check_flown(bench, 6, 4)
    assert survivors_in(str(bench.work)) == []
