"""bmad runs diff: compare two checkpoints."""

import time

import click

from ..core.changes import FileChange
from ..core.errors import AutopilotError, UsageError
from ..project.root import Root
from ..runs.checkpoints import Checkpoint, artefacts_until, compare_checkpoints, find_checkpoint, list_checkpoints
from ..runs.index import find_run
from ..runs.layout import runs_folder
from ..views.run_details import DiffView, checkpoint_diff, render_diff
from ..views.terminal import Terminal
from .context import print_json
from .runs import project_root

MOST_NAMED = 12


@click.command(short_help="What changed between two checkpoints.")
@click.argument("before")
@click.argument("after")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
@click.pass_context
def diff(ctx: click.Context, before: str, after: str, as_json: bool) -> None:
    """What changed from one checkpoint to another: variables, rows of the board, artefacts, git's head, and the
    files of their work trees.

    Each is named by the beginning of its id, or by RUN@STEP (a step's number or its name)."""
    root = project_root(ctx)
    named = (_find_named_checkpoint(runs_folder(root.path), wanted) for wanted in (before, after))
    one, other = (at._replace(artefacts=artefacts_until(at)) for at in named)
    files, why_not = _files(root, one, other)
    view = DiffView(one, other, compare_checkpoints(one, other), files, why_not, time.time())
    if as_json:
        print_json("checkpoint-diff", checkpoint_diff(view))
    else:
        click.echo("\n".join(render_diff(view, Terminal(ctx.obj[1]))))


def _find_named_checkpoint(runs: str, wanted: str) -> Checkpoint:
    name, sign, step = wanted.rpartition("@")
    if not sign:
        return find_checkpoint(runs, wanted)
    run = find_run(runs, name or None)
    known = list_checkpoints(run.folder, run.session, include_inherited=True)
    found = [one for one in known if step in (str(one.step), one.name)]
    if not found:
        named = ", ".join(f"{one.step} {one.name}" for one in known[-MOST_NAMED:]) or "none"
        raise UsageError(f"{run.id} has no checkpoint of step {step!r}", expected=f"one of: {named}")
    return found[-1]


def _files(root: Root, one: Checkpoint, other: Checkpoint) -> tuple[list[FileChange] | None, str]:
    """The files that differ, or None and why they cannot be compared."""
    from ..git.git import Git
    from ..git.trees import diff_trees

    if one.tree is None or other.tree is None:
        return None, "no work tree was recorded with " + (one.id if one.tree is None else other.id)
    if root.common_dir is None:
        return None, "this project is under no git repository any more"
    try:
        return diff_trees(Git(root.path), one.tree, other.tree), ""
    except AutopilotError as error:
        return None, f"git has the work trees no more ({error.message})"
