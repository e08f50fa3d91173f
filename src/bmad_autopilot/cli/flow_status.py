"""Builds the view of a flow, for `bmad flow` and for `bmad status` without a board."""

import os

import click

from ..core.errors import EXIT_DONE, EXIT_HUMAN, FileError, command
from ..core.flow_state import STATUSES, CompletedStep, LastSession
from ..engine.flows.status import FlowsOverview, FlowStatus, load_flows
from ..project.bmad_install import Era
from ..project.project import Project
from ..runs.supervisor_lock import describe_owner
from ..views.flow import (
    CURRENT,
    FLOW_DONE,
    NOT_NEEDED,
    SKIPPED,
    UPCOMING,
    CurrentStep,
    FlowStepLine,
    FlowView,
    flow_report,
    render,
)
from ..views.questions import OpenQuestion
from ..views.status import NextStep
from ..workflows.flow_file import RECORDED, parse_condition
from ..workflows.flow_position import SKIPPED as SKIPPED_WORD
from ..workflows.flow_position import FlowRecord, flow_part_of, read_flow_record
from ..workflows.flows import Flow
from ..workflows.workflow import FlowPart
from .context import display_path, print_json, terminal
from .flow_lookup import board_commands, next_flow_step

FOUND_TEXT = "found in the folder"


def current_flow_view(overview: FlowsOverview, *, show_all: bool = False) -> FlowView:
    """The view of the current flow, or of none."""
    status = overview.chosen
    if status is None:
        return _no_flow_view(overview)
    return flow_view(overview, status, overview.choice.why, show_all=show_all)


def flow_view(overview: FlowsOverview, status: FlowStatus, why: str, *, show_all: bool = False) -> FlowView:
    flow, state, asked = status.flow, status.state, status.question
    question = OpenQuestion(asked.question, asked.run.id, 0.0) if asked else None
    return FlowView(
        flow.name,
        why,
        next_flow_step(overview.project, status, overview.choice.others),
        flow.head.description,
        status.path,
        state is not None,
        tuple(step_lines(status)),
        _current(status),
        mismatch=status.position.disagreement,
        decisions=state.decisions if state else (),
        last_session=state.last if state else LastSession(),
        blockers=state.blockers if state else (),
        question=question.question.summary if question else "",
        answer_command=question.command if question else "",
        question_run=question.run if question else "",
        run=status.run.id if status.run else "",
        supervisor=describe_owner(status.owner) if status.owner else "",
        others=_named(overview.choice.others),
        notes=(*(state.diagnostics if state else ()), *flow.notes, *overview.scan.diagnostics),
        board=_board(overview.project),
        is_waiting=status.has_failed or question is not None,
        show_all=show_all,
    )


def _no_flow_view(overview: FlowsOverview) -> FlowView:
    """No flow could be detected: the user chooses."""
    others = _named(overview.choice.others)
    board = _board(overview.project)
    if board:
        coming = NextStep(f"the board: {board}", board_commands())
        return FlowView("", overview.choice.why, coming, others=others, board=board)
    commands = tuple((command("flow", "run", name), about) for name, about in others)
    return FlowView(
        "", overview.choice.why, NextStep("choose one, and begin it by its name", commands), others=others
    )


def _named(flows: tuple[Flow, ...]) -> tuple[tuple[str, str], ...]:
    return tuple((flow.name, flow.head.description) for flow in flows)


def _board(project: Project) -> str:
    return display_path(project, project.folders.board) if project.folders.board else ""


# Steps


def step_lines(status: FlowStatus) -> list[FlowStepLine]:
    record = read_flow_record(status.flow.steps, status.state)
    here = len(status.flow.steps) if status.position.index is None else status.position.index
    return [_line(status, record, index, here) for index in range(len(status.flow.steps))]


def _line(status: FlowStatus, record: FlowRecord, index: int, here: int) -> FlowStepLine:
    step = status.flow.steps[index]
    part = flow_part_of(step, index + 1)
    if index < here:
        return _past_step_line(status, record, index, part.number, step.name)
    if index == here:
        return FlowStepLine(part.number, step.name, CURRENT, _current_step_text(status, part) or None)
    return FlowStepLine(part.number, step.name, UPCOMING, _upcoming_text(part, index in record.redo) or None)


