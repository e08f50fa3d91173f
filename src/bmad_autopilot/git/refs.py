"""Saves work under refs/autopilot before restoring files, so that no reset loses work."""

import os
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress

from ..core.errors import ConflictError, FileError, Location
from .commits import classify_paths, commit_tree, move_ref, update_index
from .git import Git, GitError, check_revision, encode, format_paths, is_inside, join_with_nul
from .history import write_message
from .index import GITLINK, TreeDifference, compare_index, copied_index, temporary_index, write_entries

REFS = "refs/autopilot/"
SAVED = f"{REFS}saved/"  # a story's work, saved before it is skipped or restarted


def save_tree(git: Git, ref: str, tree: str, parent: str | None, message: str) -> str:
    """Saves the tree under the ref, as a commit on `parent`. If the ref already has this tree, nothing changes; if
    it has another, the old commit becomes an additional parent."""
    check_ref(ref)
    check_revision(tree, *([parent] if parent is not None else []))
    kept, kept_tree = _saved_commit(git, ref)
    if kept_tree == tree:
        return kept
    parents = dict.fromkeys(commit for commit in (parent, kept) if commit)
    made = commit_tree(git, tree, parents, write_message(message, {}))
    move_ref(git, ref, made, kept)
    return made


def save_work_tree(git: Git, ref: str, message: str) -> str:
    """Saves the whole work tree including untracked, but not ignored, files. The index is unchanged."""
    with copied_index(git) as index:
        git.ask("add", "--all", "--", ".", index=index)
        tree = git.ask("write-tree", index=index).text
    head = git.ask("rev-parse", "--verify", "--quiet", "HEAD", codes=(0, 1)).text
    return save_tree(git, ref, tree, head or None, message)


def check_ref(ref: str) -> None:
    if not ref.startswith(REFS):
        raise GitError("is not a ref of ours", found=ref[:80], expected=f"{REFS}…")


def _saved_commit(git: Git, ref: str) -> tuple[str, str]:
    """The ref's commit and its tree; empty if missing."""
    rows = git.ask("for-each-ref", "--format=%(objectname) %(tree) %(refname)", ref).text.splitlines()
    found = {name: (commit, tree) for commit, tree, name in (row.split(" ", 2) for row in rows)}
    return found.get(ref, ("", ""))


# Pinned trees: refs that protect uncommitted trees from `git gc --prune=now` while a run needs them.

PINNED = f"{REFS}held/"
_NO_OBJECT = 128


def pin_tree(git: Git, run: str, tree: str) -> bool:
    """False if the tree no longer exists."""
    check_revision(tree)
    return git.ask("update-ref", f"{PINNED}{run}/{tree}", tree, codes=(0, _NO_OBJECT)).code == 0


def unpin_trees(git: Git, run: str) -> None:
    """Removes all pins of this run."""
    refs = git.ask("for-each-ref", "--format=%(refname)", f"{PINNED}{run}/").text.split()
    if refs:
        git.ask("update-ref", "--stdin", feed="".join(f"delete {ref}\n" for ref in refs).encode())


# Checkpoints: refs to the work tree's tree and to the commit that was checked out.
#
# The ref points to the tree directly, not to a commit: one git process instead of two halves the cost of a
# checkpoint.

CHECKPOINTS = f"{REFS}checkpoints/"


def save_checkpoint(git: Git, run: str, step: int, tree: str, head: str | None) -> str:
    """Returns the tree's ref. Idempotent."""
    check_revision(tree, *([head] if head is not None else []))
    ref = f"{CHECKPOINTS}{run}/{step}"
    kept = {ref: tree, **({f"{ref}.head": head} if head is not None else {})}
    git.ask("update-ref", "--stdin", feed="".join(f"update {name} {sha}\n" for name, sha in kept.items()).encode())
    return ref


# Deleting the refs of a run.


def delete_run_refs(git: Git, run: str) -> int:
    """Deletes all refs of this run and returns their number. git's next gc removes objects that only they kept."""
    kept = [f"{place}{run}/" for place in (PINNED, CHECKPOINTS, SAVED)]
    refs = git.ask("for-each-ref", "--format=%(refname)", *kept).text.split()
    if refs:
        git.ask("update-ref", "--stdin", feed="".join(f"delete {ref}\n" for ref in refs).encode())
    return len(refs)


# Restoring files from a tree. Only saved content is overwritten, so no work is lost.


