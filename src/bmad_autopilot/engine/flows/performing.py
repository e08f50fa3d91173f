"""The effects of a flow: its state file, the commit of what a step has left, and handing over to its tasks."""

import time

from ...core.flow_state import FlowState, LastSession
from ...core.records import StepRecord, StoryRecord
from ...core.rules import Rule
from ..committing import run_id
from ..doors import CommitOrder
from ..looking import Look, call_id
from ..loop_state import Loop
from .observing import commit_label, to_commit

TASKS = "tasks"  # how a loop ends that has come to tasks
BOUNDARY = "session boundary"


def keep_state(loop: Loop, look: Look, rule: Rule) -> None:
    assert look.flow is not None
    wanted = look.flow.wanted
    state = with_session(wanted.state, loop.doors.now(), "completed step", "")
    loop.doors.flow().keep(state)
    loop.note("state", step=state.step, name=state.name, status=state.status, recorded=list(wanted.recorded))


def with_session(state: FlowState, now: float, reason: str, notes: str) -> FlowState:
    """As if the session ended here: nobody knows whether it does."""
    where = f"Step {state.step} {state.name}" if state.step != "done" else "Done"
    where += f" — SubStep {state.sub_step}" if state.sub_step else ""
    date = time.strftime("%Y-%m-%d", time.localtime(now))
    return state._replace(last=LastSession(date, where, reason, notes))


def commit_step(loop: Loop, look: Look) -> CommitOrder:
    assert look.story is not None
    record = to_commit(loop.run, look.story)
    assert record is not None
    ended = record.last.ended if record.last and record.last.ended else {}
    return CommitOrder(
        f"{run_id(loop.run)}/{record.number:02}-{record.step}/{len(record.calls)}",
        commit_label(record),
        look.story.key,
        f"{loop.lane.key}: {record.step}",
        str(ended.get("summary", "")),
        calls=tuple(call_id(one, call) for one in _same(look.story, record) for call in one.calls),
    )


def _same(story: StoryRecord, record: StepRecord) -> list[StepRecord]:
    """With what an earlier round of the same step has left, which nobody has committed."""
    before = [one for one in story.steps if one.number <= record.number and one.step == record.step]
    return [one for one in before if commit_label(one) not in story.commits]


def implement(loop: Loop, look: Look, rule: Rule) -> str:
    """Somebody else runs them: lanes of their own, on a board of their own."""
    step = look.at.step
    assert step is not None
    assert look.flow is not None
    loop.note("implementing", step=step.name)
    under_way = look.flow.wanted.state._replace(status="in_progress")
    loop.doors.flow().keep(with_session(under_way, loop.doors.now(), "completed step", ""))
    loop.note("waiting")
    return TASKS
