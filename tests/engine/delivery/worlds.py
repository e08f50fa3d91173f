"""A forge and branches that stand as a test says, for looks at a delivery: nothing here changes by itself."""

from dataclasses import dataclass, field
from typing import Any

from bmad_autopilot.core.facts import Facts
from bmad_autopilot.core.forge_errors import ForgeError
from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.core.run_record import CheckRecord, RunRecord
from bmad_autopilot.engine.delivery.branch_port import BranchMerge
from bmad_autopilot.engine.delivery.observe import observe_delivery
from bmad_autopilot.engine.delivery.snapshot import DeliveryObservation, SnapshotObservation
from bmad_autopilot.engine.lane import DeliveryPlan, Lane
from bmad_autopilot.engine.slots import SlotHandle
from bmad_autopilot.github.forge import Pull, PullState, PullSummary, Repository
from bmad_autopilot.workflows.workflow import PIPELINES
from tests.support.ports import ports_of
from tests.support.pull_builders import BASE, BRANCH, VIEWER

BEGAN, NOW = 1000.0, 5000.0
PLAN, MERGED = DeliveryPlan(labels=("epic",)), BranchMerge("h1+b2")


def passed(code: str) -> CheckRecord:
    return CheckRecord(code, True, ran=[["make test", 0, 2.0]])


@dataclass
class World:
    """Epic 1, pushed, in a pull request: `h1` on `b1`, which the checks here have passed."""

    pulls: list[Pull] = field(default_factory=list)
    plan: DeliveryPlan = PLAN
    now_at: float = NOW
    local: dict[str, str] = field(default_factory=lambda: {BRANCH: "h1", BASE: "b1"})
    remote: dict[str, str] = field(default_factory=lambda: {BRANCH: "h1", BASE: "b1"})
    before: dict[str, set[str]] = field(default_factory=lambda: {"h1": {"b1"}})  # what each commit holds
    taken: BranchMerge = MERGED
    stands_not: str = ""
    error: ForgeError | None = None
    files: tuple[str, ...] = ()
    is_settled: bool = True  # what is green has been so for a while
    in_base: tuple[str, ...] = ()  # files that the base branch has
    run: RunRecord = field(default_factory=RunRecord)
    turn: SlotHandle = field(default_factory=SlotHandle)

    def __post_init__(self) -> None:
        record = self.run.delivery
        record.started_at, record.head = BEGAN, "h1"
        self.run.checks["code of h1"] = passed("code of h1")

    def pushed(self, head: str = "h1", at: float = BEGAN, *, content: bool = True) -> None:
        record = self.run.delivery
        record.head = record.pushed = head
        record.pushed_at = at
        record.known_heads.add(head)
        record.completed_effects[f"push:{head}"] = {"do": "push", "key": head, "content": content, "at": at}

    def look(self, facts: Facts | None = None) -> DeliveryObservation:
        if self.is_settled and self.pulls:
            self.run.delivery.green_key = f"{self.run.delivery.head}:{len(self.pulls[0].checks)}"
        lane = Lane(LaneScope.EPIC, "epic-1", "1", PIPELINES["lean"], BRANCH, delivery=self.plan)
        return observe_delivery(ports_of(self), lane, self.plan, self.run, facts or Facts())

    def seen(self) -> SnapshotObservation:
        """A look at branches and a pull request that can be read."""
        look = self.look()
        assert isinstance(look, SnapshotObservation)
        return look

    def facts(self) -> Facts:
        return self.look().facts

    # the doors

    def now(self) -> float:
        return self.now_at

    def forge(self) -> Any:
        return self

    def branches(self) -> Any:
        return self

    def has_merge_turn(self) -> bool:
        return self.turn.is_free()

    def acquire_merge_turn(self) -> bool:
        return self.turn.acquire()

    def request_merge_turn(self) -> None:
        self.turn.request(lambda: None)

    def release_merge_turn(self) -> None:
        self.turn.release()

    # the forge

    def repository(self) -> Repository:
        return Repository("acme", "widgets", "R", BASE, can_push=True, viewer=VIEWER.login)

    def pull(self, number: int) -> Pull:
        if self.error is not None:
            raise self.error
        return next(one for one in self.pulls if one.number == number)

    def pulls_from(self, head_ref: str) -> list[PullSummary]:
        if self.error is not None:
            raise self.error
        return [
            PullSummary(
                one.number, one.state, one.head_ref, one.base_ref, one.head, "", is_from_fork=one.is_from_fork
            )
            for one in self.pulls
            if one.head_ref == head_ref
        ]

    def changed_files(self, number: int) -> list[str]:
        return list(self.files)

    # the branches

    def remote_heads(self, *branches: str) -> dict[str, str]:
        return {branch: self.remote.get(branch, "") for branch in branches}

    def head(self, branch: str) -> str:
        return self.local.get(branch, "")

    def contains(self, newer: str, older: str) -> bool:
        return newer == older or older in self.before.get(newer, set())

    def fork_point(self, one: str, other: str) -> str:
        return f"fork of {one} and {other}"

    def has_file(self, commit: str, path: str) -> bool:
        return path in self.in_base

    def code(self, commit: str) -> str:
        return f"code of {commit}"

    def merge_commits(
        self, head: str, other: str, since: str, key: str, message: str, resolved: tuple[str, ...] = ()
    ) -> BranchMerge:
        return self.taken

    def checkout_problem(self, branch: str, commit: str) -> str:
        return self.stands_not

    def merge_instructions(self, branch: str, base: str, taken: BranchMerge) -> str:
        return f"git merge {base}: {', '.join(taken.conflicts)}"


def world(*pulls: Pull, **more: Any) -> World:
    """With our push recorded, and the number of the first of the pull requests."""
    made = World(list(pulls), **more)
    made.pushed()
    made.run.delivery.pull = pulls[0].number if pulls and pulls[0].state is PullState.OPEN else 0
    return made
