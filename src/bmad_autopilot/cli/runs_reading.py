"""Runs as the commands below `bmad runs` need them. Neither board nor settings are read: they may be broken,
and to import their readers takes as long as to read a hundred runs."""

import time
from typing import TYPE_CHECKING

import click

from ..project.root import Root, find_root
from ..runs.finding import Run, all_runs, refuse_unreadable, with_target
from ..runs.layout import find_archived, runs_folder
from ..runs.spending import spent
from ..runs.state import Status
from ..runs.supervisor import busy_runs
from ..views.runs import RunRow, RunsView, document, render
from ..views.terminal import Terminal

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

MOST = 20  # shown unless all are asked for
CUT_SHORT = "cut short"


def the_root(ctx: click.Context) -> Root:
    return find_root(ctx.obj[0])


def print_runs(ctx: click.Context, *, shows_all: bool, as_json: bool) -> None:
    root = the_root(ctx)
    runs = runs_folder(root.path)
    found = all_runs(runs, archive=shows_all)
    if not found:
        refuse_unreadable(runs)
    shown = found if shows_all or as_json else found[:MOST]
    more = len(found) - len(shown)
    if not shows_all and not as_json:
        more += len(find_archived(runs))
    busy = busy_runs(root.state_folder) if any(run.state.status is Status.RUNNING for run in shown) else set()
    view = RunsView([row_of(with_target(run), busy) for run in shown], more, time.time())
    if as_json:
        from .facts import print_json

        print_json(document(view))
    else:
        click.echo("\n".join(render(view, Terminal(ctx.obj[1]))))


def row_of(run: Run, busy: set[str]) -> RunRow:
    state, money = run.state, spent(run.folder)
    return RunRow(
        run=run.id,
        session=run.session,
        target=run.target or state.workflow_path,
        status=status_word(run, busy),
        step=state.current_step,
        total=state.total_steps,
        started=state.started_at,
        last=state.last_checkpoint,
        dollars=money.dollars,
        unpriced=money.unpriced,
        calls=money.calls,
        checkpoint=state.checkpoint_id,
        is_archived=run.is_archived,
        is_protocol=run.is_protocol,
    )


def status_word(run: Run, busy: set[str]) -> str:
    """A running one that nobody looks after was cut short; one that agents keep has nobody to look after it."""
    is_left = run.state.status is Status.RUNNING and not run.is_protocol and run.id not in busy
    return CUT_SHORT if is_left else run.state.status.value


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Silent, as all completion: whatever is broken completes nothing."""
    from click.shell_completion import CompletionItem

    start = ctx.find_root().params.get("project") or "."
    try:
        found = all_runs(runs_folder(find_root(start).path))
        return [CompletionItem(run.id) for run in found if run.id.startswith(incomplete)][:100]
    except Exception:
        return []
