"""People and robots of the simulated GitHub on their own."""

from random import Random

from bmad_autopilot.github.forge import COPILOT, NewPull, PullState
from bmad_autopilot.sim.faults import CrashPlan
from bmad_autopilot.sim.github import reviews
from bmad_autopilot.sim.github.checks import SimCI
from bmad_autopilot.sim.github.model import ACTIONS, SimGitHub
from bmad_autopilot.sim.github.people import (
    HUMAN_ACTIONS,
    SimAutoApprove,
    SimCopilot,
    SimHuman,
    SimMaintainer,
    schedule_actions,
    scripted_reviews,
)
from bmad_autopilot.sim.github.refs import MemoryRefs
from bmad_autopilot.sim.github.reviews import Remark
from bmad_autopilot.sim.memory.world import MemoryWorld
from tests.support.simulated_github import BRANCH, FILES, Hub, memory_hub


def test_a_maintainer_approves_what_is_green_and_answered_and_not_sooner() -> None:
    hub = memory_hub()
    SimCI(hub.model)
    SimMaintainer(hub.model, delay=60)
    pull = hub.open_pull()
    SimHuman(hub.model, "paul").remark(pull.number, Remark("a.py", 1, "why?"))
    hub.advance(900)
    assert reviews.approvals(hub.model, pull) == []
    reviews.resolve(hub.model, pull.threads[0].id)
    hub.advance(900)
    assert reviews.approvals(hub.model, pull) == ["maria"]
    assert len(pull.reviews) == 2


def test_the_auto_approve_workflow_approves_after_ten_minutes_by_the_real_rules() -> None:
    hub = memory_hub()
    SimCI(hub.model)
    SimCopilot(hub.model, scripted_reviews([Remark("a.py", 1, "why?")]))
    SimAutoApprove(hub.model)
    hub.push_work({"a.py": b"new\n"})
    pull = hub.open_pull()
    reviews.request_reviews(hub.model, pull.number, [COPILOT])
    hub.advance(700)
    assert reviews.approvals(hub.model, pull) == []
    reviews.resolve(hub.model, pull.threads[0].id)
    hub.advance(60)
    assert reviews.approvals(hub.model, pull) == [ACTIONS]
    hub.push_work({"a.py": b"newer\n"})
    reviews.request_reviews(hub.model, pull.number, [COPILOT])
    hub.advance(200)
    assert reviews.approvals(hub.model, pull) == []
    hub.advance(600)
    assert reviews.approvals(hub.model, pull) == [ACTIONS]


def stirred(seed: int) -> Hub:
    hub = memory_hub()
    for number in range(1, 6):
        hub.open_pull(f"feature/epic-{number}")
    schedule_actions(hub.model, SimHuman(hub.model), [*HUMAN_ACTIONS] * 5, Random(seed), within=3600)
    hub.advance(9999)
    return hub


def history(hub: Hub) -> list[tuple[float, str, str]]:
    return [(one.at, one.by, one.kind) for one in hub.model.effects.all]


def test_mischief_happens_by_the_seed() -> None:
    assert history(stirred(1)) == history(stirred(1))
    kinds = {kind for seed in range(20) for _, _, kind in history(stirred(seed))}
    assert kinds >= {"push", "merge", "close", "delete-branch", "review", "comment", "resolve", "open-pull"}


def test_whatever_people_do_the_world_stays_whole() -> None:
    for seed in range(20, 60):
        hub = stirred(seed)
        for pull in hub.model.pulls.values():
            if pull.state is PullState.OPEN:
                assert hub.refs.head_of(pull.head_ref) == pull.head, seed
                assert hub.refs.head_of(pull.base_ref), seed
            if pull.state is PullState.MERGED:
                assert hub.refs.contains(hub.main, pull.merged_as), seed


def test_a_world_in_memory_lends_its_clock_and_its_commits() -> None:
    world = MemoryWorld(FILES, Random(1), CrashPlan(Random(1)))
    model = SimGitHub(world, MemoryRefs(world.git), world.rng)
    SimCI(model)
    world.git.write("a.py", b"ours\n")
    sha = world.git.commit_paths(["a.py"], "Ours", "run/1")
    model.push(BRANCH, sha, "")
    pull = model.open_pull(NewPull(BRANCH, "main", "x", ""))
    assert world.next_event() == 5.0
    world.advance(100.0)
    assert model.checks[pull.head][0].ended == 70.0
