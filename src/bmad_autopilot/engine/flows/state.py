"""What a flow's state file should say, from what it says and what this run has recorded. Pure: written by
keeping.py, and again whenever it does not say so."""

import time
from collections.abc import Iterator, Sequence

from ...core.flow_state import Completed, FlowState, LastSession, Retry
from ...core.records import CallRecord, Data, RunRecord, StepRecord, StoryRecord
from ...runs.flow_state import plain
from ...workflows.flow_record import record_of
from ...workflows.pipelines import Step
from ..doors import Doors
from ..lane import Lane
from ..looking import call_id
from ..position import Position
from .position import FAILURES, failures, index_of, is_ours, part_of, title_of
from .sight import Sight, Wanted

MAX_CELL = 200
FOUND = "found in the folder"
DONE = "done"
_STOPS = ("failed", "hopeless", "flow-failed")  # questions after which a step counts as failed
_ABOUT_FLOW = ("gate", "boundary", "optional", "human-checkpoint", "settings", "budget")


def is_kept(state: FlowState | None, wanted: Wanted) -> bool:
    """The last session is told with whatever else changes."""
    return state is not None and not wanted.recorded and _compared(state) == _compared(plain(wanted.state))


def _compared(state: FlowState) -> FlowState:
    return state._replace(last=LastSession(), diagnostics=())


def state_says_failed(steps: Sequence[Step], state: FlowState | None, step: Step) -> bool:
    return state is not None and state.status == "failed" and is_at(steps, state, step)


def is_at(steps: Sequence[Step], state: FlowState, step: Step) -> bool:
    """The state file stands at this step, by its number or by its name."""
    return record_of(steps, state).current == steps.index(step)


def wanted_state(
    doors: Doors, lane: Lane, run: RunRecord, story: StoryRecord, at: Position, sight: Sight
) -> Wanted:
    today = time.strftime("%Y-%m-%d", time.localtime(doors.now()))
    before = sight.state or FlowState()
    new = list(_unrecorded(run, story, lane.workflow.steps))
    listed = {(row.step, row.outcome) for row in record_of(lane.workflow.steps, plain(before)).rows.values()}
    # Killed after it was written and before that was noted: it is there, and is not written again.
    rows = [row for _, row, _ in new if row and (row.step, row.outcome) not in listed]
    found = _found(lane.workflow.steps, sight, at, {row.step for row in rows})
    rows = sorted((*found, *rows), key=lambda row: int(row.step))
    completed = (*before.completed, *(row._replace(completed=today) for row in rows))
    state = before._replace(
        flow=lane.key,
        completed=completed,
        decisions=_with(before.decisions, (said for _, _, decided in new for said in decided)),
    )
    state = _current(doors, lane, run, state, at)
    return Wanted(state, tuple(name for name, _, _ in new))


def _with(known: tuple[str, ...], new: Iterator[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*known, *new)))


def one_line(text: object, limit: int = MAX_CELL) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


# what has happened


def _found(steps: Sequence[Step], sight: Sight, at: Position, new: set[str]) -> Iterator[Completed]:
    """Before the step in hand: of that and of what comes after it an agent may have written half."""
    place = sight.place
    outcomes = (
        dict.fromkeys(place.found, FOUND)
        | dict.fromkeys(place.passed, "passed: what comes after it is there")
        | dict.fromkeys(place.left_out, "skipped: nothing here needs it")
    )
    for index, outcome in sorted(outcomes.items()):
        number = str(part_of(steps[index]).number)
        if (at.step is None or index < steps.index(at.step)) and number not in new:
            yield Completed(number, title_of(steps[index]), "", outcome)


def _unrecorded(
    run: RunRecord, story: StoryRecord, steps: Sequence[Step]
) -> Iterator[tuple[str, Completed | None, tuple[str, ...]]]:
    """Its name, its row among the completed steps, what was decided with it."""
    for record in story.steps:
        name, index = f"step:{record.number}", index_of(steps, record.step)
        if record.accepted and name not in run.recorded and index is not None:
            ended = record.last.ended if record.last and record.last.ended else {}
            yield name, _row(steps[index], _outcome(ended)), _decisions(ended)
    for number, done in enumerate(run.implemented, 1):
        name, index = f"tasks:{number}", index_of(steps, str(done["step"]))
        if name not in run.recorded and index is not None:
            yield name, _row(steps[index], one_line(done["outcome"])), ()
    for answer in run.answers:
        name = str(answer.get("question", ""))
        if name not in run.recorded:
            yield name, _settled(answer, steps), _decided(answer)


def _row(step: Step, outcome: str) -> Completed:
    return Completed(str(part_of(step).number), title_of(step), "", outcome)


def _outcome(ended: Data) -> str:
    """The first line of what it left that is more than a heading."""
    said = str(ended.get("output") or ended.get("closing") or "")
    lines = [line.strip(" #*") for line in said.splitlines() if line.strip(" #*-=")]
    return one_line(next((line for line in lines if len(line) > 20), lines[0] if lines else "done"))


