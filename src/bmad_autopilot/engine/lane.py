"""A lane's order: scope, workflow, limits and delivery settings, frozen in its run's first journal entry."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..core.lane_scope import LaneScope
from ..workflows.workflow import Workflow, workflow_from_json, workflow_to_json

# How an epic is delivered: the relevant settings, frozen with its lane.

GITHUB, LOCAL = "github", "local"
WHEN_APPROVED, MANUAL, AUTO = "when-approved", "manual", "auto"
STOP, AGENT = "stop", "agent"  # how a conflict is handled
COPILOT, HUMAN, NO_REVIEWER = "copilot", "human", "none"


class DeliveryPlan(NamedTuple):
    kind: str = GITHUB  # or local: merged here, without a forge
    base: str = "main"  # the branch it is merged into
    onto: str = ""  # the previous epic's branch, if this one was started on it before that was merged
    title: str = ""  # the epic's
    merge: str = WHEN_APPROVED
    review: str = COPILOT
    checks: bool = True  # do not merge a pull request that has no checks on the forge
    rounds: int = 5  # fix rounds before a person is asked
    review_patience: float = 1800.0  # seconds to wait for a review
    check_patience: float = 1800.0
    approval_patience: float = 86400.0
    grace: float = 120.0  # for checks to appear; checks must stay green for a twelfth of it to count
    reruns: bool = True  # rerun a failed check once, unchanged
    conflicts: str = "stop"  # or agent: an agent may resolve them
    trusted: tuple[str, ...] = ()  # logins beside collaborators and Copilot
    labels: tuple[str, ...] = ()
    draft: bool = False

    @property
    def stable_seconds(self) -> float:
        return self.grace / 12

    def to_json(self) -> dict[str, Any]:
        return {**self._asdict(), "trusted": list(self.trusted), "labels": list(self.labels)}


def plan_from_json(data: Mapping[str, Any] | None) -> DeliveryPlan | None:
    if not data:
        return None
    known = {name: data[name] for name in DeliveryPlan._fields if name in data}
    lists = {name: tuple(data.get(name, ())) for name in ("trusted", "labels")}
    return DeliveryPlan(**{**known, **lists})


class Lane(NamedTuple):
    scope: LaneScope
    key: str  # the epic's, the story's or the workflow's
    epic: str | None  # the epic's number
    workflow: Workflow
    branch: str = ""
    max_rounds: int = 3
    max_fixes: int = 3
    max_cost: float | None = None
    max_hours: float | None = None
    retrospective: str = "offer"
    checks: tuple[str, ...] = ()  # the project's check commands when the run began
    unprotected: tuple[str, ...] = ()  # globs of protected paths that agents may change
    stories: int = 1  # open stories when it began
    rows: Mapping[str, str] = {}  # its epic's stories and their statuses when it began; empty before 0.1.1
    dirty: tuple[str, ...] = ()  # paths changed or untracked before the run: never committed by us
    session: str = "main"  # the session branch that its run is kept under
    human_checkpoint: str = "none"  # where a person must confirm before the run continues
    unattended: Mapping[str, str] = {}  # the command line's choice per cause; overrides the settings
    path: str = ""  # of the workflow's file; of a flow: its state file
    delivery: DeliveryPlan | None = None  # None: the run ends with its stories, on the branch that is checked out
    of_tasks: bool = False  # its stories are a flow's tasks, on their own board
    adopted: str = ""  # the current story of an adopted run: its questions and answers still count

    @property
    def is_workflow(self) -> bool:
        """Whether it has no board; true for a flow too."""
        return self.scope in (LaneScope.WORKFLOW, LaneScope.FLOW)

    @property
    def is_flow(self) -> bool:
        return self.scope is LaneScope.FLOW

    def to_json(self) -> dict[str, Any]:
        """Only the number of `dirty` paths is included: the list may be too long for a journal line."""
        plan = self.delivery.to_json() if self.delivery else None
        workflow = workflow_to_json(self.workflow)
        return {**self._asdict(), "workflow": workflow, "dirty": len(self.dirty), "delivery": plan}


def lane_from_json(data: Mapping[str, Any]) -> Lane:
    """Without the `dirty` paths, which `run_setup.load_lane` adds."""
    known = {name: data[name] for name in Lane._fields if name in data and name != "dirty"}
    lists = {name: tuple(data.get(name, ())) for name in ("checks", "unprotected")}
    own = {
        "scope": LaneScope(data["scope"]),
        "workflow": workflow_from_json(data["workflow"]),
        "delivery": plan_from_json(data.get("delivery")),
    }
    return Lane(**{**known, **lists, **own})
