"""Branches and the work tree: switching to one, and moving one with the files that are checked out. Nothing that
is not committed is ever written over."""

import os
from collections.abc import Iterator

from ..core.errors import ConflictError, Place
from .commits import move_ref
from .git import Git, GitError, MovedError, check_revision
from .ground import Ground, look_at_ground, unfit
from .history import is_ancestor
from .index import Difference, read_raw
from .paths import show

_HEADS = "refs/heads/"


def switch(git: Git, branch: str, start: str | None) -> None:
    """Check this branch out. One that does not exist begins at `start`; without that it is an error."""
    ground = look_at_ground(git)
    if ground.branch == branch and ground.head is not None and ground.operation is None:
        return
    _refuse_unsafe(ground)
    target = _commit_of(git, f"{_HEADS}{branch}")
    place = work_tree_of(git, branch) if target else None
    if place is not None:
        hint = f"work there, or free it: git worktree remove {place}"
        raise ConflictError(f"{branch} is checked out in another work tree", place=Place(place), hint=hint)
    commit = target or (_commit_of(git, start) if start else "")
    if not commit:
        expected = "a branch that exists" if start is None else "a commit to begin at"
        raise GitError("there is no such branch or commit", found=start or branch, expected=expected)
    _refuse_overwriting(git, ground.head or commit, commit)
    options = ("--quiet", "--no-overwrite-ignore", "--no-guess", "--no-recurse-submodules")
    create = () if target else ("--no-track", "--create")
    git.ask("switch", *options, *create, branch, *(() if target else (commit,)))


def move_branch(git: Git, branch: str, new: str, old: str) -> None:
    """From `old` (empty: there was none) forward to `new`, if it is still at `old`. Where it is checked out, index
    and files come along. They come first: cut short in between, the next call sees that they are there already."""
    check_revision(new, *([old] if old else []))
    if old and not is_ancestor(git, old, new):
        raise ConflictError(f"{branch} would lose commits", found=new[:12], expected=f"one that holds {old[:12]}")
    place = work_tree_of(git, branch) if old else None
    if place is not None and new != old:
        _bring_along(Git(place), branch, new, old)
    move_ref(git, f"{_HEADS}{branch}", new, old)


def work_tree_of(git: Git, branch: str) -> str | None:
    """Where this branch is checked out."""
    folder = ""
    for field in git.ask("worktree", "list", "--porcelain", "-z").fields:
        name, _, value = field.partition(" ")
        if name == "worktree":
            folder = value
        elif name == "branch" and value == f"{_HEADS}{branch}" and os.path.isdir(folder):
            return folder
    return None


def _bring_along(git: Git, branch: str, new: str, old: str) -> None:
    ground = look_at_ground(git)
    if (ground.branch, ground.head) != (branch, old):
        found = f"{ground.branch or 'no branch'} at {(ground.head or 'no commit')[:12]}"
        expected = f"{branch} at {old[:12]}"
        raise MovedError("has moved meanwhile", place=Place(git.top), found=found, expected=expected)
    git.ask("update-index", "-q", "--refresh", codes=(0, 1))  # else a touched file is taken for a changed one
    if ground.dirty and _is_as(git, new):
        return
    _refuse_unsafe(ground)
    _refuse_overwriting(git, old, new)
    git.ask("read-tree", "-m", "-u", old, new)


def _is_as(git: Git, commit: str) -> bool:
    """Are index and tracked files as in this commit?"""
    options = (("--cached",), ())
    return all(git.ask("diff-index", "--quiet", *how, commit, "--", codes=(0, 1)).code == 0 for how in options)


def _refuse_unsafe(ground: Ground) -> None:
    if (error := unfit(ground)) is not None:
        raise error
    if ground.dirty:
        raise ConflictError(
            "tracked files have changes that are not committed",
            place=Place(ground.folder),
            found=show(ground.dirty),
            hint="commit them, or put them aside: git stash",
        )


def _refuse_overwriting(git: Git, before: str, after: str) -> None:
    options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
    rows = read_raw(iter(git.ask("diff-tree", *options, before, after, "--").fields))
    new = [path for path, row in rows.items() if row.after.is_there and not row.before.is_there]
    found = sorted({place for path in new for place in _in_the_way(git.top, path, rows)})
    if found:
        raise ConflictError(
            "untracked files stand where the branch has files",
            place=Place(git.top),
            found=show(found),
            hint="move them away, or commit them",
        )


def _in_the_way(top: str, path: str, rows: dict[str, Difference]) -> Iterator[str]:
    """What git does not track, and would have to go. Ignored files too: git would write over those in silence."""

    def is_tracked(one: str) -> bool:
        return one in rows and rows[one].before.is_there

    folder = os.path.dirname(path)
    while folder:
        place = os.path.join(top, folder)
        if os.path.lexists(place) and (os.path.islink(place) or not os.path.isdir(place)):
            if not is_tracked(folder):
                yield folder
            return
        folder = os.path.dirname(folder)
    place = os.path.join(top, path)
    if os.path.isdir(place) and not os.path.islink(place):
        for inside, _, names in os.walk(place):
            files = (os.path.relpath(os.path.join(inside, name), top) for name in names)
            yield from (one for one in files if not is_tracked(one))
    elif os.path.lexists(place):
        yield path


def _commit_of(git: Git, revision: str) -> str:
    """Empty: there is none."""
    check_revision(revision)
    options = ("--verify", "--quiet", "--end-of-options")
    return git.ask("rev-parse", *options, f"{revision}^{{commit}}", codes=(0, 1, 128)).text
