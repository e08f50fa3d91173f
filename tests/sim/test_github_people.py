"""People and robots of the simulated GitHub on their own."""

from random import Random

from bmad_autopilot.github.forge import COPILOT
from bmad_autopilot.github.pulls import PullOrder, PullState
from bmad_autopilot.sim.faults import CrashPlan
from bmad_autopilot.sim.github import reviewing
from bmad_autopilot.sim.github.approver import SimAutoApprove
from bmad_autopilot.sim.github.ci import SimCI
from bmad_autopilot.sim.github.copilot import SimCopilot, says
from bmad_autopilot.sim.github.mischief import ACTS, stir
from bmad_autopilot.sim.github.model import ACTIONS, SimGitHub
from bmad_autopilot.sim.github.people import SimHuman, SimMaintainer
from bmad_autopilot.sim.github.refs import MemoryRefs
from bmad_autopilot.sim.github.reviewing import Remark
from bmad_autopilot.sim.memory import World
from tests.sim.github_worlds import BRANCH, FILES, Hub, memory_hub


def test_a_maintainer_approves_what_is_green_and_answered_and_not_sooner() -> None:
    hub = memory_hub()
    SimCI(hub.model)
    SimMaintainer(hub.model, looks_after=60)
    pull = hub.open()
    SimHuman(hub.model, "paul").remark(pull.number, Remark("a.py", 1, "why?"))
    hub.wait(900)
    assert reviewing.approvals(hub.model, pull) == []
    reviewing.resolve(hub.model, pull.threads[0].id)
    hub.wait(900)
    assert reviewing.approvals(hub.model, pull) == ["maria"]
    assert len(pull.reviews) == 2


def test_the_auto_approve_workflow_approves_after_ten_minutes_by_the_real_rules() -> None:
    hub = memory_hub()
    SimCI(hub.model)
    SimCopilot(hub.model, says([Remark("a.py", 1, "why?")]))
    SimAutoApprove(hub.model)
    hub.work({"a.py": b"new\n"})
    pull = hub.open()
    reviewing.request(hub.model, pull.number, [COPILOT])
    hub.wait(700)
    assert reviewing.approvals(hub.model, pull) == []
    reviewing.resolve(hub.model, pull.threads[0].id)
    hub.wait(60)
    assert reviewing.approvals(hub.model, pull) == [ACTIONS]
    hub.work({"a.py": b"newer\n"})
    reviewing.request(hub.model, pull.number, [COPILOT])
    hub.wait(200)
    assert reviewing.approvals(hub.model, pull) == []
    hub.wait(600)
    assert reviewing.approvals(hub.model, pull) == [ACTIONS]


def stirred(seed: int) -> Hub:
    hub = memory_hub()
    for number in range(1, 6):
        hub.open(f"feature/epic-{number}")
    stir(hub.model, SimHuman(hub.model), [*ACTS] * 5, Random(seed), within=3600)
    hub.wait(9999)
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
    world = World(FILES, Random(1), CrashPlan(Random(1)))
    model = SimGitHub(world, MemoryRefs(world.git), world.rng)
    SimCI(model)
    world.git.write("a.py", b"ours\n")
    sha = world.git.commit_paths(["a.py"], "Ours", "run/1")
    model.push(BRANCH, sha, "")
    pull = model.open_pull(PullOrder(BRANCH, "main", "x", ""))
    assert world.next_event() == 5.0
    world.advance(100.0)
    assert model.checks[pull.head][0].ended == 70.0
