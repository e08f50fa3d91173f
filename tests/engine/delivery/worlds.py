"""A forge and branches that stand as a test says, for looks at a delivery: nothing here changes by itself."""

from dataclasses import dataclass, field
from typing import Any, cast

from bmad_autopilot.core.facts import Facts
from bmad_autopilot.core.records import Check, RunRecord
from bmad_autopilot.engine.delivery.lines import TakenIn
from bmad_autopilot.engine.delivery.observing import observe_delivery
from bmad_autopilot.engine.delivery.plan import Plan
from bmad_autopilot.engine.doors import Doors
from bmad_autopilot.engine.lane import Lane
from bmad_autopilot.engine.looking import Look
from bmad_autopilot.engine.seats import Seat
from bmad_autopilot.github.forge import ForgeError
from bmad_autopilot.github.pulls import Pull, PullMark, PullState, Repository
from bmad_autopilot.workflows.pipelines import PIPELINES
from tests.engine.delivery.pulls import BASE, BRANCH, VIEWER

BEGAN, NOW = 1000.0, 5000.0
PLAN, MERGED = Plan(labels=("epic",)), TakenIn("h1+b2")


def passed(code: str) -> Check:
    return Check(code, True, ran=[["make test", 0, 2.0]])


@dataclass
class World:
    """Epic 1, pushed, in a pull request: `h1` on `b1`, which the checks here have passed."""

    pulls: list[Pull] = field(default_factory=list)
    plan: Plan = PLAN
    now_at: float = NOW
    local: dict[str, str] = field(default_factory=lambda: {BRANCH: "h1", BASE: "b1"})
    remote: dict[str, str] = field(default_factory=lambda: {BRANCH: "h1", BASE: "b1"})
    before: dict[str, set[str]] = field(default_factory=lambda: {"h1": {"b1"}})  # what each commit holds
    taken: TakenIn = MERGED
    stands_not: str = ""
    error: ForgeError | None = None
    files: tuple[str, ...] = ()
    is_settled: bool = True  # what is green has been so for a while
    in_base: tuple[str, ...] = ()  # files that the base branch has
    run: RunRecord = field(default_factory=RunRecord)
    turn: Seat = field(default_factory=Seat)

    def __post_init__(self) -> None:
        record = self.run.delivery
        record.began, record.head = BEGAN, "h1"
        self.run.checks["code of h1"] = passed("code of h1")

    def pushed(self, head: str = "h1", at: float = BEGAN, *, content: bool = True) -> None:
        record = self.run.delivery
        record.head = record.pushed = head
        record.pushed_at = at
        record.known.add(head)
        record.done[f"push:{head}"] = {"do": "push", "key": head, "content": content, "at": at}

    def look(self, facts: Facts | None = None) -> Look:
        if self.is_settled and self.pulls:
            self.run.delivery.green = f"{self.run.delivery.head}:{len(self.pulls[0].checks)}"
        lane = Lane("epic", "epic-1", "1", PIPELINES["lean"], BRANCH, delivery=self.plan)
        return observe_delivery(cast(Doors, self), lane, self.run, facts or Facts())

    def facts(self) -> Facts:
        return self.look().facts

    # the doors

    def now(self) -> float:
        return self.now_at

    def forge(self) -> Any:
        return self

    def lines(self) -> Any:
        return self

    def has_turn(self) -> bool:
        return self.turn.is_free()

    def take_turn(self) -> bool:
        return self.turn.take()

    def await_turn(self) -> None:
        self.turn.want(lambda: None)

    def step_aside(self) -> None:
        self.turn.give_back()

    # the forge

    def repository(self) -> Repository:
        return Repository("acme", "widgets", "R", BASE, can_push=True, viewer=VIEWER.login)

    def pull(self, number: int) -> Pull:
        if self.error is not None:
            raise self.error
        return next(one for one in self.pulls if one.number == number)

    def pulls_from(self, head_ref: str) -> list[PullMark]:
        if self.error is not None:
            raise self.error
        return [
            PullMark(one.number, one.state, one.head_ref, one.base_ref, one.head, "", is_foreign=one.is_foreign)
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

    def holds(self, commit: str, path: str) -> bool:
        return path in self.in_base

    def code(self, commit: str) -> str:
        return f"code of {commit}"

    def take_in(
        self, head: str, other: str, since: str, key: str, message: str, settled: tuple[str, ...] = ()
    ) -> TakenIn:
        return self.taken

    def stands(self, branch: str, commit: str) -> str:
        return self.stands_not

    def steps_for(self, branch: str, base: str, taken: TakenIn) -> str:
        return f"git merge {base}: {', '.join(taken.conflicts)}"


def world(*pulls: Pull, **more: Any) -> World:
    """With our push recorded, and the number of the first of the pull requests."""
    made = World(list(pulls), **more)
    made.pushed()
    made.run.delivery.pull = pulls[0].number if pulls and pulls[0].state is PullState.OPEN else 0
    return made
