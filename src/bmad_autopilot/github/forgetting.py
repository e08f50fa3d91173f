"""The refs of a run that is deleted for good."""

from .checkpoint_refs import CHECKPOINTS
from .git import Git
from .holding import HELD
from .saving import SAVED


def forget(git: Git, run: str) -> int:
    """All that was kept under this run's name; how many refs there were. What only they held, git removes when it
    next cleans up."""
    kept = [f"{place}{run}/" for place in (HELD, CHECKPOINTS, SAVED)]
    refs = git.ask("for-each-ref", "--format=%(refname)", *kept).text.split()
    if refs:
        git.ask("update-ref", "--stdin", feed="".join(f"delete {ref}\n" for ref in refs).encode())
    return len(refs)
