"""What is kept of a step that is over: the variables so far, the board's rows, the work tree, and its output as a
page for a person. Pure."""

from typing import Any

from ..core.records import Data, RunRecord, StepRecord
from .doors import CheckpointOrder
from .lane import Lane
from .looking import Look

MAX_OUTPUT = 64 * 1024


def checkpoint_order(lane: Lane, run: RunRecord, look: Look) -> CheckpointOrder | None:
    """None: no step of this run has ended here."""
    record = look.at.record
    ended = record.last.ended if record and record.last else None
    if record is None or ended is None or look.story is None:
        return None
    tree = look.tree
    return CheckpointOrder(
        record.number,
        record.step,
        look.story.key,
        variables_after(lane, run, look.story.key, ended),
        _rows(lane, look),
        output_page(record, look.story.key, ended),
        tree.head if tree else ended.get("head"),
        tree.branch if tree else ended.get("branch"),
        tree.tree if tree else ended.get("tree"),
        saved=look.at.step is None or look.at.step.checkpoint,
    )


def variables_after(lane: Lane, run: RunRecord, story: str, ended: Data) -> dict[str, Any]:
    """Those of the run, with what this step has left. A workflow's variables are its own: one of them may well be
    called `story`."""
    known = {"story": story} if not lane.is_workflow else {}
    return {**run.variables, **known, **(ended.get("variables") or {})}


def first_variables(lane: Lane, project: str) -> dict[str, Any]:
    """What every run of a story or an epic knows."""
    return {"project_name": project, "target": lane.key, "workflow": lane.workflow.name, "branch": lane.branch}


def output_page(record: StepRecord, story: str, ended: Data) -> str:
    """Of a workflow's own step what it wrote, word for word; of a story's step what its agent said last, and the
    verdict."""
    if "output" in ended:
        return str(ended["output"])[:MAX_OUTPUT]
    said = [
        f"# Step {record.number}: {record.step} of {story}",
        f"Round {record.round}, {len(record.calls)} {'call' if len(record.calls) == 1 else 'calls'}.",
    ]
    if ended.get("summary"):
        said.append(f"## Verdict\n\n{ended['summary']}")
    if ended.get("closing"):
        said.append(f"## What the agent said last\n\n{ended['closing']}")
    return "\n\n".join(said)[:MAX_OUTPUT] + "\n"


def _rows(lane: Lane, look: Look) -> dict[str, str]:
    """Those of the lane's own epic: no other is ever set by us."""
    own = (row for row in look.rows.values() if lane.epic in (row.epic, row.number))
    rows = {row.key: row.status.raw for row in own}
    if look.row is not None and look.wanted:
        rows[look.row.key] = look.wanted if look.row.meaning != look.wanted else look.row.status.raw
    return rows
