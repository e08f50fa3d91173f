"""From one look at the flows to what `bmad flow` shows."""

from ..core.commands import command
from ..core.flow_state import Completed, LastSession
from ..engine.flows.standing import Looked, Standing
from ..project.open import Project
from ..runs.flow_state_words import STATUSES
from ..runs.supervisor import described
from ..views.flow import DONE, LEFT_OUT, NOW, SKIPPED, TO_COME, Current, FlowView, StepLine
from ..views.questions import Waiting
from ..views.status import Next
from ..workflows.flow_list import Flow
from ..workflows.flow_place import part_of
from ..workflows.flow_record import SKIPPED as SKIPPED_WORD
from ..workflows.flow_record import Record, record_of
from ..workflows.flow_rules import RECORDED, terms_of
from ..workflows.pipelines import FlowPart
from .facts import shown_path
from .flow_next import from_board, what_next

FOUND = "found in the folder"


def view_of(looked: Looked, *, show_all: bool = False) -> FlowView:
    """Of the flow that the project is in, or of none."""
    standing = looked.chosen
    if standing is None:
        return _without(looked)
    return flow_view(looked, standing, looked.choice.why, show_all=show_all)


def flow_view(looked: Looked, standing: Standing, why: str, *, show_all: bool = False) -> FlowView:
    flow, state, asked = standing.flow, standing.state, standing.asked
    question = Waiting(asked.question, asked.run.id, 0.0) if asked else None
    return FlowView(
        flow.name,
        why,
        what_next(looked.project, standing, looked.choice.others),
        flow.head.description,
        standing.path,
        state is not None,
        tuple(step_lines(standing)),
        _current(standing),
        differs=standing.place.why,
        decisions=state.decisions if state else (),
        last=state.last if state else LastSession(),
        blockers=state.blockers if state else (),
        asks=question.question.in_short if question else "",
        answer=question.command if question else "",
        asked_by=question.run if question else "",
        run=standing.run.id if standing.run else "",
        at_work=described(standing.owner) if standing.owner else "",
        others=_named(looked.choice.others),
        notes=(*(state.diagnostics if state else ()), *flow.notes, *looked.seen.diagnostics),
        board=_board(looked.project),
        waits=standing.has_failed or question is not None,
        show_all=show_all,
    )


def _without(looked: Looked) -> FlowView:
    """Nothing says which: a person chooses."""
    others = _named(looked.choice.others)
    board = _board(looked.project)
    if board:
        coming = Next(f"the board: {board}", from_board())
        return FlowView("", looked.choice.why, coming, others=others, board=board)
    say = tuple((command("flow", "run", name), about) for name, about in others)
    return FlowView("", looked.choice.why, Next("choose one, and begin it by its name", say), others=others)


def _named(flows: tuple[Flow, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((flow.name, flow.head.description) for flow in flows)


def _board(project: Project) -> str:
    return shown_path(project, project.folders.board) if project.folders.board else ""


# its steps


def step_lines(standing: Standing) -> list[StepLine]:
    record = record_of(standing.flow.steps, standing.state)
    here = len(standing.flow.steps) if standing.place.index is None else standing.place.index
    return [_line(standing, record, index, here) for index in range(len(standing.flow.steps))]


def _line(standing: Standing, record: Record, index: int, here: int) -> StepLine:
    step = standing.flow.steps[index]
    part = part_of(step, index + 1)
    if index < here:
        return _behind(standing, record, index, part.number, step.name)
    if index == here:
        return StepLine(part.number, step.name, NOW, _said_of_current(standing, part))
    return StepLine(part.number, step.name, TO_COME, _ahead(part, index in record.anew))


def _behind(standing: Standing, record: Record, index: int, number: int, name: str) -> StepLine:
    row: Completed | None = record.rows.get(index)
    if index in standing.place.left_out:
        return StepLine(number, name, LEFT_OUT, "nothing here needs it")
    if row is None:
        passed = index in standing.place.passed
        return StepLine(number, name, DONE, "what comes after it is there" if passed else FOUND)
    mark = SKIPPED if row.outcome.strip().lower().startswith(SKIPPED_WORD) else DONE
    return StepLine(number, name, mark, row.outcome, row.completed)


def _ahead(part: FlowPart, anew: bool) -> str:
    words = (
        "once more" if anew else "",
        "optional" if part.optional else "",
        _only(part.only),
        "task by task" if part.tasks else "",
        f"the session ends after it ({part.boundary} complete)" if part.boundary else "",
    )
    return ", ".join(filter(None, words))


def _only(condition: str) -> str:
    if not condition:
        return ""
    is_ui = any(term.is_word and term.value == "ui" for term in terms_of(condition))
    return "only with a user interface" if is_ui else f"only with {condition}"


def _said_of_current(standing: Standing, part: FlowPart) -> str:
    if standing.place.at_gate and part.gate is not None:
        return f"waits for a decision: {part.gate.ask}"
    return ", ".join(filter(None, (status_of(standing).replace("_", " "), _ahead(part, False))))


def status_of(standing: Standing) -> str:
    """What the state file says of the step in hand, where it speaks of that."""
    state = standing.state
    said = state.status if state is not None and standing.place.agrees else ""
    return said if said in STATUSES else "not_started"


def _current(standing: Standing) -> Current | None:
    step, part, state = standing.step, standing.part, standing.state
    if step is None or part is None:
        return None
    agrees = state is not None and standing.place.agrees
    own = [row for row in state.retries if row.step == str(part.number)] if state else []
    return Current(
        part.number,
        step.name,
        status_of(standing),
        state.sub_step if state and agrees else "",
        state.retry_count if state and agrees else 0,
        part.tries,
        standing.place.at_gate,
        tuple(one for one in standing.place.lacks if one != RECORDED),
        tuple(": ".join(filter(None, (row.at, row.reason))) for row in own) if agrees else (),
    )
