"""bmad runs clean and bmad runs session: archive old runs, delete archived ones, list sessions."""

import sys
import time
from collections import Counter
from contextlib import suppress
from typing import Literal, NamedTuple

import click

from ..core.errors import AutopilotError, UsageError
from ..core.json_types import Count, pick
from ..core.text import printable
from ..engine.run_refs import clean_runs, release_refs
from ..project.root import Root
from ..runs.index import Run, all_runs, with_target
from ..runs.layout import folder_name, runs_folder
from ..runs.retention import RETENTION_DAYS, ExpiredRun, archive_session, delete_archived_run, expired_runs
from ..runs.state_file import RunStatus
from ..runs.supervisor_lock import busy_runs
from ..views.format import pluralize
from ..views.runs import SessionList, SessionRow, render_sessions
from ..views.terminal import Terminal
from .context import print_json
from .runs import project_root, status_word


@click.command(short_help="Old runs to the archive; delete what is there.")
@click.option("--dry-run", is_flag=True, help="Only say what would be done.")
@click.option("--delete", "deletes", is_flag=True, help="Delete what is in the archive, for good.")
@click.option("--yes", is_flag=True, help="Do not ask before deleting.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def clean(ctx: click.Context, dry_run: bool, deletes: bool, yes: bool, as_json: bool) -> None:
    """Move runs to the archive that were completed more than 7 days ago, or failed more than 30 days ago. Running
    and paused ones always stay. This also happens by itself whenever a run begins.

    --delete removes what is in the archive for good, with the work trees git keeps for its checkpoints."""
    root = project_root(ctx)
    runs, now, busy = runs_folder(root.path), time.time(), busy_runs(root.state_folder)
    moved = expired_runs(runs, now, busy=busy) if dry_run else clean_runs(root, now, busy=busy)
    if not as_json:
        _print_moved(moved, dry_run)
    gone: list[Run] = []
    if deletes:
        archived = [run for run in all_runs(runs, include_archived=True) if run.is_archived]
        gone = archived if dry_run else _delete(root, archived, yes=yes or not archived)
        if not as_json:
            _print_deleted(gone, dry_run)
    if as_json:
        print_json("runs-clean", _cleanup(moved, gone, dry_run))


def _delete(root: Root, archived: list[Run], *, yes: bool) -> list[Run]:
    if not yes:
        question = f"Delete {pluralize(len(archived), 'archived run')} for good?"
        if not sys.stdin.isatty():
            raise UsageError("deleting needs --yes where nobody can be asked", found=question)
        if not click.confirm(question):
            return []
    from ..git.git import Git
    from ..git.refs import delete_run_refs

    git = Git(root.path) if root.common_dir is not None else None
    for run in archived:
        if git is not None:
            with suppress(AutopilotError):  # a run id that is no valid ref name has no ref
                delete_run_refs(git, run.id)
        delete_archived_run(run)
    return archived


def _print_moved(moved: list[ExpiredRun], dry_run: bool) -> None:
    for one in moved:
        click.echo(f"{printable(one.session)}/{printable(one.run)}  {one.reason}")
    completed, failed = RETENTION_DAYS[RunStatus.COMPLETED], RETENTION_DAYS[RunStatus.FAILED]
    days = f"completed ones stay {completed} days, failed ones {failed}"
    if not moved:
        click.echo(f"nothing to archive: {days}, running and paused ones for ever")
    else:
        would = "would be moved" if dry_run else "moved"
        click.echo(f"{pluralize(len(moved), 'run')} {would} to the archive; bmad runs --all shows them")


def _print_deleted(gone: list[Run], dry_run: bool) -> None:
    for run in gone:
        click.echo(f"{printable(run.session)}/{printable(run.id)}")
    would = "would be deleted" if dry_run else "deleted"
    click.echo(f"{pluralize(len(gone), 'archived run')} {would}")


class ArchivedRun(NamedTuple):
    run: str
    session: str
    status: Literal[RunStatus.COMPLETED, RunStatus.FAILED]
    days: Count
    why: str


class DeletedRun(NamedTuple):
    run: str
    session: str


class Cleanup(NamedTuple):
    dry_run: bool
    archived: list[ArchivedRun]
    deleted: list[DeletedRun]


def _cleanup(moved: list[ExpiredRun], gone: list[Run], dry_run: bool) -> Cleanup:
    archived = [pick(ArchivedRun, one, why=one.reason) for one in moved]
    return Cleanup(dry_run, archived, [DeletedRun(run.id, run.session) for run in gone])


# bmad runs session


@click.group()
def session() -> None:
    """A session branch groups runs; two runs of one workflow may go on side by side in two of them."""


@session.command("list", short_help="The sessions, with their runs by status.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def list_(ctx: click.Context, as_json: bool) -> None:
    """The sessions that have runs, the one with the newest first."""
    root = project_root(ctx)
    busy = busy_runs(root.state_folder)
    grouped: dict[str, list[Run]] = {}
    for run in all_runs(runs_folder(root.path)):
        grouped.setdefault(run.session, []).append(run)
    rows = [SessionRow(name, _statuses(own, busy), own[0].last_activity or None) for name, own in grouped.items()]
    if as_json:
        print_json("sessions", SessionList(rows))
    else:
        click.echo("\n".join(render_sessions(rows, time.time(), Terminal(ctx.obj[1]))))


def _statuses(own: list[Run], busy: set[str]) -> dict[str, int]:
    with_targets = (with_target(run) if run.state.status is RunStatus.RUNNING else run for run in own)
    return dict(Counter(status_word(run, busy) for run in with_targets).most_common())


@session.command("archive", short_help="Move all runs of a session to the archive.")
@click.argument("name")
@click.pass_context
def archive(ctx: click.Context, name: str) -> None:
    """Move all runs of the session NAME to the archive, unless one of them is running or paused."""
    root = project_root(ctx)
    moved = archive_session(runs_folder(root.path), folder_name(name), busy=busy_runs(root.state_folder))
    release_refs(root, [run.id for run in moved])
    for run in moved:
        click.echo(f"{printable(run.session)}/{printable(run.id)}  {run.state.status.value}")
    click.echo(f"{pluralize(len(moved), 'run')} moved to the archive; bmad runs --all shows them")
