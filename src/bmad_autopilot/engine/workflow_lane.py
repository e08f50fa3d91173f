"""How things stand with a workflow's own file of steps: no board, no gate, no commit; one step after another."""

from ..core.facts import Call, Epic, Facts, Question, Step, Target
from ..core.records import RunRecord, StoryRecord
from ..workflows.pipelines import Workflow
from .doors import Doors
from .lane import Lane
from .looking import Look, call_of, has_budget, rest_of
from .position import Position
from .trying import tries_left


def observe_workflow(doors: Doors, lane: Lane, run: RunRecord, facts: Facts) -> Look:
    """Nothing is recorded before the first step: there is no row to begin from."""
    story = run.stories.get(lane.key) or StoryRecord(lane.key)
    at = _position(lane.workflow, run, story)
    call = call_of(doors, at.record)
    target = Target.OVER if at.step is None else Target.STORY
    look = Look(facts._replace(epic=Epic.UNLISTED, target=target, call=call), story=story, at=at)
    if call in (Call.RUNNING, Call.ENDED) or facts.question is not Question.NONE or facts.stop or at.step is None:
        return look
    rest, until = rest_of(doors, at.step, at.record)
    facts = look.facts._replace(
        step=Step.WORK, rest=rest, tries=tries_left(at.record), budget=has_budget(doors, lane, run)
    )
    return look._replace(facts=facts, until=until)


def skipped_steps(run: RunRecord, story: StoryRecord) -> set[str]:
    left_out = {one.get("number") for one in run.answers if one.get("means") == "skip"}
    return {step.step for step in story.steps if step.number in left_out}


def _position(workflow: Workflow, run: RunRecord, story: StoryRecord) -> Position:
    """The first step that is neither done nor left out by somebody. One that was handed over is called again: what
    they have left is there to be found."""
    over = {step.step for step in story.steps if step.accepted} | skipped_steps(run, story)
    left = [step for step in workflow.steps if step.name not in over]
    if not left:
        return Position(None, None)
    current = story.current if story.current and story.current.step == left[0].name else None
    return Position(left[0], current, len(left) == 1)
