"""Observes a flow: its current step, the pending update of its state file, and decisions for a person."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from ...core.answers import AnswerMeaning
from ...core.errors import FileError
from ...core.facts import (
    BoardFact,
    CallFact,
    CommitFact,
    DecisionFact,
    EpicFact,
    Facts,
    QuestionFact,
    StepFact,
    TargetFact,
)
from ...core.flow_state import CompletedStep, FlowState, LastSession, RetryEntry
from ...core.run_record import CallRecord, Data, RunRecord, StepRecord, StoryRecord
from ...core.text import one_line
from ...runs.flow_state_reader import normalise_flow_state
from ...workflows.flow_position import read_flow_record
from ...workflows.workflow import Step
from ...workflows.workflow import Step as FlowStep
from ..lane import Lane
from ..observation import (
    StoryPosition,
    UnreadableFile,
    call_id,
    call_status,
    has_budget,
    has_tries_left,
    rest_status,
)
from ..ports import Ports
from .model import (
    FAILURES,
    FlowObservation,
    FlowSnapshot,
    FlowStore,
    StateUpdate,
    count_failures,
    flow_position,
    index_of,
    is_our_blocker,
    part_of,
    title_of,
)

# The state file's content, from its current content and the run's record. Pure; perform.py writes it whenever it
# differs.

MAX_CELL = 200
FOUND = "found in the folder"
DONE = "done"
_STOPS = ("failed", "hopeless", "flow-failed")  # questions that mark a step as failed
_ABOUT_FLOW = ("gate", "boundary", "optional", "human-checkpoint", "settings", "budget")


def is_up_to_date(state: FlowState | None, update: StateUpdate) -> bool:
    """The last session is ignored: it is written along with other changes."""
    return (
        state is not None
        and not update.recorded
        and _compared(state) == _compared(normalise_flow_state(update.state))
    )


def _compared(state: FlowState) -> FlowState:
    return state._replace(last=LastSession(), diagnostics=())


def state_says_failed(steps: Sequence[Step], state: FlowState | None, step: Step) -> bool:
    return state is not None and state.status == "failed" and is_at(steps, state, step)


def is_at(steps: Sequence[Step], state: FlowState, step: Step) -> bool:
    """The state file's current step is this one, by number or name."""
    return read_flow_record(steps, state).current == steps.index(step)


def state_update(
    store: FlowStore,
    now: float,
    lane: Lane,
    run: RunRecord,
    story: StoryRecord,
    at: StoryPosition,
    snapshot: FlowSnapshot,
) -> StateUpdate:
    today = time.strftime("%Y-%m-%d", time.localtime(now))
    before = snapshot.state or FlowState()
    new = list(_unrecorded(run, story, lane.workflow.steps))
    listed = {
        (row.step, row.outcome)
        for row in read_flow_record(lane.workflow.steps, normalise_flow_state(before)).rows.values()
    }
    # After a kill between the write and its journal entry the row exists already.
    rows = [row for _, row, _ in new if row and (row.step, row.outcome) not in listed]
    found = _found_rows(lane.workflow.steps, snapshot, at, {row.step for row in rows})
    rows = sorted((*found, *rows), key=lambda row: int(row.step))
    completed = (*before.completed, *(row._replace(completed=today) for row in rows))
    state = before._replace(
        flow=lane.key,
        completed=completed,
        decisions=_append_new(before.decisions, (said for _, _, decided in new for said in decided)),
    )
    state = _current(store, now, lane, run, state, at)
    return StateUpdate(state, tuple(name for name, _, _ in new))


def _append_new(known: tuple[str, ...], new: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *new)))


def clip_line(text: object, limit: int = MAX_CELL) -> str:
    return one_line(str(text), limit)


# completed steps and decisions


