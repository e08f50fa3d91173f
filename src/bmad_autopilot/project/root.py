"""Find the project from wherever the user stands: a sub-folder, a linked worktree, a part of a monorepo."""

import os
from typing import NamedTuple

from ..core.errors import FileError, Place
from .gitdir import WorkTree, find_work_tree, main_checkout
from .traces import OUTPUT_FOLDER, has_traces


class Root(NamedTuple):
    """Where a project is. In a monorepo all three are the project's sub-folder, not git's top."""

    path: str  # the owner: the project in the main checkout. State and locks belong here
    checkout: str  # the project in the work tree we stand in; the owner itself outside linked worktrees
    common_dir: str | None  # git's common dir; None without git

    @property
    def is_linked(self) -> bool:
        return self.path != self.checkout

    @property
    def places(self) -> tuple[str, ...]:
        """Where project files may lie: here first, then at the owner (git ignores them in many projects)."""
        return (self.checkout, self.path) if self.is_linked else (self.path,)

    @property
    def state_folder(self) -> str:
        """Ours alone, shared by all worktrees, and never part of the tree."""
        return os.path.join(self.common_dir or os.path.join(self.path, OUTPUT_FOLDER), "bmad-autopilot")


def find_root(start: str) -> Root:
    """The project that `start` is part of. Without any trace of BMAD: git's top, else `start` itself."""
    if "\0" in start or not os.path.isdir(start):
        what = "is not a folder" if "\0" not in start and os.path.lexists(start) else "no such folder"
        raise FileError(what, place=Place(start.replace("\0", "\\0")), expected="a folder inside the project")
    try:
        start = os.path.realpath(start)
    except OSError as error:
        raise FileError(
            f"cannot be found: {error.strerror}", place=Place(start), hint="cd to a folder that exists"
        ) from None
    tree = find_work_tree(start)
    if tree is None:
        folder = _nearest(start) or start
        return Root(folder, folder, None)
    if tree.is_submodule:
        return _in_submodule(start, tree)
    return _in_tree(start, tree)[0]


def _in_tree(start: str, tree: WorkTree) -> tuple[Root, bool]:
    """The project inside one work tree, and whether it has traces of BMAD."""
    owner = main_checkout(tree)
    folder = start
    while True:
        part = os.path.relpath(folder, tree.top)
        there = owner if part == "." else os.path.join(owner, part)
        found = has_traces(folder) or (there != folder and has_traces(there))
        if found or folder == tree.top:
            return Root(there, folder, tree.common_dir), found
        folder = os.path.dirname(folder)


def _in_submodule(start: str, tree: WorkTree) -> Root:
    """A sub-module without BMAD belongs to the project it is part of."""
    root, found = _in_tree(start, tree)
    outer = None if found else find_work_tree(os.path.dirname(tree.top))
    if outer is not None:
        outer_root, found = _in_tree(os.path.dirname(tree.top), outer)
        if found:
            return outer_root
    return root


def _nearest(start: str) -> str | None:
    folder = start
    while not has_traces(folder):
        parent = os.path.dirname(folder)
        if folder == parent:
            return None
        folder = parent
    return folder
