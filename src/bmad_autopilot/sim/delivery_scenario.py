"""What a simulation of deliveries plays: the policies, who reviews, approves and merges, what CI says, and what
goes wrong. All of it follows from a seed."""

from collections.abc import Callable, Sequence
from random import Random
from typing import NamedTuple

from ..engine.delivery.plan import AUTO, COPILOT, HUMAN, MANUAL, NOBODY, WHEN_APPROVED, Plan
from ..engine.lane import Lane
from ..workflows.pipelines import PIPELINES
from .github.approver import SimAutoApprove
from .github.ci import PASS, Job, Read, SimCI, Verdict, ends, flaky, passes
from .github.copilot import SimCopilot
from .github.faults import GitHubFaults
from .github.merger import SimMerger
from .github.mischief import ACTS, stir
from .github.model import VIEWER, SimGitHub
from .github.people import SimHuman, SimMaintainer
from .github.records import Protection, SimPull, SimRepository
from .github.reviewing import Remark
from .habits.honest import NOTES
from .habits.menders import MENDERS
from .humans import Humans, Manner
from .memory import World
from .memory_hub import Hub
from .scenario import BRANCH, Cast, Scenario, chances

MISCHIEF_SECONDS = 30_000.0  # within which people meddle
MAX_EPICS = 5
MAX_ROUNDS = 8  # of one pull request, who does them wrong


class DeliveryOptions(NamedTuple):
    """What the caller has chosen; None: the seed chooses."""

    epics: int | None = None
    stories: int | None = None
    crash_rate: float = 0.01
    crash_at: tuple[int, ...] = ()
    fault_rate: float | None = None
    meddling: bool = True
    plan: Plan | None = None
    manner: Manner | None = None
    acts: tuple[str, ...] | None = None  # of mischief


class DeliveryScenario(NamedTuple):
    scenario: Scenario
    plan: Plan  # of every epic, its place apart
    epics: int
    stories: int
    most: int  # epics that may be pending


def make_delivery(seed: int, options: DeliveryOptions) -> DeliveryScenario:
    rng = chances(seed, "delivery")
    epics = options.epics or rng.choice((1, 1, 2, 2, 3, 5))
    stories = options.stories or rng.choice((1, 1, 2, 3))
    cast = Cast(_menders(chances(seed, "menders"), epics))
    manner = options.manner or rng.choices(tuple(Manner), (7, 2, 1))[0]
    attended = rng.random() < 0.3
    cast.humans = Humans(manner, chances(seed, "humans"), cast, attended=attended, branch=BRANCH)
    lane = Lane("epic", "", None, PIPELINES["lean"], retrospective="never")
    stops = [rng.uniform(0.0, MISCHIEF_SECONDS) for _ in range(rng.choice((0, 0, 0, 1)))]
    scenario = Scenario(cast, lane, [], stops if options.meddling else [], 0.1)
    return DeliveryScenario(scenario, options.plan or _plan(rng), epics, stories, rng.choice((1, 2, 5)))


def _menders(rng: Random, epics: int) -> dict[str, str]:
    """Who goes wrong over what reviewers want: in two worlds of five some of the rounds."""
    rate = rng.choice((0.0, 0.0, 0.0, 0.3, 0.8))
    rounds = [f"epic-{epic}.pr-{number}" for epic in range(1, epics + 1) for number in range(1, MAX_ROUNDS + 1)]
    return {key: rng.choice(tuple(MENDERS)) for key in rounds if rng.random() < rate}


def _plan(rng: Random) -> Plan:
    return Plan(
        merge=rng.choices((WHEN_APPROVED, AUTO, MANUAL), (6, 3, 1))[0],
        review=rng.choices((COPILOT, HUMAN, NOBODY), (6, 1, 2))[0],
        checks=rng.random() < 0.8,
        rounds=rng.choice((1, 3, 5)),
        review_patience=rng.choice((300.0, 1800.0)),
        check_patience=rng.choice((600.0, 1800.0)),
        reruns=rng.random() < 0.7,
        labels=rng.choice(((), ("autopilot",))),
        draft=rng.random() < 0.03,
    )


def make_hub(world: World, seed: int, delivery: DeliveryScenario, options: DeliveryOptions) -> Hub:
    rng = chances(seed, "hub")
    rate = rng.choice((0.0, 0.02, 0.1)) if options.fault_rate is None else options.fault_rate
    faults = GitHubFaults(chances(seed, "faults"), rate=rate)
    hub = Hub(world, chances(seed, "github"), faults, _repository(rng))
    if chances(seed, "admin").random() < 0.5:
        hub.model.admins.add(VIEWER)
    _machines(hub.model, delivery.plan, rng)
    _people(hub.model, delivery.plan, rng)
    if options.meddling:
        acts = options.acts if options.acts is not None else rng.choices(tuple(ACTS), k=rng.choice((0, 1, 3, 8)))
        bob, luck = SimHuman(hub.model, "bob"), chances(seed, "mischief")
        stir(hub.model, bob, acts, luck, within=MISCHIEF_SECONDS)
        hub.before_merge = lambda: _move_base(bob, luck)
    return hub


def _move_base(human: SimHuman, rng: Random) -> None:
    """Inside the merge window: what is merged then is not what was tested."""
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


def _machines(model: SimGitHub, plan: Plan, rng: Random) -> None:
    verdict = rng.choices(
        (passes, ends("failure", "success"), flaky, by_files, ends("action_required", "success"), ends("")),
        (6, 2, 2, 2, 0.5, 0.3),
    )[0]
    appears = -1.0 if rng.random() < (0.03 if plan.checks else 0.5) else rng.uniform(1.0, 100.0)
    job = Job("test", verdict, appears=appears, takes=rng.uniform(10.0, 400.0))
    SimCI(model, (job,), cancels=rng.random() < 0.3)
    silent = rng.random() < 0.05
    SimCopilot(model, _remarks(model, rng, silent=silent), takes=rng.uniform(20.0, 400.0))


def by_files(read: Read, attempt: int) -> Verdict:
    """Red until an agent has mended it."""
    is_mended = any(read(NOTES.format(f"epic-{number}")) for number in range(1, MAX_EPICS + 1))
    return PASS if is_mended else Verdict("failure", b"the notes are missing\n")


def _remarks(model: SimGitHub, rng: Random, *, silent: bool) -> Callable[[SimPull, int], Sequence[Remark] | None]:
    """Up to five in its first review, hardly any later."""

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


def _people(model: SimGitHub, plan: Plan, rng: Random) -> None:
    """Somebody who approves, the robot, or nobody; and somebody who merges where we do not."""
    approves = rng.choices(("maintainer", "robot", "both", "nobody"), (5, 3, 1, 0.5))[0]
    if approves in ("maintainer", "both"):
        SimMaintainer(model, looks_after=rng.uniform(30.0, 4000.0))
    if approves in ("robot", "both"):
        SimAutoApprove(model)
    if plan.merge == MANUAL or plan.draft:
        SimMerger(model, looks_after=rng.uniform(30.0, 4000.0))