def _found_rows(
    steps: Sequence[Step], snapshot: FlowSnapshot, at: StoryPosition, new: set[str]
) -> Iterator[CompletedStep]:
    """Steps before the current one: output of the current and later steps may be incomplete."""
    position = snapshot.position
    outcomes = (
        dict.fromkeys(position.found, FOUND)
        | dict.fromkeys(position.passed, "passed: what comes after it is there")
        | dict.fromkeys(position.not_applicable, "skipped: nothing here needs it")
    )
    for index, outcome in sorted(outcomes.items()):
        number = str(part_of(steps[index]).number)
        if (at.step is None or index < steps.index(at.step)) and number not in new:
            yield CompletedStep(number, title_of(steps[index]), "", outcome)


def _unrecorded(
    run: RunRecord, story: StoryRecord, steps: Sequence[Step]
) -> Iterator[tuple[str, CompletedStep | None, tuple[str, ...]]]:
    """Entry name, row among the completed steps, and decisions."""
    for record in story.steps:
        name, index = f"step:{record.number}", index_of(steps, record.step)
        if record.accepted and name not in run.recorded and index is not None:
            ended = record.last_call.outcome if record.last_call and record.last_call.outcome else {}
            yield name, _row(steps[index], _outcome(ended)), _decisions(ended)
    for number, done in enumerate(run.implemented, 1):
        name, index = f"tasks:{number}", index_of(steps, str(done["step"]))
        if name not in run.recorded and index is not None:
            yield name, _row(steps[index], clip_line(done["outcome"])), ()
    for answer in run.answers:
        name = str(answer.get("question", ""))
        if name not in run.recorded:
            yield name, _answer_row(answer, steps), _answer_decision(answer)


def _row(step: Step, outcome: str) -> CompletedStep:
    return CompletedStep(str(part_of(step).number), title_of(step), "", outcome)


def _outcome(ended: Data) -> str:
    """The first line of its output that is more than a heading."""
    said = str(ended.get("output") or ended.get("closing") or "")
    lines = [line.strip(" #*") for line in said.splitlines() if line.strip(" #*-=")]
    return clip_line(next((line for line in lines if len(line) > 20), lines[0] if lines else "done"))


def _decisions(ended: Data) -> tuple[str, ...]:
    said = (ended.get("variables") or {}).get("decisions")
    return tuple(clip_line(one) for one in said if str(one).strip())[:20] if isinstance(said, list) else ()


def _answer_row(answer: Data, steps: Sequence[Step]) -> CompletedStep | None:
    """The row of a step that an answer skipped or accepted as it is."""
    index = index_of(steps, str(answer.get("step", "")))
    if index is None:
        return None
    means, code = answer.get("means"), answer.get("code")
    if means is AnswerMeaning.SKIP or (code == "optional" and means is AnswerMeaning.PASS_OVER):
        return _row(steps[index], f"skipped by {_who(answer)}")
    if code == "gate" and means is AnswerMeaning.CONTINUE and not answer.get("number"):
        return _row(steps[index], f"{FOUND}, and taken as it is")
    return None


def _who(answer: Data) -> str:
    return "the settings" if answer.get("by") in ("policy", "standing") else "a person"


def _answer_decision(answer: Data) -> tuple[str, ...]:
    if answer.get("code") not in ("agent", "gate", "optional") or not answer.get("text"):
        return ()
    return (clip_line(f"{answer['text']} — {answer.get('answer', '')}"),)


# the current step


def _current(
    store: FlowStore, now: float, lane: Lane, run: RunRecord, state: FlowState, at: StoryPosition
) -> FlowState:
    step, record = at.step, at.record
    others = tuple(one for one in state.blockers if not is_our_blocker(one, lane.workflow.steps))
    if step is None:
        over = state._replace(step=DONE, name=DONE, status="completed", sub_step="", retry_count=0)
        return over._replace(retries=(), blockers=others)
    number = str(part_of(step).number)
    is_same = is_at(lane.workflow.steps, state, step)
    calls = record.calls if record is not None else []
    if is_same and not calls and not _is_retry_granted(run, step):  # written by an earlier run or by a person
        status = state.status if state.status in ("in_progress", "failed") else "not_started"
        status = "in_progress" if run.implementing == step.name else status
        return state._replace(step=number, name=title_of(step), status=status)
    failed = _has_failed(run, record)
    retries = tuple(row for row in state.retries if _still_counts(row, number, record)) if is_same else ()
    state = state._replace(
        step=number,
        name=title_of(step),
        status="failed" if failed else "in_progress" if calls else "not_started",
        sub_step=_substep(store, record, state if is_same else FlowState()),
        retry_count=count_failures(record),
        retries=(*retries, *_retries(store, now, step, record, retries)),
    )
    return state._replace(blockers=(*others, *_blockers(run, step, record, failed)))


