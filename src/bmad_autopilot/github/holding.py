"""Trees that no commit has, held by a ref for as long as a run needs them, whoever runs `git gc --prune=now`."""

from .git import Git, check_revision
from .saving import REFS

HELD = f"{REFS}held/"
_NO_OBJECT = 128


def hold(git: Git, run: str, tree: str) -> bool:
    """False: the tree is gone already."""
    check_revision(tree)
    return git.ask("update-ref", f"{HELD}{run}/{tree}", tree, codes=(0, _NO_OBJECT)).code == 0


def let_go(git: Git, run: str) -> None:
    """All that this run holds."""
    refs = git.ask("for-each-ref", "--format=%(refname)", f"{HELD}{run}/").text.split()
    if refs:
        git.ask("update-ref", "--stdin", feed="".join(f"delete {ref}\n" for ref in refs).encode())
