"""Finds the project from any folder inside it: a sub-folder, a linked worktree, a part of a monorepo."""

import os
from typing import NamedTuple

from ..core.errors import FileError, Location
from ..io.files import read_text

# The repository of a work tree. `.git`, `commondir` and `config` are read directly: a git process would be too
# slow for `bmad status`.

MAX_GIT_FILE = 64 * 1024
MAX_GIT_CONFIG = 1024 * 1024


class WorkTree(NamedTuple):
    """A folder under git."""

    top: str
    git_dir: str  # its own: `.git`, `.git/worktrees/x`, `.git/modules/x`
    common_dir: str  # shared by all work trees of the repository

    @property
    def is_linked(self) -> bool:
        return self.git_dir != self.common_dir

    @property
    def is_submodule(self) -> bool:
        return "modules" in self.common_dir.rpartition("/.git/")[2].split("/")[:-1]


def find_work_tree(start: str) -> WorkTree | None:
    """The nearest folder with a repository, from `start` upwards; None if there is none."""
    folder = start
    while True:
        entry = os.path.join(folder, ".git")
        # Like git: a `.git` folder without HEAD is no repository, and the search continues.
        if os.path.isfile(entry):
            return _open_work_tree(folder, _read_git_file(entry))
        if os.path.isfile(os.path.join(entry, "HEAD")):
            return _open_work_tree(folder, os.path.realpath(entry))
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def main_checkout(tree: WorkTree) -> str:
    """The main work tree of the repository; the given tree if the repository is bare or its main work tree is
    unknown."""
    if not tree.is_linked:
        return tree.top
    core = _core_section(tree.common_dir)
    if core.get("bare", "false").lower() in ("true", "yes", "on", "1", ""):
        return tree.top
    named = core.get("worktree")
    if named is not None:
        owner = os.path.realpath(os.path.join(tree.common_dir, named))
    elif os.path.basename(tree.common_dir) == ".git":
        owner = os.path.dirname(tree.common_dir)
    else:
        return tree.top
    return owner if os.path.isdir(owner) else tree.top


def _read_git_file(git_file: str) -> str:
    text = read_text(git_file, limit=MAX_GIT_FILE).text
    if not text.startswith("gitdir: "):
        raise FileError(
            "is not a git file",
            location=Location(git_file, 1, 1),
            found=text[:40].strip() or "an empty file",
            expected="gitdir: <folder>",
            hint=f"git worktree repair, or remove {git_file} if it is a leftover",
        )
    target = os.path.join(os.path.dirname(git_file), text[len("gitdir: ") :].rstrip("\r\n"))
    if not os.path.isdir(target):
        raise FileError(
            "names a git folder that is not there",
            location=Location(git_file, 1, 9),
            found=target,
            hint="run `git worktree repair` in the main checkout, or `git submodule update --init`",
        )
    return os.path.realpath(target)


def _open_work_tree(top: str, git_dir: str) -> WorkTree:
    pointer = os.path.join(git_dir, "commondir")
    if not os.path.isfile(pointer):
        return WorkTree(top, git_dir, git_dir)
    named = read_text(pointer, limit=MAX_GIT_FILE).text.rstrip("\r\n")
    common = os.path.realpath(os.path.join(git_dir, named))
    if not os.path.isdir(common):
        raise FileError(
            "names a git folder that is not there",
            location=Location(pointer, 1, 1),
            found=named or "an empty file",
            hint="run `git worktree repair` in the main checkout",
        )
    return WorkTree(top, git_dir, common)


def _core_section(common_dir: str) -> dict[str, str]:
    """`[core]` of the repository's configuration, overridden by `config.worktree` of the main work tree."""
    values: dict[str, str] = {}
    for name in ("config", "config.worktree"):
        path = os.path.join(common_dir, name)
        if not os.path.isfile(path):
            continue
        inside = False
        for raw in read_text(path, limit=MAX_GIT_CONFIG).text.splitlines():
            line = raw.strip()
            if line.startswith("["):
                inside = line.lower().startswith("[core]")
            elif inside and line and line[0] not in "#;":
                key, _, value = line.partition("=")
                values[key.strip().lower()] = value.partition(" #")[0].partition(" ;")[0].strip().strip('"')
    return values


# The files and folders of BMAD that mark a project.

BOARD_NAME = "sprint-status.yaml"
CONFIG_NAME = "bmad-autopilot.toml"

BMAD_FOLDERS = ("_bmad", ".bmad", "bmad")
V4_FOLDER = ".bmad-core"
OUTPUT_FOLDER = "_bmad-output"
TASKS_FOLDER = "_docs/02_tasks"  # a flow's tasks, which have their own board
REPORTS_FOLDER = "_docs/03_implementation"

