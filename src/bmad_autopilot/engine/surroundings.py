"""What a checkpoint records of the world beside its run: git's head and work tree, the board's rows."""

from contextlib import suppress

from ..board.sprint import read_board
from ..core.errors import AutopilotError
from ..github.checkpoint_refs import CHECKPOINTS
from ..github.git import Git
from ..github.history import branch_of, head_of
from ..github.saving import save_all
from ..project.open import Project
from ..runs.protocol import NOWHERE, Surroundings


def surroundings(project: Project, run: str, step: int) -> Surroundings:
    """As much as can be seen: without a repository, or with a broken board, a checkpoint is made all the same."""
    seen = NOWHERE
    with suppress(AutopilotError):
        rows = read_board(project.require_board()).rows
        seen = seen._replace(rows={key: row.status.raw for key, row in rows.items()})
    git = Git(project.root.checkout)
    if git.work_tree is None:
        return seen
    with suppress(AutopilotError):
        seen = seen._replace(head=head_of(git), branch=branch_of(git))
        ref = f"{CHECKPOINTS}{run}/{step}"
        saved = save_all(git, ref, f"{run}: the work tree at step {step}")
        seen = seen._replace(ref=ref, tree=git.ask("rev-parse", f"{saved}^{{tree}}").text)
    return seen
