"""The work tree as it stood at a checkpoint: a commit under a ref of ours, on the commit that was checked out."""

from .commits import commit_tree
from .git import Git, check_revision
from .messages import write_message
from .saving import REFS

CHECKPOINTS = f"{REFS}checkpoints/"


def keep_checkpoint(git: Git, run: str, step: int, tree: str, head: str | None) -> str:
    """The ref. Kept once more, it holds the same tree."""
    check_revision(tree, *([head] if head is not None else []))
    ref = f"{CHECKPOINTS}{run}/{step}"
    message = write_message(f"Step {step} of run {run}", {})
    made = commit_tree(git, tree, [head] if head is not None else [], message)
    git.ask("update-ref", ref, made)
    return ref
