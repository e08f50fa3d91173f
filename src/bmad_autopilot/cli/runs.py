"""bmad runs: list runs; its subcommands live in runs_show, runs_diff and runs_clean."""

import time
from typing import TYPE_CHECKING

import click

from ..project.root import Root, find_root
from ..runs.index import Run, all_runs, refuse_unreadable, with_target
from ..runs.layout import find_archived, runs_folder
from ..runs.state_file import RunStatus
from ..runs.supervisor_lock import busy_runs
from ..runs.timeline import run_cost
from ..views.runs import CUT_SHORT, RunList, RunRow, RunsView, render_runs
from ..views.terminal import Terminal
from .lazy_group import LazyGroup

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


# Helpers of the `bmad runs` commands. They read neither board nor settings: those may be broken, and importing
# their readers takes as long as reading a hundred runs.

MAX_RUNS = 20  # shown without --all


def project_root(ctx: click.Context) -> Root:
    return find_root(ctx.obj[0])


def print_runs(ctx: click.Context, *, shows_all: bool, as_json: bool) -> None:
    root = project_root(ctx)
    runs = runs_folder(root.path)
    found = all_runs(runs, include_archived=shows_all)
    if not found:
        refuse_unreadable(runs)
    shown = found if shows_all or as_json else found[:MAX_RUNS]
    more = len(found) - len(shown)
    if not shows_all and not as_json:
        more += len(find_archived(runs))
    busy = busy_runs(root.state_folder) if any(run.state.status is RunStatus.RUNNING for run in shown) else set()
    view = RunsView([run_row(with_target(run), busy) for run in shown], more, time.time())
    if as_json:
        from .context import print_json

        print_json("runs", RunList(view.rows))
    else:
        click.echo("\n".join(render_runs(view, Terminal(ctx.obj[1]))))


def run_row(run: Run, busy: set[str]) -> RunRow:
    state, money = run.state, run_cost(run.folder)
    return RunRow(
        run=run.id,
        session=run.session,
        target=run.target or state.workflow_path,
        status=status_word(run, busy),
        step=state.current_step,
        total=state.total_steps,
        started_at=state.started_at or None,
        last_checkpoint=state.last_checkpoint or None,
        checkpoint=state.checkpoint_id or None,
        dollars=round(money.dollars, 6),
        unpriced=money.unpriced,
        calls=money.calls,
        archived=run.is_archived,
        protocol=run.is_protocol,
    )


def status_word(run: Run, busy: set[str]) -> str:
    """A run marked running without a live supervisor was cut short. Protocol runs never have a supervisor."""
    is_left = run.state.status is RunStatus.RUNNING and not run.is_protocol and run.id not in busy
    return CUT_SHORT if is_left else run.state.status.value


def complete_run(ctx: click.Context, param: click.Parameter, incomplete: str) -> "list[CompletionItem]":
    """Completion must be silent: on any error it returns nothing."""
    from click.shell_completion import CompletionItem

    start = ctx.find_root().params.get("project") or "."
    try:
        found = all_runs(runs_folder(find_root(start).path))
        return [CompletionItem(run.id) for run in found if run.id.startswith(incomplete)][:100]
    except Exception:
        return []


# Subcommand → (module, summary). Imported when used, to keep the list of runs fast.
COMMANDS = {
    "show": ("runs_show", "What a run did: its steps, calls, questions, checkpoints, commits."),
    "why": ("runs_show", "What a decision was made from, and the rule it followed."),
    "diff": ("runs_diff", "What changed between two checkpoints."),
    "clean": ("runs_clean", "Move old runs to the archive; delete what is there."),
    "session": ("runs_clean", "The session branches; archive one."),
}


@click.group(cls=LazyGroup, commands_by_name=COMMANDS, invoke_without_command=True)
@click.option("--all", "shows_all", is_flag=True, help="All of them, those in the archive too.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def runs(ctx: click.Context, shows_all: bool, as_json: bool) -> None:
    """The runs of this project, the newest first. RUN is a run's name, the beginning of one that only one run has,
    or SESSION/RUN."""
    if ctx.invoked_subcommand is None:
        print_runs(ctx, shows_all=shows_all, as_json=as_json)
