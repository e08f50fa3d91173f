"""Each promise of a delivery is broken once on purpose: a check that never fails proves nothing."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bmad_autopilot.core.facts import BranchFact, CiFact, GateFact, ThreadsFact
from bmad_autopilot.core.run_record import DeliveryRecord
from bmad_autopilot.engine.delivery import observe, pull_facts, snapshot, threads
from bmad_autopilot.engine.delivery.snapshot import DeliverySnapshot
from bmad_autopilot.engine.lane import AUTO, NO_REVIEWER, WHEN_APPROVED, DeliveryPlan
from bmad_autopilot.github.forge import PullState
from bmad_autopilot.sim.delivery_invariants import DELIVERY_INVARIANTS
from bmad_autopilot.sim.delivery_scenario import DeliveryOptions
from bmad_autopilot.sim.github.model import VIEWER, SimGitHub
from bmad_autopilot.sim.memory.branches import MemoryBranches
from bmad_autopilot.sim.result import SimulationResult
from bmad_autopilot.sim.simulate import run_delivery_simulation

pytestmark = pytest.mark.real

SEEDS = range(60)
ROUGH = DeliveryOptions(epics=2, stories=1, crash_rate=0.05, fault_rate=0.1)
STRICT = ROUGH._replace(plan=DeliveryPlan(merge=WHEN_APPROVED))
OWN = ROUGH._replace(plan=DeliveryPlan(merge=AUTO, review=NO_REVIEWER), actions=())  # nobody's word is waited for


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that was broken on purpose may go round for long."""
    monkeypatch.setattr("bmad_autopilot.engine.loop.MAX_TURNS", 300)
    monkeypatch.setattr("bmad_autopilot.sim.simulate.MAX_SUPERVISOR_STARTS", 30)


def promise_of(name: str) -> Callable[[SimulationResult], Any]:
    return next(promise for promise in DELIVERY_INVARIANTS if promise.__name__ == name)


def breaks(name: str, saying: str = "", options: DeliveryOptions = ROUGH) -> None:
    """In one of some worlds this promise does not hold."""
    promise = promise_of(name)
    for seed in SEEDS:
        if any(saying in problem for problem in promise(run_delivery_simulation(seed, options))):
            return
    raise AssertionError(f"{name} holds in every world")


def merged_world(options: DeliveryOptions = ROUGH) -> SimulationResult:
    for seed in SEEDS:
        result = run_delivery_simulation(seed, options)
        assert result.world.hub is not None
        if any(result.world.hub.model.effects.select("merge", by=VIEWER)):
            return result
    raise AssertionError("nothing is ever merged")


def test_a_pull_request_that_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimGitHub, "_openable", lambda *_: None)
    monkeypatch.setattr(
        snapshot, "_pull", lambda forge, _, record: forge.pull(record.pull) if record.pull else None
    )
    breaks("no_pull_request_is_opened_twice")


def test_a_reply_whose_mark_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threads._answered
    monkeypatch.setattr(threads, "_answered", lambda point, answer, run, _: answered(point, answer, run, False))
    breaks("no_reply_is_given_twice")


def test_a_merge_that_is_done_again() -> None:
    result = merged_world()
    assert result.world.hub is not None
    effects = result.world.hub.model.effects
    effects.all.append(next(effects.select("merge", by=VIEWER)))
    assert list(promise_of("nothing_is_merged_twice")(result))


def _only_done(seen: DeliverySnapshot, record: DeliveryRecord) -> Mapping[str, Any] | None:
    return record.completed_effects.get(f"request-review:{pull_facts.review_key(seen, record)}")


def test_a_review_that_was_asked_for_and_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_facts, "_asked_for", _only_done)
    breaks("no_review_is_asked_for_twice", options=STRICT)


def test_a_check_that_was_run_again_and_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_facts, "_is_rerun", lambda seen, record: record.is_done("rerun", record.head))
    breaks("nothing_is_run_again_twice", options=OWN._replace(fault_rate=0.3))


