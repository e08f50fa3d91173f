"""`bmad flow skip`, `retry` and `reset`: edit the state file while no run is active; the next run follows it."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ...agents.attempt import AttemptState, attempt_state
from ...core.errors import ConflictError, UsageError, command
from ...core.flow_state import CompletedStep, FlowState
from ...core.journal_fold import fold
from ...core.stop_causes import RETRY, SKIP
from ...project.project import Project
from ...runs.flow_state_writer import write_flow_state
from ...runs.index import Run
from ...runs.journal import Journal
from ...runs.layout import SESSION, attempt_folder
from ...runs.question_file import AnswerSource
from ...runs.questions import questions_of, record_answer, withdraw_questions
from ...runs.supervisor_lock import hold_supervisor_lock, workflow_lock_name
from ...workflows.flow_position import DONE, flow_part_of, locate_step
from ...workflows.flow_position import find_step_index as find_step
from ...workflows.flows import Flow
from .model import is_our_blocker
from .status import FlowStatus, load_flow_status, scan_flows, unfinished_run

BY_PERSON = "by a person"
FOUND = "found in the folder"
_MAX_NAMED = 30


def find_step_index(flow: Flow, wanted: str) -> int:
    """The index of a step, by its number or its name."""
    index = find_step(flow.steps, wanted, wanted)
    names = [step.name.casefold() for step in flow.steps]
    if index is None:
        begun = [
            at for at, name in enumerate(names) if wanted.strip() and name.startswith(wanted.strip().casefold())
        ]
        index = begun[0] if len(begun) == 1 else None
    elif not wanted.strip().isdigit() and names.count(names[index]) > 1:
        raise _no_step(flow, f"{flow.name} has several steps called that", wanted)
    if index is None:
        raise _no_step(flow, f"{flow.name} has no such step", wanted)
    return index


def _no_step(flow: Flow, message: str, wanted: str) -> UsageError:
    listed = ", ".join(f"{number} {step.name}" for number, step in enumerate(flow.steps[:_MAX_NAMED], 1))
    return UsageError(message, found=wanted[:60], expected=listed, hint=command("flow", "list"))


def skip_step(project: Project, flow: Flow, wanted: str) -> FlowStatus:
    with _locked_status(project, flow, "skip") as status:
        index = find_step_index(flow, wanted)
        here = status.position.index
        if index != here:
            raise _wrong_step(status, index, "can be skipped")
        _discard_run_state(status)
        row = _row(flow, index, f"skipped {BY_PERSON}")
        state = _without_failures(flow, _state(status), _number(flow, index))
        state = state._replace(completed=(*state.completed, *_unrecorded_steps(status, index), row))
        after = index + 1 if index + 1 < len(flow.steps) else None
        position = locate_step(flow.steps, scan_flows(project, [flow]), _at_step(flow, state, after))
        _write_state(project, status, _at_step(flow, state, position.index))
        return load_flow_status(project, flow)


def retry_step(project: Project, flow: Flow, wanted: str) -> FlowStatus:
    with _locked_status(project, flow, "retry") as status:
        index = find_step_index(flow, wanted)
        if index != status.position.index:
            raise _wrong_step(status, index, "can be tried again")
        state = _without_failures(flow, _state(status), _number(flow, index))
        _write_state(project, status, _at_step(flow, state, index))
        _answer_retry(status)
        return load_flow_status(project, flow)


def reset_step(project: Project, flow: Flow, wanted: str) -> FlowStatus:
    with _locked_status(project, flow, "reset") as status:
        index = find_step_index(flow, wanted)
        require_reached(status, index)
        _discard_run_state(status)
        state = _state(status)
        rows = (*state.completed, *_unrecorded_steps(status, index), _row(flow, index, f"reset {BY_PERSON}"))
        others = tuple(one for one in state.blockers if not is_our_blocker(one, flow.steps))
        state = state._replace(completed=rows, retries=(), blockers=others)
        _write_state(project, status, _at_step(flow, state, index))
        return load_flow_status(project, flow)


def require_reached(status: FlowStatus, index: int) -> None:
    """A step that was never reached cannot be reset."""
    here = status.position.index
    if here is not None and index > here:
        raise _wrong_step(status, index, "can be done anew: it and those before it")


@contextmanager
def _locked_status(project: Project, flow: Flow, verb: str) -> Iterator[FlowStatus]:
    """The flow's status, while this command holds its lock."""
    before = unfinished_run(project, flow.name)
    lock = workflow_lock_name(before.session if before else SESSION, flow.name)
    with hold_supervisor_lock(project.state_folder, command("flow", verb), name=lock):
        status = load_flow_status(project, flow)
        if status.run is not None:
            _require_no_agent(status.run, flow)
        yield status


