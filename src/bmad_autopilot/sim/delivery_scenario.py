"""The scenario of a simulated delivery, drawn from a seed: policy, reviewers, approvers, CI results and faults."""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from ..core.lane_scope import LaneScope
from ..engine.lane import AUTO, COPILOT, HUMAN, MANUAL, NO_REVIEWER, WHEN_APPROVED, DeliveryPlan, Lane
from ..workflows.workflow import PIPELINES
from .github.checks import (
    PASSED,
    CIJob,
    JobResult,
    ReadFile,
    SimCI,
    always_passes,
    fails_first,
    scripted_conclusions,
)
from .github.model import VIEWER, SimGitHub
from .github.people import (
    HUMAN_ACTIONS,
    SimAutoApprove,
    SimCopilot,
    SimHuman,
    SimMaintainer,
    SimMerger,
    schedule_actions,
)
from .github.records import GitHubFaults, Protection, SimPull, SimRepository
from .github.reviews import Remark
from .habits.honest import REVIEW_NOTES
from .habits.pull_fixers import PULL_FIXERS
from .memory.world import Hub, MemoryWorld
from .scenario import BRANCH, Participants, Scenario, seeded_random
from .users import Humans, Manner

DELIVERY_INTERFERENCE_SECONDS = 30_000.0  # people interfere within this time
MAX_EPICS = 5
MAX_ROUNDS = 8  # fix rounds of one pull request that may get a faulty agent


class DeliveryOptions(NamedTuple):
    """The caller's choices; None lets the seed choose."""

    epics: int | None = None
    stories: int | None = None
    crash_rate: float = 0.01
    crash_at: tuple[int, ...] = ()
    fault_rate: float | None = None
    has_interference: bool = True
    plan: DeliveryPlan | None = None
    manner: Manner | None = None
    actions: tuple[str, ...] | None = None  # names of HUMAN_ACTIONS


class DeliveryScenario(NamedTuple):
    scenario: Scenario
    plan: DeliveryPlan  # of every epic, except for its base and the branch below it
    epics: int
    stories: int
    max_pending: int  # epics that may be pending at the same time


def make_delivery_scenario(seed: int, options: DeliveryOptions) -> DeliveryScenario:
    rng = seeded_random(seed, "delivery")
    epics = options.epics or rng.choice((1, 1, 2, 2, 3, 5))
    stories = options.stories or rng.choice((1, 1, 2, 3))
    participants = Participants(_fixer_habits(seeded_random(seed, "menders"), epics))
    manner = options.manner or rng.choices(tuple(Manner), (7, 2, 1))[0]
    attended = rng.random() < 0.3
    participants.humans = Humans(
        manner, seeded_random(seed, "humans"), participants, attended=attended, branch=BRANCH
    )
    lane = Lane(LaneScope.EPIC, "", None, PIPELINES["lean"], retrospective="never")
    stops = [rng.uniform(0.0, DELIVERY_INTERFERENCE_SECONDS) for _ in range(rng.choice((0, 0, 0, 1)))]
    scenario = Scenario(participants, lane, [], stops if options.has_interference else [], 0.1)
    return DeliveryScenario(scenario, options.plan or _plan(rng), epics, stories, rng.choice((1, 2, 5)))


def _fixer_habits(rng: Random, epics: int) -> dict[str, str]:
    """Faulty habits for fix rounds: in two of five worlds, for some of the rounds."""
    rate = rng.choice((0.0, 0.0, 0.0, 0.3, 0.8))
    rounds = [f"epic-{epic}.pr-{number}" for epic in range(1, epics + 1) for number in range(1, MAX_ROUNDS + 1)]
    return {key: rng.choice(tuple(PULL_FIXERS)) for key in rounds if rng.random() < rate}


def _plan(rng: Random) -> DeliveryPlan:
    return DeliveryPlan(
        merge=rng.choices((WHEN_APPROVED, AUTO, MANUAL), (6, 3, 1))[0],
        review=rng.choices((COPILOT, HUMAN, NO_REVIEWER), (6, 1, 2))[0],
        checks=rng.random() < 0.8,
        rounds=rng.choice((1, 3, 5)),
        review_patience=rng.choice((300.0, 1800.0)),
        check_patience=rng.choice((600.0, 1800.0)),
        reruns=rng.random() < 0.7,
        labels=rng.choice(((), ("autopilot",))),
        draft=rng.random() < 0.03,
    )