@pytest.mark.parametrize(
    ("guard", "instead", "saying"),
    [
        ("_ci", lambda *_: CiFact.GREEN, "its checks are"),
        ("worst", lambda *_: ThreadsFact.NONE, "threads are open"),
        ("_is_approved", lambda *_: True, "nobody has approved"),
        ("_gate", lambda *_: GateFact.PASSED, "our own checks"),
    ],
)
def test_a_merge_without_a_guard(
    monkeypatch: pytest.MonkeyPatch, guard: str, instead: Callable[..., Any], saying: str
) -> None:
    monkeypatch.setattr(observe if guard == "_gate" else pull_facts, guard, instead)
    acts = ("object", "object", "object", "remark", "remark")
    breaks("nothing_is_merged_unproven", saying, STRICT._replace(actions=acts))


def test_a_merge_against_somebodys_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "objections", lambda *_, **__: [])
    monkeypatch.setattr(pull_facts, "UNDECIDED", ())
    breaks("nothing_is_merged_unproven", "ask for changes", OWN._replace(actions=("object",) * 60))


def test_an_approval_of_what_it_held_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def every_push(record: DeliveryRecord) -> tuple[str, ...]:
        return tuple(str(one["key"]) for name, one in record.completed_effects.items() if name.startswith("push:"))

    monkeypatch.setattr(snapshot, "_content", every_push)
    acts = ("approve", "approve", "remark", "remark", "remark")
    breaks("nothing_is_merged_unproven", "nobody has approved", STRICT._replace(actions=acts))


def test_a_merge_that_is_not_what_was_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryBranches, "tree", lambda self, commit: "always the same")
    breaks("what_was_merged_otherwise_is_noticed")


def test_a_thread_that_is_closed_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_answered", lambda *_: ThreadsFact.RESOLVE)
    breaks("threads_are_resolved_by_an_answer", "without a reply")


def test_a_thread_that_is_closed_by_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "FIXED", "disagrees")
    breaks("threads_are_resolved_by_an_answer", "by no later commit")


def test_an_agent_believed_on_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two look at it: when its answers are taken in, and before a thread is answered."""

    def believed(found: object, *rest: object) -> tuple[object, str]:
        return (found, "") if isinstance(found, dict) else ({}, "nothing is said of it")

    monkeypatch.setattr(threads, "_answer", believed)
    monkeypatch.setattr(observe, "_is_unproven_fix", lambda *_: False)
    breaks("threads_are_resolved_by_an_answer", "by no later commit")


def test_a_push_over_other_peoples_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    def push(self: MemoryBranches, branch: str, commit: str, expect: str) -> None:
        self._hub.model.push(branch, commit)

    monkeypatch.setattr(MemoryBranches, "push", push)
    monkeypatch.setattr(observe, "_foreign_line", lambda *_: BranchFact.AHEAD)
    breaks("no_commit_is_pushed_over", options=ROUGH._replace(actions=("push", "force-push", "remark")))


def test_foreign_commits_that_nobody_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observe, "_foreign_line", lambda *_: BranchFact.ALLOWED)
    breaks("foreign_commits_are_left_alone", options=ROUGH._replace(actions=("push", "push", "remark")))


def test_a_branch_that_is_deleted_unmerged() -> None:
    result = merged_world()
    assert result.world.hub is not None
    for pull in result.world.hub.model.pulls.values():
        pull.merged_at = 0.0
    assert list(promise_of("only_merged_branches_are_deleted")(result))


def test_checks_that_are_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_facts, "_ci", lambda *_: CiFact.PENDING)
    breaks("everything_ends", "waits for its checks")


def test_a_merge_into_another_branch_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        snapshot, "_is_in_base", lambda lines, plan, pull, _: pull and pull.state is PullState.MERGED
    )
    breaks("merged_means_in_the_base", options=ROUGH._replace(actions=("merge",) * 6))
