"""Work kept under a ref of ours before anything is put back: a reset that loses nothing."""

from .commits import commit_tree, move_ref
from .git import Git, GitError, check_revision
from .index import copied_index
from .messages import write_message

REFS = "refs/autopilot/"
SAVED = f"{REFS}saved/"  # a story's work, set aside or begun anew


def save(git: Git, ref: str, tree: str, parent: str | None, message: str) -> str:
    """Put this tree under the ref, as a commit on `parent`. A ref that holds it already is left alone; one that
    holds something else keeps that too, as a further parent."""
    check_ref(ref)
    check_revision(tree, *([parent] if parent is not None else []))
    kept, kept_tree = _kept(git, ref)
    if kept_tree == tree:
        return kept
    parents = dict.fromkeys(commit for commit in (parent, kept) if commit)
    made = commit_tree(git, tree, parents, write_message(message, {}))
    move_ref(git, ref, made, kept)
    return made


def save_all(git: Git, ref: str, message: str) -> str:
    """The whole work tree with its untracked files (not the ignored ones), saved. The index stays as it is."""
    with copied_index(git) as index:
        git.ask("add", "--all", "--", ".", index=index)
        tree = git.ask("write-tree", index=index).text
    head = git.ask("rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)).text
    return save(git, ref, tree, head or None, message)


def check_ref(ref: str) -> None:
    if not ref.startswith(REFS):
        raise GitError("is not a ref of ours", found=ref[:80], expected=f"{REFS}…")


def _kept(git: Git, ref: str) -> tuple[str, str]:
    """The commit a ref holds and its tree; empty where there is none."""
    rows = git.ask("for-each-ref", "--format=%(objectname) %(tree) %(refname)", ref).text.splitlines()
    found = {name: (commit, tree) for commit, tree, name in (row.split(" ", 2) for row in rows)}
    return found.get(ref, ("", ""))