def _still_counts(row: RetryEntry, number: str, record: StepRecord | None) -> bool:
    """A retry of this step, not forgiven by a granted retry."""
    forgiven = record.uncounted_calls if record else 0
    return row.step == number and not (row.attempt.isdigit() and int(row.attempt) <= forgiven)


def _is_retry_granted(run: RunRecord, step: Step) -> bool:
    """In this run a person granted a retry of the failed step."""
    stage = f"failed-{part_of(step).number}-"
    return any(one.startswith(stage) for one in run.passed_checkpoints)


def _has_failed(run: RunRecord, record: StepRecord | None) -> bool:
    asked = run.question
    if asked is None or asked.get("code") not in _STOPS:
        return False
    return record is None or asked.get("number") == record.number


def _substep(store: FlowStore, record: StepRecord | None, state: FlowState) -> str:
    if record is None or record.last_call is None:
        return state.sub_step
    return clip_line(store.substep(call_id(record, record.last_call))) or state.sub_step


def _retries(
    store: FlowStore, now: float, step: Step, record: StepRecord | None, known: tuple[RetryEntry, ...]
) -> Iterator[RetryEntry]:
    """A row for each failed call without one; attempt numbers continue after a granted retry."""
    at = time.strftime("%Y-%m-%d %H:%M", time.localtime(now))
    listed = {row.attempt for row in known}
    for call in record.calls[record.uncounted_calls :] if record else ():
        if call.finding in FAILURES and str(call.attempt) not in listed:
            where = clip_line(store.substep(call_id(record, call))) if record else ""
            yield RetryEntry(
                str(call.attempt), str(part_of(step).number), title_of(step), where, _reason(call), at
            )


def _reason(call: CallRecord) -> str:
    ended = call.outcome or {}
    return clip_line(ended.get("message") or ended.get("outcome") or "failed")


def _blockers(run: RunRecord, step: Step, record: StepRecord | None, failed: bool) -> Iterator[str]:
    number = part_of(step).number
    if failed and record is not None and record.last_call is not None:
        times = f"{count_failures(record)} times" if count_failures(record) > 1 else "once"
        yield clip_line(f"Step {number} {title_of(step)}: failed {times}: {_reason(record.last_call)}")
    elif run.question is not None and run.question.get("code") not in _ABOUT_FLOW:
        yield clip_line(f"Step {number} {title_of(step)}: waits for an answer: {run.question.get('text', '')}")


def observe_flow(
    ports: Ports, store: FlowStore, lane: Lane, run: RunRecord, facts: Facts
) -> FlowObservation | UnreadableFile:
    story = run.stories.get(lane.key) or StoryRecord(lane.key)
    current_call = call_status(ports, story.current)
    try:
        snapshot = store.read()
    except FileError as error:
        facts = facts._replace(board=BoardFact.UNREADABLE, call=current_call)
        return UnreadableFile(facts, problem=error, step=story.current)
    is_called = current_call in (CallFact.RUNNING, CallFact.ENDED)
    at = flow_position(lane.workflow.steps, story, snapshot.position, is_called=is_called)
    call = current_call if at.record is not None and at.record is story.current else CallFact.NONE
    update = state_update(store, ports.clock.now(), lane, run, story, at, snapshot)
    target = TargetFact.FINISHED if at.step is None else TargetFact.STORY
    facts = facts._replace(
        epic=EpicFact.UNLISTED, target=target, call=call, kept=is_up_to_date(snapshot.state, update)
    )
    observation = FlowObservation(facts, story=story, position=at, store=store, snapshot=snapshot, update=update)
    if is_called or facts.question is not QuestionFact.NONE or facts.stop:
        return observation
    commit = CommitFact.STEP if next_commit(run, story) and store.can_commit() else CommitFact.NONE
    observation = replace(observation, facts=facts._replace(commit=commit))
    return observation if at.step is None else _before_call(ports, lane, run, observation, at.step)


