"""The autopilot is killed again and again on the way to merged pull requests: nothing is lost, and nothing is done
twice."""

import random
import subprocess
from pathlib import Path

import pytest

from bmad_autopilot.sim.github.checks import CIJob, SimCI
from bmad_autopilot.sim.github.people import SimCopilot, SimMaintainer, scripted_reviews
from bmad_autopilot.sim.github.records import GitHubFault, GitHubFaults
from bmad_autopilot.sim.github.reviews import Remark
from tests.real.delivery_bench import PATIENCE, DeliveryBench, use_gh
from tests.real.delivery_checks import check_delivered
from tests.real.delivery_people import settle
from tests.support.orchestrator_kills import survivors_in

pytestmark = pytest.mark.real

KILLS = 10
LOST = (
    "POST /repos/acme/widgets/pulls",
    "AutopilotReply",
    "PUT /repos/acme/widgets/pulls/1/merge",
    "DELETE /repos/acme/widgets/git/refs/heads/feature%2Fepic-1",
)


def answer_all(bench: DeliveryBench) -> None:
    for question in bench.questions():
        assert "disagrees with a reviewer" in question["question"], question
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


def test_an_effect_whose_answer_is_lost_is_done_once(
    real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_gh(real, "2.102", monkeypatch)
    bench = DeliveryBench(tmp_path, monkeypatch, epics=1, stories=1)
    SimCI(bench.model, [CIJob("test", appears_after=0.1, starts_after=0.1, duration=0.5)])
    SimCopilot(
        bench.model,
        scripted_reviews([Remark("src/ledger/list_accounts.py", 1, "Say what it gives back.")]),
        duration=0.5,
    )
    SimMaintainer(bench.model, delay=0.5)
    faults = GitHubFaults()
    for call in LOST:
        faults.script(call, [GitHubFault.LOST])
    with bench.serve(faults=faults):
        done = bench.bmad("autopilot", seconds=300.0)
        assert done.returncode == 0, done.stdout + done.stderr
        check_delivered(bench, 1, 1)
    assert {call for call, _ in faults.injected} == set(LOST)
    assert len(bench.effects("request-review")) == 2  # one for each content
