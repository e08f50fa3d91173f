"""Starting a run and watching it: what is planned, what happens, what came of it."""

import gc
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, NoReturn

import click

from ..board.sprint import Row
from ..core.errors import EXIT_FAILED, FileError
from ..engine.adopting import LeftRunning
from ..engine.driving import RunEnd
from ..engine.policy import with_policy
from ..engine.running import start_run
from ..engine.setting_out import Caps, DirtyTree
from ..project.config import ROLES
from ..project.open import Project
from ..runs.finding import Run, unfinished
from ..runs.journal import Journal
from ..runs.layout import runs_folder
from ..views import preface, summary
from ..views.asking import TerminalHuman
from ..views.run_log import ANYWHERE, Place, RunLog
from ..views.run_view import EventView, LiveView, LogView, RunView, can_live
from ..views.terminal import clean, display_width
from .ending import summarise
from .facts import Facts, terminal
from .left_over import offer_adoption, offer_resume
from .planning import refuse_duplicates
from .preparing import prepare
from .running_options import RunOptions

MAX_KEY = 28  # columns that story keys are lined up in


class Order(NamedTuple):
    """What a command wants run."""

    scope: str  # epic, story, step
    key: str
    title: str
    rows: list[Row]
    confirm: bool = False


def run(ctx: click.Context, facts: Facts, order: Order, options: RunOptions) -> NoReturn:
    gc.enable()  # it may be here for a night
    refuse_duplicates(facts, order.rows)
    project = with_policy(facts.project, lambda kind, data, at: None)  # what it says is said when the run starts
    planned = prepare(project, order.title, order.rows, options, first_only=order.scope == "step")
    before = next((run for run in _unfinished(project) if run.target == order.key), None)
    rather = offer_resume(project, order) if _somebody() and not options.as_json else None
    if rather is not None:
        from .resume import go_on_with

        go_on_with(ctx, project, rather, options.unattended, as_json=False)
    with watching(ctx, project, order.rows, before, as_json=options.as_json) as view:
        if isinstance(view, EventView):
            view("plan", preface.document(planned), time.time())
        view.say([*preface.render(planned, terminal(ctx)), ""])
        if order.confirm and not click.confirm("Do it?", default=True, err=True):
            ctx.exit(EXIT_FAILED)
        end = _start(facts.project, order, options, view)
    finish(ctx, project, end, view)


def _start(project: Project, order: Order, options: RunOptions, view: RunView) -> RunEnd:
    def start(*, allow_dirty: bool, adopt: bool) -> RunEnd:
        return start_run(
            project,
            order.scope,
            order.key,
            told=view,
            human=human_at(view),
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
            if allow_dirty or not can_ask(view) or not _leaves_out(dirty.paths):
                raise
            allow_dirty = True
        except LeftRunning as left:
            if not can_ask(view):
                raise
            adopt = offer_adoption(left)
    return start(allow_dirty=allow_dirty, adopt=adopt)


def _leaves_out(paths: tuple[str, ...]) -> bool:
    for path in paths[:10]:
        click.echo(f"  changed: {clean(path)}", err=True)
    if len(paths) > 10:
        click.echo(f"  … {len(paths) - 10} more", err=True)
    return click.confirm("These are not committed. Go on, and leave them out of every commit?", err=True)


@contextmanager
def watching(
    ctx: click.Context, project: Project, rows: list[Row], before: Run | None, *, as_json: bool
) -> Iterator[RunView]:
    """Whatever happens, nothing half drawn is left behind."""
    view = _view(ctx, project, rows, before, as_json=as_json)
    view.catch_up(_told(before))
    try:
        yield view
    finally:
        view.close()


def _view(ctx: click.Context, project: Project, rows: list[Row], before: Run | None, *, as_json: bool) -> RunView:
    if as_json:
        return EventView()
    out = terminal(ctx)
    agents = {role: project.config.agent_of(role) for role in ROLES}
    asked_here = out.is_terminal and _somebody()
    log = RunLog(agents, at=_place(before), language=project.language, shows_questions=not asked_here)
    keys = min(MAX_KEY, max((display_width(clean(row.key)) for row in rows), default=0))
    return LiveView(out, log, keys, len(rows)) if can_live(out) else LogView(out, log, keys)


def _told(run: Run | None) -> list[tuple[str, Mapping[str, Any], float]]:
    """Whoever goes on with a run knows what has happened in it."""
    if run is None:
        return []
    try:
        entries = Journal(run.folder, lambda value: value).entries()
    except FileError:  # said by whoever goes on with it
        return []
    return [(entry.kind, entry.data, entry.at) for entry in entries]


def _place(run: Run | None) -> Place:
    if run is None:
        return ANYWHERE
    state = run.state
    step = state.resume_from_step or state.current_step
    return run.id, step, max(step, state.total_steps)


def _somebody() -> bool:
    """Somebody who can be asked: in CI there is nobody, whatever the terminal says."""
    return sys.stdin is not None and sys.stdin.isatty() and not os.environ.get("CI")


def can_ask(view: RunView) -> bool:
    return isinstance(view, LogView) and view.out.is_terminal and _somebody()


def human_at(view: RunView) -> TerminalHuman | None:
    return TerminalHuman(view) if isinstance(view, LogView) and can_ask(view) else None


def _unfinished(project: Project) -> list[Run]:
    return unfinished(runs_folder(project.root.path))


def finish(ctx: click.Context, project: Project, end: RunEnd, view: RunView) -> NoReturn:
    told = summarise(project, end)
    if isinstance(view, EventView):
        view("summary", {**summary.document(told), "exit_code": end.exit_code}, time.time())
    view.say(["", *summary.render(told, terminal(ctx))])
    view.close()
    ctx.exit(end.exit_code)