def _past_step_line(status: FlowStatus, record: FlowRecord, index: int, number: int, name: str) -> FlowStepLine:
    row: CompletedStep | None = record.rows.get(index)
    if index in status.position.not_applicable:
        return FlowStepLine(number, name, NOT_NEEDED, "nothing here needs it")
    if row is None:
        passed = index in status.position.passed
        return FlowStepLine(number, name, FLOW_DONE, "what comes after it is there" if passed else FOUND_TEXT)
    mark = SKIPPED if row.outcome.strip().lower().startswith(SKIPPED_WORD) else FLOW_DONE
    return FlowStepLine(number, name, mark, row.outcome or None, row.completed or None)


def _upcoming_text(part: FlowPart, is_repeated: bool) -> str:
    words = (
        "once more" if is_repeated else "",
        "optional" if part.optional else "",
        _condition_text(part.only),
        "task by task" if part.tasks else "",
        f"the session ends after it ({part.boundary} complete)" if part.boundary else "",
    )
    return ", ".join(filter(None, words))


def _condition_text(condition: str) -> str:
    if not condition:
        return ""
    is_ui = any(term.is_word and term.value == "ui" for term in parse_condition(condition))
    return "only with a user interface" if is_ui else f"only with {condition}"


def _current_step_text(status: FlowStatus, part: FlowPart) -> str:
    if status.position.at_gate and part.gate is not None:
        return f"waits for a decision: {part.gate.ask}"
    return ", ".join(filter(None, (current_step_status(status).replace("_", " "), _upcoming_text(part, False))))


def current_step_status(status: FlowStatus) -> str:
    """The current step's status in the state file, if the file is about that step."""
    state = status.state
    recorded = state.status if state is not None and status.position.matches_state_file else ""
    return recorded if recorded in STATUSES else "not_started"


def _current(status: FlowStatus) -> CurrentStep | None:
    step, part, state = status.step, status.part, status.state
    if step is None or part is None:
        return None
    agrees = state is not None and status.position.matches_state_file
    own = [row for row in state.retries if row.step == str(part.number)] if state else []
    return CurrentStep(
        part.number,
        step.name,
        current_step_status(status),
        state.sub_step or None if state and agrees else None,
        state.retry_count if state and agrees else 0,
        part.tries,
        status.position.at_gate,
        tuple(one for one in status.position.unmet_conditions if one != RECORDED),
        tuple(": ".join(filter(None, (row.at, row.reason))) for row in own) if agrees else (),
    )


def show_flow(ctx: click.Context, project: Project, *, as_json: bool, show_all: bool) -> None:
    """`bmad status` without a board: show the flow. Raises FileError if there is no flow either."""
    overview = load_flows(project)
    status = overview.chosen
    if status is None or not _is_worth_showing(project, status):
        raise _no_board(project, overview)
    view = flow_view(overview, status, overview.choice.why, show_all=show_all)
    if as_json:
        from .status_report import flow_status_report

        print_json("status", flow_status_report(project, flow_report(view)))
    else:
        out = terminal(ctx)
        name = os.path.basename(project.root.path)
        click.echo(f"{out.style(name, 'bold')}   {out.style('no board yet; its flow:', 'dim')}\n")
        click.echo("\n".join(render(view, out)))
    ctx.exit(EXIT_HUMAN if view.is_waiting else EXIT_DONE)


def _is_worth_showing(project: Project, status: FlowStatus) -> bool:
    """False in a folder without BMAD and without a started flow: the user may be in the wrong folder."""
    return status.is_started or project.bmad.era is not Era.NONE


def _no_board(project: Project, overview: FlowsOverview) -> FileError:
    try:
        project.require_board()
    except FileError as error:
        chosen = overview.choice.flow
        way = f"begin {chosen.name} here: bmad flow run" if chosen else "from an idea to a board: bmad flow list"
        hint = f"{error.hint}\n            {way}" if error.hint else way
        return FileError(
            error.message, location=error.location, found=error.found, expected=error.expected, hint=hint
        )
    raise AssertionError("a board is there, and was not found")