def restore_paths(git: Git, tree: str, paths: Iterable[str], *, saved_ref: str) -> list[str]:
    """Restores these paths from `tree` in the work tree and the index; paths not in the tree are removed.
    `saved_ref`: the ref with the current content, which is verified before anything is touched. Returns the
    changed paths.

    Can be repeated after an interruption: a path may be as saved, missing, or already restored."""
    check_revision(tree)
    check_ref(saved_ref)
    named = {path for path in paths if is_inside(path)}
    to_do = _paths_to_restore(git, tree, named, saved_ref)
    in_the_way = [
        path for path, row in to_do.items() if row.before.exists and not _can_write(git.top, path, named)
    ]
    if in_the_way:
        raise _conflict("something that was not saved stands in the way", in_the_way)
    for path, row in to_do.items():
        if row.after.exists and row.after.mode != GITLINK and not row.before.exists:
            _remove(git.top, path)
    staged = compare_index(git, tree)
    write_entries(git, ((path, row.before) for path, row in staged.items() if path in named))
    files = [path for path, row in to_do.items() if row.before.exists and row.before.mode != GITLINK]
    if files:
        git.ask("checkout-index", "-f", "-u", "-z", "--stdin", feed=join_with_nul(files))
    return sorted(to_do)


def restore_missing(git: Git, tree: str, path: str) -> list[str]:
    """Writes missing files at or below this path from `tree`. Overwrites nothing and leaves the index unchanged.
    Returns the written paths."""
    check_revision(tree)
    if not is_inside(path):
        return []
    rows = git.ask("ls-tree", "-r", "-z", "--name-only", "--full-tree", tree, "--", path).fields
    missing = [name for name in rows if _is_missing(git.top, name)]
    if missing:
        with temporary_index() as index:
            git.ask("read-tree", tree, index=index)
            git.ask("checkout-index", "-q", "-z", "--stdin", feed=join_with_nul(missing), index=index)
    return missing


def _is_missing(top: str, path: str) -> bool:
    """Whether the path is missing and no link or file blocks one of its parent folders."""
    return not os.path.lexists(os.path.join(top, path)) and _can_write(top, path, frozenset())


def _paths_to_restore(git: Git, tree: str, named: Set[str], saved_ref: str) -> dict[str, TreeDifference]:
    """Paths where the work tree differs from the tree: `before` is the wanted state, `after` the current one."""
    with copied_index(git) as index:
        update_index(git, classify_paths(git.top, sorted(named)), index=index)
        unsaved = compare_index(git, saved_ref, index=index)
        wanted = compare_index(git, tree, index=index)
    to_do = {path: row for path, row in wanted.items() if path in named}
    lost = [path for path, row in to_do.items() if path in unsaved and row.after.exists]
    if lost:
        raise _conflict(f"these files are not as {saved_ref} holds them", lost)
    return to_do


def _can_write(top: str, path: str, named: Set[str]) -> bool:
    """Whether a file may be written here: not through a link or over a file that is not in `named`, and not in
    place of a folder that contains other files."""
    folder = os.path.dirname(path)
    while folder:
        folder_on_disk = os.path.join(top, folder)
        if os.path.islink(folder_on_disk) or os.path.isfile(folder_on_disk):
            return folder in named
        if os.path.lexists(os.path.join(folder_on_disk, ".git")):
            return False
        folder = os.path.dirname(folder)
    return all(inside in named for inside in _files_below(top, path))


def _files_below(top: str, path: str) -> Iterator[str]:
    path_on_disk = os.path.join(top, path)
    if os.path.isdir(path_on_disk) and not os.path.islink(path_on_disk):
        for folder, folders, files in os.walk(path_on_disk):
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            yield from (os.path.relpath(os.path.join(folder, name), top) for name in (*files, *links))


def _remove(top: str, path: str) -> None:
    """Removes the file and the folders that become empty."""
    try:
        with suppress(FileNotFoundError):
            os.unlink(encode(os.path.join(top, path)))
    except OSError as error:
        raise FileError(
            f"cannot be removed: {error.strerror}", location=Location(os.path.join(top, path))
        ) from None
    with suppress(OSError):  # stops at the first non-empty folder
        while path := os.path.dirname(path):
            os.rmdir(encode(os.path.join(top, path)))


def _conflict(message: str, paths: list[str]) -> ConflictError:
    hint = "nothing was touched; save the work tree again, then try again"
    return ConflictError(message, found=format_paths(sorted(paths)), hint=hint)
