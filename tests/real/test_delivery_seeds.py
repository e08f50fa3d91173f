"""Deliveries by seed with the real gh and the real git: troubles on the line, people who meddle, and kills."""

import random
import subprocess
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from bmad_autopilot.sim.delivery_invariants import (
    no_commit_is_pushed_over,
    no_pull_request_is_opened_twice,
    no_reply_is_given_twice,
    no_review_is_asked_for_twice,
    nothing_is_merged_twice,
    nothing_is_run_again_twice,
    only_merged_branches_are_deleted,
)
from bmad_autopilot.sim.delivery_scenario import passes_once_fixed
from bmad_autopilot.sim.github import people
from bmad_autopilot.sim.github.checks import CIJob, SimCI, always_passes, fails_first, scripted_conclusions
from bmad_autopilot.sim.github.model import SimGitHub
from bmad_autopilot.sim.github.people import SimCopilot, SimHuman, SimMaintainer, schedule_actions
from bmad_autopilot.sim.github.records import GitHubFaults, SimPull
from bmad_autopilot.sim.github.reviews import Remark
from bmad_autopilot.sim.result import SimulationResult
from tests.real.delivery_bench import DeliveryBench, use_gh

pytestmark = pytest.mark.soak

SEEDS = 50
SECONDS = 300.0  # several at once on a small machine
OBJECTS = 20.0  # seconds that somebody stays by an objection: here time is real
HELPS = ("take", "reopen", "more", "resolve", "wait", "accept", "continue", "retry")
MEDDLING = ("move-base", "remark", "comment", "push", "close", "unresolve", "object", "delete-branch")
PROMISES = (
    no_pull_request_is_opened_twice,
    no_reply_is_given_twice,
    nothing_is_merged_twice,
    no_review_is_asked_for_twice,
    nothing_is_run_again_twice,
    no_commit_is_pushed_over,
    only_merged_branches_are_deleted,
)


def settle(model: SimGitHub, rng: random.Random) -> None:
    verdict = rng.choice(
        (always_passes, scripted_conclusions("failure", "success"), fails_first, passes_once_fixed)
    )
    SimCI(model, [CIJob("test", verdict, appears_after=0.2, starts_after=0.2, duration=rng.uniform(0.2, 2.0))])

    def remarks(pull: SimPull, review: int) -> Sequence[Remark]:
        changed = model.refs.changed(model.refs.head_of(pull.base_ref), pull.head)
        words = rng.choices(
            ("Is this right?", "This is a matter of taste."), k=0 if review else rng.choice((0, 1, 3))
        )
        return [Remark(rng.choice(changed), 1, word) for word in words]

    SimCopilot(model, remarks, duration=rng.uniform(0.2, 2.0))
    SimMaintainer(model, delay=rng.uniform(0.5, 3.0))
    acts = rng.choices(MEDDLING, k=rng.choice((0, 1, 2)))
    schedule_actions(model, SimHuman(model, "bob"), acts, rng, within=25.0)


def answer_all(bench: DeliveryBench) -> None:
    for question in bench.questions():
        useful = next((word for word in HELPS if word in question["options"]), "")
        if useful:
            bench.bmad("intervene", question["story"], useful)


def drive(bench: DeliveryBench, rng: random.Random, deadline: float) -> int:
    """Killed now and then, answered while it runs; how it ended."""
    kills = [rng.uniform(3.0, 15.0) for _ in range(rng.choice((0, 1, 2)))]
    while True:
        process = bench.start("autopilot", "--continue")
        try:
            code = _watched(bench, process, kills.pop() if kills else None, deadline)
        finally:
            process.kill()
            process.wait(30.0)
        if code == 0:
            return code
        assert bench.model.now < deadline, bench.told()


def _watched(bench: DeliveryBench, process: "subprocess.Popen[bytes]", kill: float | None, deadline: float) -> int:
    began = bench.model.now
    while bench.model.now < deadline and (kill is None or bench.model.now < began + kill):
        try:
            code = process.wait(1.0)
        except subprocess.TimeoutExpired:
            answer_all(bench)
            continue
        answer_all(bench)
        return code
    return -9


@pytest.mark.parametrize("seed", range(SEEDS))
def test_nothing_is_done_twice_and_nothing_unproven(
    seed: int, real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_gh(real, "2.102", monkeypatch)
    monkeypatch.setattr(people, "OBJECTION_SECONDS", OBJECTS)
    rng = random.Random(seed)
    bench = DeliveryBench(tmp_path, monkeypatch, epics=rng.choice((1, 2)), stories=1)
    settle(bench.model, rng)
    faults = GitHubFaults(rng, rate=rng.choice((0.0, 0.03)), max_faults=6)
    with bench.serve(faults=faults):
        code = drive(bench, rng, bench.model.now + SECONDS)
        played = cast(
            SimulationResult, SimpleNamespace(world=SimpleNamespace(hub=SimpleNamespace(model=bench.model)))
        )
        with bench.server.lock:
            broken = [problem for promise in PROMISES for problem in promise(played)]
            merges = list(bench.model.effects.select("merge", by="dev"))
    assert not broken, (broken, bench.told())
    for merge in merges:
        assert (merge.data["rollup"], merge.data["unresolved"], merge.data["objections"]) == ("SUCCESS", 0, ())
        assert merge.data["approvals"], merge
    assert code == 0, bench.told()
