"""Builds our commits (one per finished story, one per review round that is sent back) and checkpoints. Pure."""

from typing import Any

from ..core.run_record import Data, RunRecord, StepRecord, StoryRecord
from .lane import Lane
from .observation import BoardStory, StoryObservation, StoryPosition, call_id, tidy_label
from .observe import RETRO
from .ports import CallId, CheckpointOrder, CommitOrder


def story_commit(run: RunRecord, story: StoryRecord) -> CommitOrder:
    if run.delivery.round_of(story.key) is not None:
        epic, _, number = story.key.rpartition(".pr-")
        where = "pull request" if run.delivery.pull else "delivery"
        return _of_story(run, story, "done", f"Mend what was found in the {where} of {epic}, round {number}", "")
    review = str((story.last_outcome or {}).get("summary", ""))
    return _of_story(run, story, "done", f"Story {story.key}", review)


def round_commit(run: RunRecord, story: StoryRecord) -> CommitOrder:
    summary = str((story.last_outcome or {}).get("summary", ""))
    subject = f"Story {story.key}: round {story.round}, changes requested"
    return _of_story(run, story, f"round-{story.round}", subject, summary)


def skip_commit(run: RunRecord, story: StoryRecord) -> CommitOrder:
    """Only its row and its file: its work has been stashed."""
    key = f"{run_id(run)}/{story.key}/skipped-{story.steps[-1].number if story.steps else 0}"
    return CommitOrder(key, "skipped", story.key, f"Story {story.key}: skipped", since=story.baseline)


def tidy_commit(run: RunRecord, story: StoryRecord, position: StoryPosition) -> CommitOrder:
    """Before a step whose skill requires a clean tree: our row change, and the work of an interrupted attempt."""
    label = tidy_label(run, position)
    order = _of_story(run, story, label, f"Story {story.key}: in progress", "")
    return order._replace(key=f"{run_id(run)}/{label}")


def epic_commit(run: RunRecord, key: str) -> CommitOrder:
    """The closed epic's row, else its retrospective."""
    # After a restart reopened the epic, only later commits count.
    begun = (story.baseline for name, story in reversed(run.stories.items()) if name != key)
    since = next(filter(None, begun), None)
    if run.epic_closed and "epic" not in run.commits:
        return CommitOrder(f"{run_id(run)}/{key}", "epic", "", f"Close {key}", since=since)
    story = run.stories[key]
    return _of_story(run, story, RETRO, f"Retrospective of {key}", "")._replace(since=since)


def _of_story(run: RunRecord, story: StoryRecord, label: str, subject: str, body: str) -> CommitOrder:
    name = _name(story.steps[-1]) if story.steps else story.key
    key, calls = f"{run_id(run)}/{name}", calls_of(story)
    return CommitOrder(key, label, story.key, subject, body, story.baseline, calls, handed_over(story), story.tree)


def calls_of(story: StoryRecord) -> tuple[CallId, ...]:
    return tuple(call_id(step, call) for step in story.steps for call in step.calls)


def handed_over(story: StoryRecord) -> tuple[CallId, ...]:
    """The calls after which a person took over; the person's changes are part of the story's work."""
    return tuple(call_id(step, call) for step in story.steps for call in step.calls if call.handed_over)


def last_own_commit(story: StoryRecord) -> str | None:
    """Our last commit for the story, else its baseline: any later HEAD must still contain it."""
    return next(reversed(story.commits.values()), story.baseline)


def _name(step: StepRecord) -> str:
    return f"{step.number:02}-{step.step}/{len(step.calls)}"


def run_id(run: RunRecord) -> str:
    return str(run.start_entry.get("run_id", "run"))


# The checkpoint of a completed step: variables, board rows, work tree, and its output as a page.

MAX_OUTPUT = 64 * 1024


def checkpoint_order(lane: Lane, run: RunRecord, observation: StoryObservation) -> CheckpointOrder | None:
    """None: no call of this step has ended."""
    record = observation.record
    ended = record.last_call.outcome if record and record.last_call else None
    if record is None or ended is None:
        return None
    tree = observation.tree
    return CheckpointOrder(
        record.number,
        record.step,
        observation.story.key,
        variables_after(lane, run, observation.story.key, ended),
        _rows(lane, observation) if isinstance(observation, BoardStory) else {},
        output_page(record, observation.story.key, ended),
        tree.head if tree else ended.get("head"),
        tree.branch if tree else ended.get("branch"),
        tree.tree if tree else ended.get("tree"),
        saved=observation.position.step is None or observation.position.step.checkpoint,
    )


def variables_after(lane: Lane, run: RunRecord, story: str, ended: Data) -> dict[str, Any]:
    """The run's variables with those of this step. A workflow may use the name `story` itself."""
    known = {"story": story} if not lane.is_workflow else {}
    return {**run.variables, **known, **(ended.get("variables") or {})}


def first_variables(lane: Lane, project: str) -> dict[str, Any]:
    """The initial variables of a story's or an epic's run."""
    return {"project_name": project, "target": lane.key, "workflow": lane.workflow.name, "branch": lane.branch}


def output_page(record: StepRecord, story: str, ended: Data) -> str:
    """A workflow step's output, verbatim; for a story's step the verdict and the agent's closing message."""
    if "output" in ended:
        return str(ended["output"])[:MAX_OUTPUT]
    parts = [
        f"# Step {record.number}: {record.step} of {story}",
        f"Round {record.round}, {len(record.calls)} {'call' if len(record.calls) == 1 else 'calls'}.",
    ]
    if ended.get("summary"):
        parts.append(f"## Verdict\n\n{ended['summary']}")
    if ended.get("closing"):
        parts.append(f"## What the agent said last\n\n{ended['closing']}")
    return "\n\n".join(parts)[:MAX_OUTPUT] + "\n"


def _rows(lane: Lane, observation: BoardStory) -> dict[str, str]:
    """The rows of the lane's epic: we never set others."""
    own = (row for row in observation.rows.values() if lane.epic in (row.epic, row.number))
    rows = {row.key: row.status.raw for row in own}
    if observation.row is not None and observation.wanted_status:
        rows[observation.row.key] = (
            observation.wanted_status
            if observation.row.meaning != observation.wanted_status
            else observation.row.status.raw
        )
    return rows
