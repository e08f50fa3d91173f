"""Git refs of runs: released when a run is archived, created for its checkpoints."""

from collections.abc import Collection, Iterable
from contextlib import suppress

from ..board.sprint_status import read_board
from ..core.errors import AutopilotError
from ..git.git import Git
from ..git.history import current_branch, current_head
from ..git.refs import CHECKPOINTS, save_work_tree, unpin_trees
from ..project.project import Project
from ..project.root import Root
from ..runs.checkpoint_protocol import NO_CONTEXT, CheckpointContext
from ..runs.layout import runs_folder
from ..runs.retention import ExpiredRun, archive_expired_runs


def clean_runs(root: Root, now: float, *, busy: Collection[str] = ()) -> list[ExpiredRun]:
    """Archive old runs and release their refs. Never a reason not to start a run."""
    moved = archive_expired_runs(runs_folder(root.path), now, busy=busy)
    release_refs(root, [old.run for old in moved])
    return moved


def release_refs(root: Root, runs: Iterable[str]) -> None:
    """Unpin the trees of these runs. A ref that git refuses to delete stays."""
    git = Git(root.path) if root.common_dir is not None else None
    for run in runs:
        with suppress(AutopilotError):
            if git is not None:
                unpin_trees(git, run)


# The state a checkpoint records outside its run: git's head and work tree, the board's rows.


def capture_state(project: Project, run: str, step: int) -> CheckpointContext:
    """As much as can be read: a checkpoint needs neither a repository nor a readable board."""
    seen = NO_CONTEXT
    with suppress(AutopilotError):
        rows = read_board(project.require_board()).rows
        seen = seen._replace(rows={key: row.status.raw for key, row in rows.items()})
    git = Git(project.root.checkout)
    if git.work_tree is None:
        return seen
    with suppress(AutopilotError):
        seen = seen._replace(head=current_head(git), branch=current_branch(git))
        ref = f"{CHECKPOINTS}{run}/{step}"
        saved = save_work_tree(git, ref, f"{run}: the work tree at step {step}")
        seen = seen._replace(ref=ref, tree=git.ask("rev-parse", f"{saved}^{{tree}}").text)
    return seen
