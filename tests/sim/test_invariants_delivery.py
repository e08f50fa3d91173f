"""Each promise of a delivery is broken once on purpose: a check that never fails proves nothing."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bmad_autopilot.core.delivery import DeliveryRecord
from bmad_autopilot.core.facts import Ci, Gate, Line, Threads
from bmad_autopilot.engine.delivery import answers, branch_facts, observing, pull_facts, seeing, threads
from bmad_autopilot.engine.delivery.plan import AUTO, NOBODY, WHEN_APPROVED, Plan
from bmad_autopilot.engine.delivery.seeing import Seen
from bmad_autopilot.github.pulls import PullState
from bmad_autopilot.sim.delivery_scenario import DeliveryOptions
from bmad_autopilot.sim.github.model import VIEWER, SimGitHub
from bmad_autopilot.sim.invariants_delivery import DELIVERY_PROMISES
from bmad_autopilot.sim.memory_lines import MemoryLines
from bmad_autopilot.sim.played import Played
from bmad_autopilot.sim.simulate_delivery import play_delivery

pytestmark = pytest.mark.real

SEEDS = range(60)
ROUGH = DeliveryOptions(epics=2, stories=1, crash_rate=0.05, fault_rate=0.1)
STRICT = ROUGH._replace(plan=Plan(merge=WHEN_APPROVED))
OWN = ROUGH._replace(plan=Plan(merge=AUTO, review=NOBODY), acts=())  # nobody's word is waited for


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A loop that was broken on purpose may go round for long."""
    monkeypatch.setattr("bmad_autopilot.engine.loop.MAX_TURNS", 300)
    monkeypatch.setattr("bmad_autopilot.sim.simulate_delivery.MAX_FLIGHTS", 30)


def promise_of(name: str) -> Callable[[Played], Any]:
    return next(promise for promise in DELIVERY_PROMISES if promise.__name__ == name)


def breaks(name: str, saying: str = "", options: DeliveryOptions = ROUGH) -> None:
    """In one of some worlds this promise does not hold."""
    promise = promise_of(name)
    for seed in SEEDS:
        if any(saying in problem for problem in promise(play_delivery(seed, options))):
            return
    raise AssertionError(f"{name} holds in every world")


def merged_world(options: DeliveryOptions = ROUGH) -> Played:
    for seed in SEEDS:
        played = play_delivery(seed, options)
        assert played.world.hub is not None
        if any(played.world.hub.model.effects.of("merge", by=VIEWER)):
            return played
    raise AssertionError("nothing is ever merged")


def test_a_pull_request_that_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SimGitHub, "_openable", lambda *_: None)
    monkeypatch.setattr(seeing, "_pull", lambda forge, _, record: forge.pull(record.pull) if record.pull else None)
    breaks("no_pull_request_is_opened_twice")


def test_a_reply_whose_mark_is_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    answered = threads._answered
    monkeypatch.setattr(threads, "_answered", lambda point, answer, run, _: answered(point, answer, run, False))
    breaks("no_reply_is_given_twice")


def test_a_merge_that_is_done_again() -> None:
    played = merged_world()
    assert played.world.hub is not None
    effects = played.world.hub.model.effects
    effects.all.append(next(effects.of("merge", by=VIEWER)))
    assert list(promise_of("nothing_is_merged_twice")(played))


def _only_done(seen: Seen, record: DeliveryRecord) -> Mapping[str, Any] | None:
    return record.done.get(f"request-review:{pull_facts.review_key(seen, record)}")


def test_a_review_that_was_asked_for_and_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_facts, "_asked_for", _only_done)
    breaks("no_review_is_asked_for_twice", options=STRICT)


def test_a_check_that_was_run_again_and_not_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_facts, "_is_rerun", lambda seen, record: record.is_done("rerun", record.head))
    breaks("nothing_is_run_again_twice", options=OWN._replace(fault_rate=0.3))


