"""The effects of a flow: write its state file, commit a step's output, start its tasks."""

import time

from ...core.flow_state import FlowState, LastSession
from ...core.run_ending import RunEnding
from ...core.run_record import StepRecord, StoryRecord
from ...workflows.workflow import Step
from ..commits import run_id
from ..observation import Loop, call_id
from ..ports import CommitOrder
from .model import FlowObservation
from .observe import commit_label

BOUNDARY = "session boundary"


def write_state(loop: Loop, observation: FlowObservation) -> None:
    update = observation.update
    state = with_session(update.state, loop.ports.clock.now(), "completed step", "")
    observation.store.write(state)
    loop.note("state", step=state.step, name=state.name, status=state.status, recorded=list(update.recorded))


def with_session(state: FlowState, now: float, reason: str, notes: str) -> FlowState:
    """Record the last session as if it ended here: a kill would leave no chance to do so."""
    where = f"Step {state.step} {state.name}" if state.step != "done" else "Done"
    where += f" — SubStep {state.sub_step}" if state.sub_step else ""
    date = time.strftime("%Y-%m-%d", time.localtime(now))
    return state._replace(last=LastSession(date, where, reason, notes))


def step_commit(loop: Loop, story: StoryRecord, record: StepRecord) -> CommitOrder:
    ended = record.last_call.outcome if record.last_call and record.last_call.outcome else {}
    return CommitOrder(
        f"{run_id(loop.run)}/{record.number:02}-{record.step}/{len(record.calls)}",
        commit_label(record),
        story.key,
        f"{loop.lane.key}: {record.step}",
        str(ended.get("summary", "")),
        calls=tuple(call_id(one, call) for one in _uncommitted_rounds(story, record) for call in one.calls),
    )


def _uncommitted_rounds(story: StoryRecord, record: StepRecord) -> list[StepRecord]:
    """This record, and earlier rounds of the same step that are not committed."""
    before = [one for one in story.steps if one.number <= record.number and one.step == record.step]
    return [one for one in before if commit_label(one) not in story.commits]


def start_tasks(loop: Loop, observation: FlowObservation, step: Step) -> RunEnding:
    """End the loop; the flow runner then runs the tasks in their own lanes, on their own board."""
    loop.note("implementing", step=step.name)
    under_way = observation.update.state._replace(status="in_progress")
    observation.store.write(with_session(under_way, loop.ports.clock.now(), "completed step", ""))
    loop.note("waiting")
    return RunEnding.TASKS
