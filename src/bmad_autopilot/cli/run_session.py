"""Starts a run and shows it: preview, live view and summary."""

import gc
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from statistics import fmean
from typing import Any, NamedTuple, NoReturn

import click

from ..agents.attempt import read_call_spec
from ..agents.verdicts import read_verdict
from ..board.sprint_status import Row
from ..core.errors import EXIT_FAILED, AutopilotError, FileError
from ..core.lane_scope import LaneScope
from ..core.text import printable
from ..engine.policy import check_commands, with_base_settings
from ..engine.run_setup import Caps, DirtyTree, ForeignRunActive
from ..engine.runner import RunEnd, start_run
from ..git.git import Git
from ..git.worktree_state import read_worktree_state
from ..project.config import ROLES
from ..project.project import Project
from ..runs.index import Run, unfinished_runs
from ..runs.journal import Journal
from ..runs.layout import find_attempts, runs_folder
from ..views import autopilot, summary
from ..views.autopilot import Estimate, PlannedStory, RunPreview
from ..views.prompt import TerminalPrompter
from ..views.run_log import NO_POSITION, RunLog, RunPosition
from ..views.run_view import EventView, LiveView, LogView, RunView, supports_live_view
from ..views.terminal import display_width
from ..workflows.plan import PlannedStep, missing_skills, plan_story
from .context import ProjectFacts, terminal
from .dry_run import refuse_duplicates
from .next_step import workflow_of
from .resume import offer_adoption, offer_resume
from .run_options import RunOptions
from .run_summary import summarise

# Cost estimate from earlier calls of this project.

MAX_CALLS = 100  # newest calls; reading them takes a few milliseconds


def estimate_cost(runs: str, steps: Iterable[str]) -> Estimate | None:
    """None: no earlier call reported a price, or no call is planned."""
    wanted = list(steps)
    prices = _prices(runs)
    if not prices or not wanted:
        return None
    every = [price for of_step in prices.values() for price in of_step]
    dollars = sum(fmean(prices.get(step, every)) for step in wanted)
    return Estimate(round(dollars, 2), len(wanted), len(every))


def _prices(runs: str) -> dict[str, list[float]]:
    prices: dict[str, list[float]] = {}
    for location in find_attempts(runs)[:MAX_CALLS]:
        verdict = read_verdict(location.folder)
        if verdict is None or verdict.spend.dollars is None:
            continue
        try:
            prices.setdefault(read_call_spec(location.folder).step, []).append(verdict.spend.dollars)
        except FileError:
            continue
    return prices


# The preview.


def preview_run(
    project: Project, title: str, rows: list[Row], options: RunOptions, *, first_only: bool
) -> RunPreview:
    """Build the preview. Raises an error if a skill is missing, before anything starts."""
    workflow, config = workflow_of(project), project.config
    plans = [(row, plan_story(row, workflow, config, project.find_skill)) for row in rows]
    if first_only:
        plans = [(row, plan[:1]) for row, plan in plans]
    steps = [step for _, plan in plans for step in plan]
    refuse_missing(steps)
    return RunPreview(
        title,
        tuple(_planned(row, plan) for row, plan in plans),
        workflow.name,
        _agents(steps),
        check_commands(project),
        read_worktree_state(Git(project.root.checkout)).branch or "",
        config.max_cost if options.max_cost is None else options.max_cost,
        config.max_hours if options.max_hours is None else options.max_hours,
        estimate_cost(runs_folder(project.root.path), (step.step.name for step in steps)),
    )


def refuse_missing(steps: list[PlannedStep]) -> None:
    missing = missing_skills(steps)
    if missing:
        named = ", ".join(f"{skill} for {agent}" for agent, skill in missing)
        raise AutopilotError(f"skills of BMAD's are not installed: {named}", hint="bmad doctor")


def _planned(row: Row, plan: list[PlannedStep]) -> PlannedStory:
    return PlannedStory(row.key, row.status.raw or "(empty)", tuple(step.step.name for step in plan))