@pytest.mark.parametrize(
    ("guard", "instead", "saying"),
    [
        ("_ci", lambda *_: Ci.GREEN, "its checks are"),
        ("worst", lambda *_: Threads.NONE, "threads are open"),
        ("_is_approved", lambda *_: True, "nobody has approved"),
        ("_gate", lambda *_: Gate.PASSED, "our own checks"),
    ],
)
def test_a_merge_without_a_guard(
    monkeypatch: pytest.MonkeyPatch, guard: str, instead: Callable[..., Any], saying: str
) -> None:
    monkeypatch.setattr(branch_facts if guard == "_gate" else pull_facts, guard, instead)
    acts = ("object", "object", "object", "remark", "remark")
    breaks("nothing_is_merged_unproven", saying, STRICT._replace(acts=acts))


def test_a_merge_against_somebodys_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeing, "objections", lambda *_, **__: [])
    monkeypatch.setattr(pull_facts, "UNDECIDED", ())
    breaks("nothing_is_merged_unproven", "ask for changes", OWN._replace(acts=("object",) * 60))


def test_an_approval_of_what_it_held_before(monkeypatch: pytest.MonkeyPatch) -> None:
    def every_push(record: DeliveryRecord) -> tuple[str, ...]:
        return tuple(str(one["key"]) for name, one in record.done.items() if name.startswith("push:"))

    monkeypatch.setattr(seeing, "_content", every_push)
    acts = ("approve", "approve", "remark", "remark", "remark")
    breaks("nothing_is_merged_unproven", "nobody has approved", STRICT._replace(acts=acts))


def test_a_merge_that_is_not_what_was_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryLines, "tree", lambda self, commit: "always the same")
    breaks("what_was_merged_otherwise_is_noticed")


def test_a_thread_that_is_closed_without_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "_answered", lambda *_: Threads.RESOLVE)
    breaks("threads_are_resolved_by_an_answer", "without a reply")


def test_a_thread_that_is_closed_by_no_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "FIXED", "disagrees")
    breaks("threads_are_resolved_by_an_answer", "by no later commit")


def test_an_agent_believed_on_its_word(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two look at it: when its answers are taken in, and before a thread is answered."""

    def believed(found: object, *rest: object) -> tuple[object, str]:
        return (found, "") if isinstance(found, dict) else ({}, "nothing is said of it")

    monkeypatch.setattr(answers, "_answer", believed)
    monkeypatch.setattr(observing, "_is_empty_word", lambda *_: False)
    breaks("threads_are_resolved_by_an_answer", "by no later commit")


def test_a_push_over_other_peoples_commits(monkeypatch: pytest.MonkeyPatch) -> None:
    def push(self: MemoryLines, branch: str, commit: str, expect: str) -> None:
        self._hub.model.push(branch, commit)

    monkeypatch.setattr(MemoryLines, "push", push)
    monkeypatch.setattr(branch_facts, "_foreign", lambda *_: Line.AHEAD)
    breaks("no_commit_is_pushed_over", options=ROUGH._replace(acts=("push", "force-push", "remark")))


def test_foreign_commits_that_nobody_is_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(branch_facts, "_foreign", lambda *_: Line.ALLOWED)
    breaks("foreign_commits_are_left_alone", options=ROUGH._replace(acts=("push", "push", "remark")))


def test_a_branch_that_is_deleted_unmerged() -> None:
    played = merged_world()
    assert played.world.hub is not None
    for pull in played.world.hub.model.pulls.values():
        pull.merged_at = 0.0
    assert list(promise_of("only_merged_branches_are_deleted")(played))


def test_checks_that_are_waited_for_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pull_facts, "_ci", lambda *_: Ci.PENDING)
    breaks("everything_ends", "waits for its checks")


def test_a_merge_into_another_branch_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(seeing, "_is_in", lambda lines, plan, pull, _: pull and pull.state is PullState.MERGED)
    breaks("merged_means_in_the_base", options=ROUGH._replace(acts=("merge",) * 6))
