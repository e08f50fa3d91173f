"""How things stand with a flow: the step in hand, what its state file lacks, and what only a person can decide."""

from ...core.errors import FileError
from ...core.facts import Board, Call, Commit, Decision, Epic, Facts, Question, Step, Target
from ...core.records import RunRecord, StepRecord, StoryRecord
from ...workflows.pipelines import Step as FlowStep
from ..doors import Doors
from ..lane import Lane
from ..looking import Look, call_of, has_budget, rest_of
from ..position import Position
from ..trying import tries_left
from .position import FAILURES, failures, flow_position, index_of, part_of
from .sight import FlowLook, Sight
from .state import is_kept, state_says_failed, wanted_state


def observe_flow(doors: Doors, lane: Lane, run: RunRecord, facts: Facts) -> Look:
    story = run.stories.get(lane.key) or StoryRecord(lane.key)
    in_hand = call_of(doors, story.current)
    try:
        sight = doors.flow().look()
    except FileError as error:
        at = Position(None, story.current)
        return Look(facts._replace(board=Board.UNREADABLE, call=in_hand), story=story, at=at, problem=error)
    is_called = in_hand in (Call.RUNNING, Call.ENDED)
    at = flow_position(lane.workflow.steps, story, sight.place, is_called=is_called)
    call = in_hand if at.record is not None and at.record is story.current else Call.NONE
    wanted = wanted_state(doors, lane, run, story, at, sight)
    target = Target.OVER if at.step is None else Target.STORY
    facts = facts._replace(epic=Epic.UNLISTED, target=target, call=call, kept=is_kept(sight.state, wanted))
    look = Look(facts, story=story, at=at, flow=FlowLook(sight, wanted))
    if is_called or facts.question is not Question.NONE or facts.stop:
        return look
    commit = Commit.STEP if to_commit(run, story) and doors.flow().can_commit() else Commit.NONE
    look = look._replace(facts=facts._replace(commit=commit))
    return look if at.step is None else _before_call(doors, lane, run, look, at.step)


def _before_call(doors: Doors, lane: Lane, run: RunRecord, look: Look, step: FlowStep) -> Look:
    decision, stage = _decision(lane, run, look, step)
    facts = look.facts._replace(decision=decision)
    if part_of(step).tasks:
        return look._replace(facts=facts._replace(step=Step.TASKS), stage=stage)
    rest, until = rest_of(doors, step, look.at.record)
    facts = facts._replace(
        step=Step.WORK, rest=rest, tries=_may_try(look.at.record, step), budget=has_budget(doors, lane, run)
    )
    return look._replace(facts=facts, until=until, stage=stage)


def _may_try(record: StepRecord | None, step: FlowStep) -> bool:
    """Whatever made them fail, so many calls and no more; a limit is waited for."""
    last = record.last if record else None
    if last is not None and last.finding in FAILURES:
        return failures(record) < part_of(step).tries
    return tries_left(record)


def _decision(lane: Lane, run: RunRecord, look: Look, step: FlowStep) -> tuple[Decision, str]:
    """And under which word it counts as taken."""
    part, record, call = part_of(step), look.at.record, look.facts.call
    assert look.flow is not None
    if look.story is not None and look.story.repeat:  # somebody has just decided
        return Decision.NONE, ""
    begun = record is not None and bool(record.calls)
    for decision, due in (
        (Decision.FAILED, not begun and state_says_failed(lane.workflow.steps, look.flow.sight.state, step)),
        (Decision.BOUNDARY, not begun and _ends_session(lane, look.story, step)),
        (Decision.GATE, _is_at_gate(look.flow.sight, begun, call, lane, step)),
        (Decision.OPTIONAL, not begun and part.optional),
    ):
        stage = f"{decision}-{part.number}-{_turn(look.story, record, decision)}"
        if due and f"{stage}:{lane.key}" not in run.cleared:
            return decision, stage
    return Decision.NONE, ""


def _turn(story: StoryRecord | None, record: StepRecord | None, decision: Decision) -> int:
    """What is left once more is decided about once more."""
    if decision is Decision.GATE:
        return record.number if record else 0
    return story.steps[-1].number if decision is Decision.BOUNDARY and story and story.steps else 0


def _ends_session(lane: Lane, story: StoryRecord | None, step: FlowStep) -> bool:
    """The step before it was completed in this very run, and a session ends there."""
    steps = lane.workflow.steps
    before = steps[steps.index(step) - 1] if step in steps[1:] else None
    if before is None or not part_of(before).boundary or story is None:
        return False
    return any(one.accepted and one.step == before.name for one in story.steps)


def _is_at_gate(sight: Sight, begun: bool, call: Call, lane: Lane, step: FlowStep) -> bool:
    if part_of(step).gate is None:
        return False
    here = sight.place.at_gate and sight.place.index == index_of(lane.workflow.steps, step.name)
    return here and (call is Call.GOOD or not begun)


def to_commit(run: RunRecord, story: StoryRecord) -> StepRecord | None:
    """The first completed step whose work is in the state file and in no commit yet."""
    done = (one for one in story.steps if one.accepted and f"step:{one.number}" in run.recorded)
    return next((one for one in done if commit_label(one) not in story.commits), None)


def commit_label(record: StepRecord) -> str:
    return f"step-{record.number}"
