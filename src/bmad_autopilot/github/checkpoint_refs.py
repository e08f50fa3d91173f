"""The work tree as it stood at a checkpoint: refs of ours to its tree, and to the commit that was checked out.

A ref to the bare tree, and no commit on it: one git process instead of two, which is half of what a checkpoint
costs."""

from .git import Git, check_revision
from .saving import REFS

CHECKPOINTS = f"{REFS}checkpoints/"


def keep_checkpoint(git: Git, run: str, step: int, tree: str, head: str | None) -> str:
    """The tree's ref. Kept once more, it holds the same."""
    check_revision(tree, *([head] if head is not None else []))
    ref = f"{CHECKPOINTS}{run}/{step}"
    kept = {ref: tree, **({f"{ref}.head": head} if head is not None else {})}
    git.ask("update-ref", "--stdin", feed="".join(f"update {name} {sha}\n" for name, sha in kept.items()).encode())
    return ref