def _agents(steps: list[PlannedStep]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    roles: dict[str, dict[str, None]] = {}
    for step in steps:
        who = f"{step.agent} {step.model}" if step.model else step.agent
        roles.setdefault(who, {})[step.step.role] = None
    return tuple((who, tuple(names)) for who, names in roles.items())


MAX_KEY_WIDTH = 28  # columns; story keys are aligned up to this width


class RunRequest(NamedTuple):
    """What a command asks to run."""

    scope: LaneScope  # an epic, a story or a step
    key: str
    title: str
    rows: list[Row]
    confirm: bool = False


def run(ctx: click.Context, facts: ProjectFacts, request: RunRequest, options: RunOptions) -> NoReturn:
    gc.enable()  # it may run all night
    refuse_duplicates(facts, request.rows)
    project = with_base_settings(facts.project, lambda kind, data, at: None)  # start_run reports its notices
    planned = preview_run(
        project, request.title, request.rows, options, first_only=request.scope is LaneScope.STEP
    )
    before = next((run for run in _unfinished(project) if run.target == request.key), None)
    other_run = offer_resume(project, request) if _is_interactive() and not options.as_json else None
    if other_run is not None:
        from .resume import continue_run

        continue_run(ctx, project, other_run, options.unattended, as_json=False)
    with watch_run(ctx, project, request.rows, before, as_json=options.as_json) as view:
        if isinstance(view, EventView):
            view("plan", autopilot.run_preview_document(planned), time.time())
        view.print_lines([*autopilot.run_preview_lines(planned, terminal(ctx)), ""])
        if request.confirm and not click.confirm("Do it?", default=True, err=True):
            ctx.exit(EXIT_FAILED)
        end = _start(facts.project, request, options, view)
    finish(ctx, project, end, view)


def _start(project: Project, request: RunRequest, options: RunOptions, view: RunView) -> RunEnd:
    def start(*, allow_dirty: bool, adopt: bool) -> RunEnd:
        return start_run(
            project,
            request.scope,
            request.key,
            on_event=view,
            human=prompter_for(view),
            caps=Caps(options.max_cost, options.max_hours),
            retrospective=options.retrospective,
            allow_dirty=allow_dirty,
            session=options.session,
            unattended=options.unattended,
            adopt=adopt,
        )

    allow_dirty, adopt = options.allow_dirty, options.adopt
    for _ in range(3):
        try:
            return start(allow_dirty=allow_dirty, adopt=adopt)
        except DirtyTree as dirty:
            if allow_dirty or not can_ask(view) or not _confirm_leaving_out(dirty.paths):
                raise
            allow_dirty = True
        except ForeignRunActive as left:
            if not can_ask(view):
                raise
            adopt = offer_adoption(left)
    return start(allow_dirty=allow_dirty, adopt=adopt)


def _confirm_leaving_out(paths: tuple[str, ...]) -> bool:
    for path in paths[:10]:
        click.echo(f"  changed: {printable(path)}", err=True)
    if len(paths) > 10:
        click.echo(f"  … {len(paths) - 10} more", err=True)
    return click.confirm("These are not committed. Go on, and leave them out of every commit?", err=True)


@contextmanager
def watch_run(
    ctx: click.Context, project: Project, rows: list[Row], before: Run | None, *, as_json: bool
) -> Iterator[RunView]:
    """Open a view of the run; it is closed on every exit, so that no live lines remain."""
    view = _view(ctx, project, rows, before, as_json=as_json)
    view.replay(_past_events(before))
    try:
        yield view
    finally:
        view.close()


def _view(ctx: click.Context, project: Project, rows: list[Row], before: Run | None, *, as_json: bool) -> RunView:
    if as_json:
        return EventView()
    out = terminal(ctx)
    agents = {role: project.config.agent_of(role) for role in ROLES}
    asked_here = out.is_terminal and _is_interactive()
    log = RunLog(agents, position=_position_of(before), shows_questions=not asked_here)
    keys = min(MAX_KEY_WIDTH, max((display_width(printable(row.key)) for row in rows), default=0))
    return LiveView(out, log, keys, len(rows)) if supports_live_view(out) else LogView(out, log, keys)


def _past_events(run: Run | None) -> list[tuple[str, Mapping[str, Any], float]]:
    """The journal entries of the run being resumed."""
    if run is None:
        return []
    try:
        entries = Journal(run.folder, lambda value: value).entries()
    except FileError:  # reported when the run is resumed
        return []
    return [(entry.kind, entry.data, entry.at) for entry in entries]


def _position_of(run: Run | None) -> RunPosition:
    if run is None:
        return NO_POSITION
    state = run.state
    step = state.resume_from_step or state.current_step
    return run.id, step, max(step, state.total_steps)


def _is_interactive() -> bool:
    """Whether the user can be asked. Never in CI, even with a terminal."""
    return sys.stdin is not None and sys.stdin.isatty() and not os.environ.get("CI")


def can_ask(view: RunView) -> bool:
    return isinstance(view, LogView) and view.out.is_terminal and _is_interactive()


def prompter_for(view: RunView) -> TerminalPrompter | None:
    return TerminalPrompter(view) if isinstance(view, LogView) and can_ask(view) else None


def _unfinished(project: Project) -> list[Run]:
    return unfinished_runs(runs_folder(project.root.path))


def finish(ctx: click.Context, project: Project, end: RunEnd, view: RunView) -> NoReturn:
    result = summarise(project, end)
    if isinstance(view, EventView):
        view("summary", {**summary.document(result), "exit_code": end.exit_code}, time.time())
    view.print_lines(["", *summary.render(result, terminal(ctx))])
    view.close()
    ctx.exit(end.exit_code)