def _require_no_agent(run: Run, flow: Flow) -> None:
    """Refuse while an agent of an ended run is still writing."""
    story = fold((one.kind, one.data, one.at) for one in Journal(run.folder, lambda value: value).entries())
    steps = story.stories[flow.name].steps if flow.name in story.stories else []
    for step in steps:
        for call in step.calls:
            folder = attempt_folder(run.folder, step.number, step.step, call.attempt)
            if call.outcome is None and attempt_state(folder) is AttemptState.RUNNING:
                hint = f"bmad resume takes in what it does; {command('agent', 'cancel', run.id)} stops it"
                raise ConflictError("an agent is still at work on this flow", found=folder, hint=hint)


def _wrong_step(status: FlowStatus, index: int, what: str) -> UsageError:
    flow, here = status.flow, status.position.index
    named = f"step {index + 1}, {flow.steps[index].name},"
    if here is None or index < here:
        anew = command("flow", "reset", str(index + 1))
        return UsageError(f"{named} is done", found=_position_text(status), hint=f"to have it done anew: {anew}")
    hint = "bmad flow shows where it is"
    if flow_part_of(flow.steps[index], index + 1).optional:
        hint = "to leave optional steps out: bmad flow run --optional skip"
    return UsageError(
        f"{named} comes later", found=_position_text(status), expected=f"the step that {what}", hint=hint
    )


def _position_text(status: FlowStatus) -> str:
    step, here = status.step, status.position.index
    return f"{status.flow.name} stands at step {(here or 0) + 1}, {step.name}" if step else "every step is done"


def _discard_run_state(status: FlowStatus) -> None:
    """Make the unfinished run restart from the state file, and withdraw its open questions."""
    if status.run is None:
        return
    journal = Journal(status.run.folder, lambda value: value)
    try:
        journal.append("restarted", story=status.flow.name, row="")
    finally:
        journal.close()
    withdraw_questions(status.run.folder, status.flow.name)


def _answer_retry(status: FlowStatus) -> None:
    """Answer the run's open question if it offers a retry."""
    for path, asked in questions_of(status.run.folder)[0] if status.run else ():
        if asked.answer is None and {RETRY, SKIP} <= set(asked.options):
            record_answer(path, RETRY, AnswerSource.HUMAN)


def _unrecorded_steps(status: FlowStatus, index: int) -> Iterator[CompletedStep]:
    """Rows for earlier steps that count as done only because of files: after the edit they might not."""
    flow, position = status.flow, status.position
    for at in range(index):
        part = flow_part_of(flow.steps[at], at + 1)
        if at in position.not_applicable:
            yield _row(flow, at, "skipped: nothing here needs it")
        elif at in position.passed:
            word = "skipped" if part.optional or part.only else "passed"
            yield _row(flow, at, f"{word}: what comes after it is there")
        elif at in position.found:
            yield _row(flow, at, FOUND)


def _row(flow: Flow, index: int, outcome: str) -> CompletedStep:
    return CompletedStep(_number(flow, index), flow.steps[index].name, time.strftime("%Y-%m-%d"), outcome)


def _state(status: FlowStatus) -> FlowState:
    return status.state or FlowState(flow=status.flow.name)


def _without_failures(flow: Flow, state: FlowState, number: str) -> FlowState:
    own = tuple(
        one
        for one in state.blockers
        if not (one.startswith(f"Step {number} ") and is_our_blocker(one, flow.steps))
    )
    return state._replace(retries=tuple(row for row in state.retries if row.step != number), blockers=own)


def _at_step(flow: Flow, state: FlowState, index: int | None) -> FlowState:
    """The state moved to a step, not started."""
    state = state._replace(flow=flow.name, sub_step="", retry_count=0)
    if index is None:
        return state._replace(step=DONE, name=DONE, status="completed", retries=())
    return state._replace(step=_number(flow, index), name=flow.steps[index].name, status="not_started")


def _write_state(project: Project, status: FlowStatus, wanted: FlowState) -> None:
    root = project.root
    path = os.path.join(root.checkout, status.path)
    write_flow_state(path, wanted, inside=root.checkout, state_folder=root.state_folder, base=status.state)


def _number(flow: Flow, index: int) -> str:
    return str(flow_part_of(flow.steps[index], index + 1).number)