# Written by the installers; any of them makes a folder a BMAD folder, whatever its name.
INSTALL_MARKERS = (
    "bmm/config.yaml",
    "core/config.yaml",
    "_config/manifest.yaml",
    "_cfg/manifest.yaml",
)

_PROJECT_MARKERS = (
    "_bmad",
    ".bmad",
    "bmad/bmm",
    "bmad/_cfg",
    V4_FOLDER,
    OUTPUT_FOLDER,
    CONFIG_NAME,
    f"docs/{BOARD_NAME}",
    f"docs/sprint-artifacts/{BOARD_NAME}",
)


_BACKUP = ".v6-v7-migration-backup-"
_ARCHIVE = "archive-v6"


def is_migration_backup(name: str) -> bool:
    """Whether the folder is a backup made by BMAD's migration from 6 to 7."""
    return name.startswith(_BACKUP)


def is_archived(path: str) -> bool:
    """Whether a migration archived this board: it is never the project's board."""
    return any(part == _ARCHIVE or is_migration_backup(part) for part in path.split("/"))


def has_project_markers(folder: str) -> bool:
    return any(os.path.lexists(f"{folder}/{trace}") for trace in _PROJECT_MARKERS)


def is_bmad_folder(folder: str) -> bool:
    # BMAD uses TOML only since the folder is called _bmad; elsewhere a config.toml proves nothing.
    names = (
        (*INSTALL_MARKERS, "config.toml", "custom/config.toml") if folder.endswith("/_bmad") else INSTALL_MARKERS
    )
    return any(os.path.isfile(f"{folder}/{name}") for name in names)


class Root(NamedTuple):
    """The project's folders. In a monorepo they are the project's sub-folder, not git's top."""

    path: str  # the project in the main checkout. State and locks belong here
    checkout: str  # the project in the current work tree; the same as `path` outside linked worktrees
    common_dir: str | None  # git's common dir; None without git

    @property
    def is_linked(self) -> bool:
        return self.path != self.checkout

    @property
    def search_folders(self) -> tuple[str, ...]:
        """Where to look for project files: the checkout, then the main checkout (git often ignores them)."""
        return (self.checkout, self.path) if self.is_linked else (self.path,)

    @property
    def state_folder(self) -> str:
        """The autopilot's own folder, shared by all worktrees and never part of the tree."""
        return os.path.join(self.common_dir or os.path.join(self.path, OUTPUT_FOLDER), "bmad-autopilot")


def find_root(start: str) -> Root:
    """The project that contains `start`. Without any file of BMAD: git's top, else `start` itself."""
    if "\0" in start or not os.path.isdir(start):
        what = "is not a folder" if "\0" not in start and os.path.lexists(start) else "no such folder"
        raise FileError(
            what, location=Location(start.replace("\0", "\\0")), expected="a folder inside the project"
        )
    try:
        start = os.path.realpath(start)
    except OSError as error:
        raise FileError(
            f"cannot be found: {error.strerror}", location=Location(start), hint="cd to a folder that exists"
        ) from None
    tree = find_work_tree(start)
    if tree is None:
        folder = _find_marked_folder(start) or start
        return Root(folder, folder, None)
    if tree.is_submodule:
        return _find_in_submodule(start, tree)
    return _find_in_tree(start, tree)[0]


def _find_in_tree(start: str, tree: WorkTree) -> tuple[Root, bool]:
    """The project inside one work tree, and whether it has files of BMAD."""
    owner = main_checkout(tree)
    folder = start
    while True:
        part = os.path.relpath(folder, tree.top)
        there = owner if part == "." else os.path.join(owner, part)
        found = has_project_markers(folder) or (there != folder and has_project_markers(there))
        if found or folder == tree.top:
            return Root(there, folder, tree.common_dir), found
        folder = os.path.dirname(folder)


def _find_in_submodule(start: str, tree: WorkTree) -> Root:
    """A submodule without BMAD belongs to the project that contains it."""
    root, found = _find_in_tree(start, tree)
    outer = None if found else find_work_tree(os.path.dirname(tree.top))
    if outer is not None:
        outer_root, found = _find_in_tree(os.path.dirname(tree.top), outer)
        if found:
            return outer_root
    return root


def _find_marked_folder(start: str) -> str | None:
    folder = start
    while not has_project_markers(folder):
        parent = os.path.dirname(folder)
        if folder == parent:
            return None
        folder = parent
    return folder
