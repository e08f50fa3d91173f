"""bmad runs diff: what changed between two checkpoints."""

import time

import click

from ..core.changes import Change
from ..core.errors import AutopilotError, UsageError
from ..project.root import Root
from ..runs.checkpoints import Checkpoint, artefacts_until, checkpoints_of, find_checkpoint
from ..runs.differences import differences
from ..runs.finding import find_run
from ..runs.layout import runs_folder
from ..views.runs_diff import DiffView, document, render
from ..views.terminal import Terminal
from .facts import print_json
from .runs_reading import the_root

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
    root = the_root(ctx)
    named = (_meant(runs_folder(root.path), wanted) for wanted in (before, after))
    one, other = (at._replace(artefacts=artefacts_until(at)) for at in named)
    files, why_not = _files(root, one, other)
    view = DiffView(one, other, differences(one, other), files, why_not, time.time())
    if as_json:
        print_json(document(view))
    else:
        click.echo("\n".join(render(view, Terminal(ctx.obj[1]))))


def _meant(runs: str, wanted: str) -> Checkpoint:
    name, sign, step = wanted.rpartition("@")
    if not sign:
        return find_checkpoint(runs, wanted)
    run = find_run(runs, name or None)
    known = checkpoints_of(run.folder, run.session, taken_over=True)
    found = [one for one in known if step in (str(one.step), one.name)]
    if not found:
        named = ", ".join(f"{one.step} {one.name}" for one in known[-MOST_NAMED:]) or "none"
        raise UsageError(f"{run.id} has no checkpoint of step {step!r}", expected=f"one of: {named}")
    return found[-1]


def _files(root: Root, one: Checkpoint, other: Checkpoint) -> tuple[list[Change] | None, str]:
    """The files that differ; or why nobody can tell."""
    from ..github.git import Git
    from ..github.trees import changes

    if one.tree is None or other.tree is None:
        return None, "no work tree was recorded with " + (one.id if one.tree is None else other.id)
    if root.common_dir is None:
        return None, "this project is under no git repository any more"
    try:
        return changes(Git(root.path), one.tree, other.tree), ""
    except AutopilotError as error:
        return None, f"git has the work trees no more ({error.message})"