def _decisions(ended: Data) -> tuple[str, ...]:
    said = (ended.get("variables") or {}).get("decisions")
    return tuple(one_line(one) for one in said if str(one).strip())[:20] if isinstance(said, list) else ()


def _settled(answer: Data, steps: Sequence[Step]) -> Completed | None:
    """A step that a person has left out, or found good as it is."""
    index = index_of(steps, str(answer.get("step", "")))
    if index is None:
        return None
    means, code = answer.get("means"), answer.get("code")
    if means == "skip" or (code == "optional" and means == "pass-over"):
        return _row(steps[index], f"skipped by {_who(answer)}")
    if code == "gate" and means == "go-on" and not answer.get("number"):
        return _row(steps[index], f"{FOUND}, and taken as it is")
    return None


def _who(answer: Data) -> str:
    return "the settings" if answer.get("by") in ("policy", "standing") else "a person"


def _decided(answer: Data) -> tuple[str, ...]:
    if answer.get("code") not in ("agent", "gate", "optional") or not answer.get("text"):
        return ()
    return (one_line(f"{answer['text']} — {answer.get('answer', '')}"),)


# where it stands


def _current(doors: Doors, lane: Lane, run: RunRecord, state: FlowState, at: Position) -> FlowState:
    step, record = at.step, at.record
    others = tuple(one for one in state.blockers if not is_ours(one, lane.workflow.steps))
    if step is None:
        over = state._replace(step=DONE, name=DONE, status="completed", sub_step="", retry_count=0)
        return over._replace(retries=(), blockers=others)
    number = str(part_of(step).number)
    is_same = is_at(lane.workflow.steps, state, step)
    calls = record.calls if record is not None else []
    if is_same and not calls and not _is_forgiven(run, step):  # of a run that is gone, or of somebody's own hand
        status = state.status if state.status in ("in_progress", "failed") else "not_started"
        status = "in_progress" if run.implementing == step.name else status
        return state._replace(step=number, name=title_of(step), status=status)
    failed = _has_failed(run, record)
    retries = tuple(row for row in state.retries if _counts(row, number, record)) if is_same else ()
    state = state._replace(
        step=number,
        name=title_of(step),
        status="failed" if failed else "in_progress" if calls else "not_started",
        sub_step=_substep(doors, record, state if is_same else FlowState()),
        retry_count=failures(record),
        retries=(*retries, *_retries(doors, step, record, retries)),
    )
    return state._replace(blockers=(*others, *_blockers(run, step, record, failed)))


def _counts(row: Retry, number: str, record: StepRecord | None) -> bool:
    """Of this step, and of nothing that somebody has said to forget."""
    forgiven = record.forgiven if record else 0
    return row.step == number and not (row.attempt.isdigit() and int(row.attempt) <= forgiven)


def _is_forgiven(run: RunRecord, step: Step) -> bool:
    """Somebody has said, in this run, to try a failed step again."""
    stage = f"failed-{part_of(step).number}-"
    return any(one.startswith(stage) for one in run.cleared)


def _has_failed(run: RunRecord, record: StepRecord | None) -> bool:
    asked = run.question
    if asked is None or asked.get("code") not in _STOPS:
        return False
    return record is None or asked.get("number") == record.number


def _substep(doors: Doors, record: StepRecord | None, state: FlowState) -> str:
    if record is None or record.last is None:
        return state.sub_step
    return one_line(doors.flow().substep(call_id(record, record.last))) or state.sub_step


def _retries(doors: Doors, step: Step, record: StepRecord | None, known: tuple[Retry, ...]) -> Iterator[Retry]:
    """A row for each call that failed and has none; they count on where somebody has said to try again."""
    now = time.strftime("%Y-%m-%d %H:%M", time.localtime(doors.now()))
    listed = {row.attempt for row in known}
    for call in record.calls[record.forgiven :] if record else ():
        if call.finding in FAILURES and str(call.attempt) not in listed:
            where = one_line(doors.flow().substep(call_id(record, call))) if record else ""
            yield Retry(str(call.attempt), str(part_of(step).number), title_of(step), where, _reason(call), now)


def _reason(call: CallRecord) -> str:
    ended = call.ended or {}
    return one_line(ended.get("message") or ended.get("outcome") or "failed")


def _blockers(run: RunRecord, step: Step, record: StepRecord | None, failed: bool) -> Iterator[str]:
    number = part_of(step).number
    if failed and record is not None and record.last is not None:
        times = f"{failures(record)} times" if failures(record) > 1 else "once"
        yield one_line(f"Step {number} {title_of(step)}: failed {times}: {_reason(record.last)}")
    elif run.question is not None and run.question.get("code") not in _ABOUT_FLOW:
        yield one_line(f"Step {number} {title_of(step)}: waits for an answer: {run.question.get('text', '')}")
