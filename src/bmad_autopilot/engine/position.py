"""Where a story stands in its workflow, from the board and from what this run has recorded. Pure."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ..board.sprint import Row
from ..core.actions import choose
from ..core.records import RunRecord, StepRecord, StoryRecord
from ..core.statuses import DONE, IN_PROGRESS, PARKED, UNKNOWN, Kind
from ..workflows.pipelines import Step, Workflow, round_steps, steps_left
from .lane import Lane

BLOCKED = "blocked"
CHECKS = "checks"


class Position(NamedTuple):
    step: Step | None  # None: through all of them
    record: StepRecord | None  # of the step, where it was begun
    final: bool = False  # with it the story is done
    through: bool = False  # by its row: it says what the workflow's last step sets


def position(workflow: Workflow, story: StoryRecord, meaning: str) -> Position:
    """The step a story is at. `meaning`: what its row says, which counts where this run has nothing to add."""
    if story.skipped:
        return Position(None, None)
    steps = _steps(workflow, story, meaning)
    current = story.current
    if current is not None and current.cause == CHECKS:
        return Position(workflow.fix, current)
    if current is not None:
        step = next((step for step in (*workflow.steps, workflow.fix) if step.name == current.step), None)
        return Position(step, current, bool(steps) and step == steps[-1])
    if story.finished:
        return Position(None, None)
    names = [step.name for step in steps]
    begin = names.index(story.passed[-1]) + 1 if story.passed and story.passed[-1] in names else 0
    left = steps[begin:]
    through = not steps and workflow.steps[-1].after == meaning
    return Position(left[0], None, len(left) == 1) if left else Position(None, None, through=through)


def _steps(workflow: Workflow, story: StoryRecord, meaning: str) -> tuple[Step, ...]:
    if story.entered_by == "round":
        return round_steps(workflow)
    return workflow.steps if story.passed or story.current else steps_left(workflow, meaning)


def tidy_label(run: RunRecord, at: Position) -> str:
    """What the commit is called that tidies up before the next call of this step."""
    record = at.record
    return f"tidy-{run.steps + 1}-0" if record is None else f"tidy-{record.number}-{len(record.calls)}"


def wanted(story: StoryRecord, at: Position, finding: str) -> str:
    """What the story's row should say at this point."""
    if story.skipped:
        return BLOCKED
    if story.finished:
        return DONE
    if at.step is None or (at.record is not None and at.record.cause == CHECKS):
        return story.expected
    if finding == "good":
        return DONE if at.final else at.step.after or story.expected
    if finding == "changes":
        return IN_PROGRESS
    return at.step.before or story.expected


def is_over(story: StoryRecord | None, meaning: str) -> bool:
    """The lane has nothing more to do for this story."""
    if story is None:
        return meaning in (DONE, PARKED, UNKNOWN)
    if story.gone and not meaning:
        return True
    if story.finished:
        return "done" in story.commits and meaning == DONE
    if story.skipped:
        return meaning == PARKED and "skipped" in story.commits
    return not story.current and story.expected == meaning and meaning in (DONE, PARKED, UNKNOWN)


def stories_of(lane: Lane, rows: Mapping[str, Row]) -> list[Row]:
    """The lane's stories on the board, in natural order."""
    if lane.scope != "epic":
        return [rows[lane.key]] if lane.key in rows else []
    own = [row for row in rows.values() if row.kind is Kind.STORY and row.epic == lane.epic]
    return sorted(own, key=lambda row: row.order)


def statuses_of(lane: Lane, rows: Mapping[str, Row]) -> dict[str, str]:
    """The stories of the lane's epic with their statuses, as they are written."""
    own = (row for row in rows.values() if row.kind is Kind.STORY and row.epic == lane.epic)
    return {row.key: row.status.raw for row in own}


def active(lane: Lane, run: RunRecord, rows: Mapping[str, Row]) -> str | None:
    """The story in hand, also where it has left the board; else the next one in BMAD's priority."""
    epic = epic_row(lane, rows.values())
    apart = epic.key if epic else ""  # a retrospective's, kept as if it were a story's
    begun = [key for key in reversed(run.stories) if key != apart and _is_begun(run.stories[key], rows)]
    if begun:
        # Another that comes back to the board meanwhile waits: one agent at a time.
        return next((key for key in begun if run.stories[key].is_called), begun[0])
    fresh = [(row.key, row.meaning) for row in stories_of(lane, rows) if not _was_over(run, row)]
    action = choose(fresh)
    return action.story_id if action else None


def _is_begun(story: StoryRecord, rows: Mapping[str, Row]) -> bool:
    return not is_over(story, rows[story.key].meaning if story.key in rows else "")


def _was_over(run: RunRecord, row: Row) -> bool:
    story = run.stories.get(row.key)
    return story is not None and is_over(story, row.meaning)


def epic_row(lane: Lane, rows: Iterable[Row]) -> Row | None:
    return next((row for row in rows if row.kind is Kind.EPIC and row.number == lane.epic), None)
