"""What a lane was asked to do, frozen in its run's first journal entry."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..workflows.pipelines import Workflow
from ..workflows.workflow_json import workflow_from_json, workflow_to_json
from .delivery.plan import Plan, plan_from_json


class Lane(NamedTuple):
    # epic, story, step (a single step of one story), workflow (a file of steps, and no board), or flow (one whose
    # steps are found done in the project's folder)
    scope: str
    key: str  # the epic's, the story's or the workflow's
    epic: str | None  # the epic's number
    workflow: Workflow
    branch: str = ""
    max_rounds: int = 3
    max_fixes: int = 3
    max_cost: float | None = None
    max_hours: float | None = None
    retrospective: str = "offer"
    checks: tuple[str, ...] = ()  # the project's own commands, as they stood when the run began
    unprotected: tuple[str, ...] = ()  # globs of protected paths that agents may change after all
    stories: int = 1  # that were to do when it began
    rows: Mapping[str, str] = {}  # its epic's stories and their statuses when it began; empty before 0.1.1
    dirty: tuple[str, ...] = ()  # what was changed or untracked before: never committed by us
    session: str = "main"  # the session branch that its run is kept under
    human_checkpoint: str = "none"  # where a person is asked whether to go on
    unattended: Mapping[str, str] = {}  # what the command line chooses for a cause, over the settings
    path: str = ""  # of a workflow's file; of a flow: of its state file
    delivery: Plan | None = None  # None: it ends with its stories, on the branch that is checked out
    of_tasks: bool = False  # its stories are a flow's tasks, on their own board
    adopted: str = ""  # the story that another tool's run was at: what was asked and answered about it counts

    @property
    def is_workflow(self) -> bool:
        """It has no board: a flow is one, too."""
        return self.scope in ("workflow", "flow")

    @property
    def is_flow(self) -> bool:
        return self.scope == "flow"

    def to_json(self) -> dict[str, Any]:
        """Of what is left out only how much it is: there may be too much for a journal's line."""
        plan = self.delivery.to_json() if self.delivery else None
        workflow = workflow_to_json(self.workflow)
        return {**self._asdict(), "workflow": workflow, "dirty": len(self.dirty), "delivery": plan}


def lane_from_json(data: Mapping[str, Any]) -> Lane:
    """Without what is left out: left_out.py has that."""
    known = {name: data[name] for name in Lane._fields if name in data and name != "dirty"}
    lists = {name: tuple(data.get(name, ())) for name in ("checks", "unprotected")}
    own = {"workflow": workflow_from_json(data["workflow"]), "delivery": plan_from_json(data.get("delivery"))}
    return Lane(**{**known, **lists, **own})
