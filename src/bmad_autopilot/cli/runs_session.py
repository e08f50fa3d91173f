"""bmad runs session: the session branches, and archiving one."""

import time
from collections import Counter

import click

from ..engine.cleaning import let_go_of
from ..runs.finding import Run, all_runs, with_target
from ..runs.layout import folder_name, runs_folder
from ..runs.retention import archive_session
from ..runs.state import Status
from ..runs.supervisor import busy_runs
from ..views.figures import counted
from ..views.runs import SessionRow, render_sessions, sessions_document
from ..views.terminal import Terminal
from ..views.terminal import clean as shown
from .facts import print_json
from .runs_reading import status_word, the_root


@click.group()
def session() -> None:
    """A session branch groups runs; two runs of one workflow may go on side by side in two of them."""


@session.command("list", short_help="The sessions, with their runs by status.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """The sessions that have runs, the one with the newest first."""
    root = the_root(ctx)
    busy = busy_runs(root.state_folder)
    grouped: dict[str, list[Run]] = {}
    for run in all_runs(runs_folder(root.path)):
        grouped.setdefault(run.session, []).append(run)
    rows = [SessionRow(name, _statuses(own, busy), own[0].last_sign) for name, own in grouped.items()]
    if as_json:
        print_json(sessions_document(rows))
    else:
        click.echo("\n".join(render_sessions(rows, time.time(), Terminal(ctx.obj[1]))))


def _statuses(own: list[Run], busy: set[str]) -> tuple[tuple[str, int], ...]:
    told = (with_target(run) if run.state.status is Status.RUNNING else run for run in own)
    return tuple(Counter(status_word(run, busy) for run in told).most_common())


@session.command("archive", short_help="Move all runs of a session to the archive.")
@click.argument("name")
@click.pass_context
def archive(ctx: click.Context, name: str) -> None:
    """Move all runs of the session NAME to the archive, unless one of them is running or paused."""
    root = the_root(ctx)
    moved = archive_session(runs_folder(root.path), folder_name(name), busy=busy_runs(root.state_folder))
    let_go_of(root, [run.id for run in moved])
    for run in moved:
        click.echo(f"{shown(run.session)}/{shown(run.id)}  {run.state.status.value}")
    click.echo(f"{counted(len(moved), 'run')} moved to the archive; bmad runs --all shows them")
