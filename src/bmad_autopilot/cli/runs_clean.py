"""bmad runs clean: old runs to the archive; for good, where that is asked for."""

import sys
import time
from contextlib import suppress

import click

from ..core.errors import AutopilotError, UsageError
from ..engine.cleaning import clean_runs
from ..project.root import Root
from ..runs.finding import Run, all_runs
from ..runs.layout import runs_folder
from ..runs.retention import DAYS, Old, delete, due
from ..runs.state import Status
from ..runs.supervisor import busy_runs
from ..views.figures import counted
from ..views.terminal import clean as shown
from .facts import print_json
from .runs_reading import the_root


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
    root = the_root(ctx)
    runs, now, busy = runs_folder(root.path), time.time(), busy_runs(root.state_folder)
    moved = due(runs, now, busy=busy) if dry_run else clean_runs(root, now, busy=busy)
    if not as_json:
        _tell_moved(moved, dry_run)
    gone: list[Run] = []
    if deletes:
        archived = [run for run in all_runs(runs, archive=True) if run.is_archived]
        gone = archived if dry_run else _delete(root, archived, yes=yes or not archived)
        if not as_json:
            _tell_deleted(gone, dry_run)
    if as_json:
        print_json(_document(moved, gone, dry_run))


def _delete(root: Root, archived: list[Run], *, yes: bool) -> list[Run]:
    if not yes:
        question = f"Delete {counted(len(archived), 'archived run')} for good?"
        if not sys.stdin.isatty():
            raise UsageError("deleting needs --yes where nobody can be asked", found=question)
        if not click.confirm(question):
            return []
    from ..github.forgetting import forget
    from ..github.git import Git

    git = Git(root.path) if root.common_dir is not None else None
    for run in archived:
        if git is not None:
            with suppress(AutopilotError):  # a name that git takes for none has no ref
                forget(git, run.id)
        delete(run)
    return archived


def _tell_moved(moved: list[Old], dry_run: bool) -> None:
    for one in moved:
        click.echo(f"{shown(one.session)}/{shown(one.run)}  {one.why}")
    days = f"completed ones stay {DAYS[Status.COMPLETED]} days, failed ones {DAYS[Status.FAILED]}"
    if not moved:
        click.echo(f"nothing to archive: {days}, running and paused ones for ever")
    else:
        would = "would be moved" if dry_run else "moved"
        click.echo(f"{counted(len(moved), 'run')} {would} to the archive; bmad runs --all shows them")


def _tell_deleted(gone: list[Run], dry_run: bool) -> None:
    for run in gone:
        click.echo(f"{shown(run.session)}/{shown(run.id)}")
    would = "would be deleted" if dry_run else "deleted"
    click.echo(f"{counted(len(gone), 'archived run')} {would}")


def _document(moved: list[Old], gone: list[Run], dry_run: bool) -> dict[str, object]:
    return {
        "version": 1,
        "kind": "runs-clean",
        "dry_run": dry_run,
        "archived": [
            {"run": one.run, "session": one.session, "status": one.status.value, "days": one.days, "why": one.why}
            for one in moved
        ],
        "deleted": [{"run": run.id, "session": run.session} for run in gone],
    }
