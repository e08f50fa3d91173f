"""A person's word on a step of a flow, where no run is at work: left out, tried again, done anew. Written into the
state file, which the next run goes by."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ...agents.attempts import State, state_of
from ...core.causes import RETRY, SKIP
from ...core.commands import command
from ...core.errors import ConflictError, UsageError
from ...core.flow_state import Completed, FlowState
from ...core.folding import fold
from ...project.open import Project
from ...runs.finding import Run
from ...runs.flow_state_store import set_flow_state
from ...runs.journal import Journal
from ...runs.layout import SESSION, attempt_folder
from ...runs.question import By
from ...runs.questions import answer, questions_of, withdraw
from ...runs.supervisor import hold, workflow_lock
from ...workflows.flow_list import Flow
from ...workflows.flow_place import locate, part_of
from ...workflows.flow_record import DONE
from ...workflows.flow_record import index_of as find_step
from .looking import look_at
from .position import is_ours
from .standing import Standing, look_at_flow, run_of, session_of

BY_PERSON = "by a person"
FOUND = "found in the folder"
_MOST_NAMED = 30


def step_named(flow: Flow, wanted: str) -> int:
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
    listed = ", ".join(f"{number} {step.name}" for number, step in enumerate(flow.steps[:_MOST_NAMED], 1))
    return UsageError(message, found=wanted[:60], expected=listed, hint=command("flow", "list"))


def skip_step(project: Project, flow: Flow, wanted: str) -> Standing:
    with _alone(project, flow, "skip") as standing:
        index = step_named(flow, wanted)
        here = standing.place.index
        if index != here:
            raise _not_here(standing, index, "can be skipped")
        _let_go(standing)
        row = _row(flow, index, f"skipped {BY_PERSON}")
        state = _forgiven(flow, _state(standing), _number(flow, index))
        state = state._replace(completed=(*state.completed, *_unlisted(standing, index), row))
        after = index + 1 if index + 1 < len(flow.steps) else None
        place = locate(flow.steps, look_at(project, [flow]), _moved(flow, state, after))
        _keep(project, standing, _moved(flow, state, place.index))
        return look_at_flow(project, flow)


def retry_step(project: Project, flow: Flow, wanted: str) -> Standing:
    with _alone(project, flow, "retry") as standing:
        index = step_named(flow, wanted)
        if index != standing.place.index:
            raise _not_here(standing, index, "can be tried again")
        state = _forgiven(flow, _state(standing), _number(flow, index))
        _keep(project, standing, _moved(flow, state, index))
        _answer_retry(standing)
        return look_at_flow(project, flow)


def reset_step(project: Project, flow: Flow, wanted: str) -> Standing:
    with _alone(project, flow, "reset") as standing:
        index = step_named(flow, wanted)
        refuse_beyond(standing, index)
        _let_go(standing)
        state = _state(standing)
        rows = (*state.completed, *_unlisted(standing, index), _row(flow, index, f"reset {BY_PERSON}"))
        others = tuple(one for one in state.blockers if not is_ours(one, flow.steps))
        state = state._replace(completed=rows, retries=(), blockers=others)
        _keep(project, standing, _moved(flow, state, index))
        return look_at_flow(project, flow)


def refuse_beyond(standing: Standing, index: int) -> None:
    """What was never reached cannot be done anew."""
    here = standing.place.index
    if here is not None and index > here:
        raise _not_here(standing, index, "can be done anew: it and those before it")


@contextmanager
def _alone(project: Project, flow: Flow, verb: str) -> Iterator[Standing]:
    """Where it stands, while nobody else drives it."""
    before = run_of(project, flow.name)
    lock = workflow_lock(session_of(before) if before else SESSION, flow.name)
    with hold(project.state_folder, command("flow", verb), name=lock):
        standing = look_at_flow(project, flow)
        if standing.run is not None:
            _refuse_working(standing.run, flow)
        yield standing


def _refuse_working(run: Run, flow: Flow) -> None:
    """An agent that its run has left behind still writes."""
    story = fold((one.kind, one.data, one.at) for one in Journal(run.folder, lambda value: value).entries())
    steps = story.stories[flow.name].steps if flow.name in story.stories else []
    for step in steps:
        for call in step.calls:
            folder = attempt_folder(run.folder, step.number, step.step, call.attempt)
            if call.ended is None and state_of(folder) is State.RUNNING:
                hint = f"bmad resume takes in what it does; {command('agent', 'cancel', run.id)} stops it"
                raise ConflictError("an agent is still at work on this flow", found=folder, hint=hint)


def _not_here(standing: Standing, index: int, what: str) -> UsageError:
    flow, here = standing.flow, standing.place.index
    named = f"step {index + 1}, {flow.steps[index].name},"
    if here is None or index < here:
        anew = command("flow", "reset", str(index + 1))
        return UsageError(f"{named} is done", found=_place_of(standing), hint=f"to have it done anew: {anew}")
    hint = "bmad flow shows where it is"
    if part_of(flow.steps[index], index + 1).optional:
        hint = "to leave optional steps out: bmad flow run --optional skip"
    return UsageError(
        f"{named} comes later", found=_place_of(standing), expected=f"the step that {what}", hint=hint
    )


def _place_of(standing: Standing) -> str:
    step, here = standing.step, standing.place.index
    return f"{standing.flow.name} stands at step {(here or 0) + 1}, {step.name}" if step else "every step is done"


def _let_go(standing: Standing) -> None:
    """What its run has begun counts no more: it goes on from the state file, and asks nothing of before."""
    if standing.run is None:
        return
    journal = Journal(standing.run.folder, lambda value: value)
    try:
        journal.append("restarted", story=standing.flow.name, row="")
    finally:
        journal.close()
    withdraw(standing.run.folder, standing.flow.name)


def _answer_retry(standing: Standing) -> None:
    """Where its run waits for just that word."""
    for path, asked in questions_of(standing.run.folder)[0] if standing.run else ():
        if asked.answer is None and {RETRY, SKIP} <= set(asked.options):
            answer(path, RETRY, By.HUMAN)


def _unlisted(standing: Standing, index: int) -> Iterator[Completed]:
    """Steps before it that count as done for what the folder holds: what comes after them may soon not count."""
    flow, place = standing.flow, standing.place
    for at in range(index):
        part = part_of(flow.steps[at], at + 1)
        if at in place.left_out:
            yield _row(flow, at, "skipped: nothing here needs it")
        elif at in place.passed:
            word = "skipped" if part.optional or part.only else "passed"
            yield _row(flow, at, f"{word}: what comes after it is there")
        elif at in place.found:
            yield _row(flow, at, FOUND)


def _row(flow: Flow, index: int, outcome: str) -> Completed:
    return Completed(_number(flow, index), flow.steps[index].name, time.strftime("%Y-%m-%d"), outcome)


def _state(standing: Standing) -> FlowState:
    return standing.state or FlowState(flow=standing.flow.name)


def _forgiven(flow: Flow, state: FlowState, number: str) -> FlowState:
    own = tuple(
        one for one in state.blockers if not (one.startswith(f"Step {number} ") and is_ours(one, flow.steps))
    )
    return state._replace(retries=tuple(row for row in state.retries if row.step != number), blockers=own)


def _moved(flow: Flow, state: FlowState, index: int | None) -> FlowState:
    """To a step that nobody has begun."""
    state = state._replace(flow=flow.name, sub_step="", retry_count=0)
    if index is None:
        return state._replace(step=DONE, name=DONE, status="completed", retries=())
    return state._replace(step=_number(flow, index), name=flow.steps[index].name, status="not_started")


def _keep(project: Project, standing: Standing, wanted: FlowState) -> None:
    root = project.root
    path = os.path.join(root.checkout, standing.path)
    set_flow_state(path, wanted, inside=root.checkout, state=root.state_folder, seen=standing.state)


def _number(flow: Flow, index: int) -> str:
    return str(part_of(flow.steps[index], index + 1).number)
