"""The autopilot is killed again and again on the way to merged pull requests: nothing is lost, and nothing is done
twice."""

import random
import subprocess
from pathlib import Path

import pytest

from tests.engine.killing import survivors_in
from tests.real.delivery_bench import PATIENCE, DeliveryBench, use_gh
from tests.real.delivery_checks import check_delivered
from tests.real.delivery_people import settle

pytestmark = pytest.mark.real

KILLS = 10


def answer_all(bench: DeliveryBench) -> None:
    for question in bench.questions():
        assert "does not agree" in question["question"], question
        bench.bmad("intervene", question["story"], "leave")


def kill_one(bench: DeliveryBench, seconds: float) -> int | None:
    """Its exit code, where it ended before."""
    process = bench.start("autopilot", "--continue")
    try:
        return process.wait(seconds)
    except subprocess.TimeoutExpired:
        return None
    finally:
        process.kill()
        process.wait(PATIENCE)


def to_the_end(bench: DeliveryBench) -> None:
    """Somebody answers while it goes on; it need not be started again for that."""
    process = bench.start("autopilot", "--continue")
    try:
        while process.poll() is None:
            answer_all(bench)
            try:
                process.wait(1.0)
            except subprocess.TimeoutExpired:
                continue
        assert process.returncode == 0, bench.told()
    finally:
        process.kill()
        process.wait(PATIENCE)


@pytest.mark.parametrize("seed", [7])
def test_killed_at_any_moment_it_does_everything_once(
    seed: int, real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_gh(real, "2.102", monkeypatch)
    bench = DeliveryBench(tmp_path, monkeypatch)
    settle(bench.model)
    rng = random.Random(seed)
    with bench.serve():
        ends = [kill_one(bench, rng.uniform(1.0, 8.0)) for _ in range(KILLS)]
        assert ends.count(None) >= KILLS // 2, ends
        assert not {code for code in ends if code not in (None, 3)}, bench.told()
        to_the_end(bench)
        check_delivered(bench, 2, 3)
    assert survivors_in(str(bench.work)) == []