def make_hub(world: MemoryWorld, seed: int, delivery: DeliveryScenario, options: DeliveryOptions) -> Hub:
    rng = seeded_random(seed, "hub")
    rate = rng.choice((0.0, 0.02, 0.1)) if options.fault_rate is None else options.fault_rate
    faults = GitHubFaults(seeded_random(seed, "faults"), rate=rate)
    hub = Hub(world, seeded_random(seed, "github"), faults, _repository(rng))
    if seeded_random(seed, "admin").random() < 0.5:
        hub.model.admins.add(VIEWER)
    _add_ci_and_copilot(hub.model, delivery.plan, rng)
    _add_approvers(hub.model, delivery.plan, rng)
    if options.has_interference:
        actions = (
            options.actions
            if options.actions is not None
            else rng.choices(tuple(HUMAN_ACTIONS), k=rng.choice((0, 1, 3, 8)))
        )
        bob, interference_rng = SimHuman(hub.model, "bob"), seeded_random(seed, "mischief")
        schedule_actions(hub.model, bob, actions, interference_rng, within=DELIVERY_INTERFERENCE_SECONDS)
        hub.before_merge = lambda: _move_base(bob, interference_rng)
    return hub


def _move_base(human: SimHuman, rng: Random) -> None:
    """Moves the base inside the merge window, so that the merged tree differs from the tested one."""
    if rng.random() < 0.1:
        human.push(BRANCH, {f"meanwhile-{rng.randrange(9999)}.txt": b"moved\n"}, "At the last moment")


def _repository(rng: Random) -> SimRepository:
    rules = rng.choice(
        (
            Protection(),
            Protection(),
            Protection(checks=("test",)),
            Protection(checks=("test",), strict=True, conversations=True),
            Protection(approvals=1, dismiss_stale=True),
            Protection(queue=True),
        )
    )
    return SimRepository(
        deletes_branches=rng.random() < 0.3,
        copilot=rng.random() < 0.95,
        protections={BRANCH: rules},
    )


def _add_ci_and_copilot(model: SimGitHub, plan: DeliveryPlan, rng: Random) -> None:
    verdict = rng.choices(
        (
            always_passes,
            scripted_conclusions("failure", "success"),
            fails_first,
            passes_once_fixed,
            scripted_conclusions("action_required", "success"),
            scripted_conclusions(""),
        ),
        (6, 2, 2, 2, 0.5, 0.3),
    )[0]
    appears = -1.0 if rng.random() < (0.03 if plan.checks else 0.5) else rng.uniform(1.0, 100.0)
    job = CIJob("test", verdict, appears_after=appears, duration=rng.uniform(10.0, 400.0))
    SimCI(model, (job,), cancels_older=rng.random() < 0.3)
    silent = rng.random() < 0.05
    SimCopilot(model, _review_script(model, rng, silent=silent), duration=rng.uniform(20.0, 400.0))


def passes_once_fixed(read: ReadFile, attempt: int) -> JobResult:
    """Fails until an agent has written its notes on the review."""
    is_fixed = any(read(REVIEW_NOTES.format(f"epic-{number}")) for number in range(1, MAX_EPICS + 1))
    return PASSED if is_fixed else JobResult("failure", b"the notes are missing\n")


def _review_script(
    model: SimGitHub, rng: Random, *, silent: bool
) -> Callable[[SimPull, int], Sequence[Remark] | None]:
    """Up to five remarks in the first review, few in later ones."""

    def plan(pull: SimPull, review: int) -> Sequence[Remark] | None:
        if silent:
            return None
        changed = model.refs.changed(model.refs.head_of(pull.base_ref), pull.head)
        count = rng.choice((0, 1, 2, 5)) if review == 0 else rng.choice((0, 0, 0, 0, 1))
        words = rng.choices(
            ("This is wrong.", "This is a matter of taste.", "Is this tested?"), (4, 1, 3), k=count
        )
        return [Remark(rng.choice(changed), 1, word) for word in words] if changed else []

    return plan


def _add_approvers(model: SimGitHub, plan: DeliveryPlan, rng: Random) -> None:
    """Adds a maintainer, the auto-approve workflow, both or neither; and a person who merges where we do not."""
    approves = rng.choices(("maintainer", "robot", "both", "nobody"), (5, 3, 1, 0.5))[0]
    if approves in ("maintainer", "both"):
        SimMaintainer(model, delay=rng.uniform(30.0, 4000.0))
    if approves in ("robot", "both"):
        SimAutoApprove(model)
    if plan.merge == MANUAL or plan.draft:
        SimMerger(model, delay=rng.uniform(30.0, 4000.0))