def _before_call(
    ports: Ports, lane: Lane, run: RunRecord, observation: FlowObservation, step: FlowStep
) -> FlowObservation:
    decision, stage = _decision(lane, run, observation, step)
    facts = observation.facts._replace(decision=decision)
    if part_of(step).tasks:
        return replace(observation, facts=facts._replace(step=StepFact.TASKS), stage=stage)
    rest, until = rest_status(ports, step, observation.position.record)
    facts = facts._replace(
        step=StepFact.WORK,
        rest=rest,
        tries=_may_try(observation.position.record, step),
        budget=has_budget(ports, lane, run),
    )
    return replace(observation, facts=facts, until=until, stage=stage)


def _may_try(record: StepRecord | None, step: FlowStep) -> bool:
    """At most `tries` failed calls, whatever the cause; a rate limit is waited for instead."""
    last = record.last_call if record else None
    if last is not None and last.finding in FAILURES:
        return count_failures(record) < part_of(step).tries
    return has_tries_left(record)


def _decision(
    lane: Lane, run: RunRecord, observation: FlowObservation, step: FlowStep
) -> tuple[DecisionFact, str]:
    """The due decision, and the stage name that marks it as taken."""
    part, record, call = part_of(step), observation.record, observation.facts.call
    if observation.story.repeat_step:  # a person has just decided
        return DecisionFact.NONE, ""
    begun = record is not None and bool(record.calls)
    for decision, due in (
        (
            DecisionFact.FAILED,
            not begun and state_says_failed(lane.workflow.steps, observation.snapshot.state, step),
        ),
        (DecisionFact.BOUNDARY, not begun and _ends_session(lane, observation.story, step)),
        (DecisionFact.GATE, _is_at_gate(observation.snapshot, begun, call, lane, step)),
        (DecisionFact.OPTIONAL, not begun and part.optional),
    ):
        stage = f"{decision}-{part.number}-{_decision_turn(observation.story, record, decision)}"
        if due and f"{stage}:{lane.key}" not in run.passed_checkpoints:
            return decision, stage
    return DecisionFact.NONE, ""


def _decision_turn(story: StoryRecord, record: StepRecord | None, decision: DecisionFact) -> int:
    """Distinguishes repetitions: new output needs a new decision."""
    if decision is DecisionFact.GATE:
        return record.number if record else 0
    return story.steps[-1].number if decision is DecisionFact.BOUNDARY and story.steps else 0


def _ends_session(lane: Lane, story: StoryRecord, step: FlowStep) -> bool:
    """The previous step ends a session and was completed in this run."""
    steps = lane.workflow.steps
    before = steps[steps.index(step) - 1] if step in steps[1:] else None
    if before is None or not part_of(before).boundary:
        return False
    return any(one.accepted and one.step == before.name for one in story.steps)


def _is_at_gate(snapshot: FlowSnapshot, begun: bool, call: CallFact, lane: Lane, step: FlowStep) -> bool:
    if part_of(step).gate is None:
        return False
    here = snapshot.position.at_gate and snapshot.position.index == index_of(lane.workflow.steps, step.name)
    return here and (call is CallFact.SUCCEEDED or not begun)


def next_commit(run: RunRecord, story: StoryRecord) -> StepRecord | None:
    """The first completed step that is recorded in the state file but not committed."""
    done = (one for one in story.steps if one.accepted and f"step:{one.number}" in run.recorded)
    return next((one for one in done if commit_label(one) not in story.commits), None)


def commit_label(record: StepRecord) -> str:
    return f"step-{record.number}"
