"""Reads the state of a work tree (branch, operation in progress, identity, dirty files) and checks the
preconditions for working in it."""

import os
import re
from enum import StrEnum
from typing import NamedTuple

from ..core.errors import AutopilotError, FileError, Location
from ..io.files import read_bytes
from .git import Git, GitResult, format_paths
from .history import GitIdentity

_NO_WORK_TREE = 128
_IDENTITY = re.compile(r"(?P<name>.*) <(?P<email>[^>]*)> \d+ [-+]\d+\Z", re.DOTALL)


class Operation(StrEnum):
    """A git operation that can be in progress in a work tree."""

    REBASE = "rebase"
    AM = "am"
    MERGE = "merge"
    CHERRY_PICK = "cherry-pick"
    REVERT = "revert"
    BISECT = "bisect"

    @property
    def end_command(self) -> str:
        if self is Operation.BISECT:
            return "git bisect reset"
        return f"git {self} --continue, or git {self} --abort"


_OPERATION_FILES = {
    "rebase-apply/applying": Operation.AM,
    "rebase-apply": Operation.REBASE,
    "rebase-merge": Operation.REBASE,
    "MERGE_HEAD": Operation.MERGE,
    "CHERRY_PICK_HEAD": Operation.CHERRY_PICK,
    "REVERT_HEAD": Operation.REVERT,
    "BISECT_LOG": Operation.BISECT,
}


class WorktreeState(NamedTuple):
    folder: str
    is_repository: bool = True
    is_bare: bool = False
    head: str | None = None  # None: no commit yet
    branch: str | None = None  # None: detached
    operation: Operation | None = None
    unmerged: tuple[str, ...] = ()
    identity: GitIdentity | None = None
    dirty: tuple[str, ...] = ()  # tracked and changed, staged or not
    untracked: tuple[str, ...] = ()


def read_worktree_state(git: Git) -> WorktreeState:
    options = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames", "--no-ahead-behind")
    status = git.ask("status", *options, "--ignore-submodules=untracked", codes=(0, _NO_WORK_TREE), pinned=False)
    if status.code == _NO_WORK_TREE:
        return _without_work_tree(git, *options)
    state = _read_status(WorktreeState(git.top), status)
    return state._replace(operation=_operation(git.git_dir), identity=_identity(git))


def is_on_branch(git: Git, branch: str) -> bool:
    """Whether this branch is checked out and no operation is in progress, from files alone: cheap enough before
    every call. False may also mean that only git itself can tell."""
    try:
        head = read_bytes(os.path.join(git.git_dir, "HEAD"), head=4096)
    except FileError:
        return False
    return head.rstrip(b"\n") == b"ref: refs/heads/" + os.fsencode(branch) and _operation(git.git_dir) is None


def _without_work_tree(git: Git, *options: str) -> WorktreeState:
    answer = git.ask("rev-parse", "--is-bare-repository", codes=(0, _NO_WORK_TREE), pinned=False)
    if answer.code == 0 and answer.text == "true":
        return WorktreeState(git.folder, is_bare=True)
    if git.work_tree is None:
        return WorktreeState(git.folder, is_repository=False)
    git.ask("status", *options, pinned=False)  # raises git's own error for a broken repository
    return WorktreeState(git.folder, is_repository=False)


def _read_status(state: WorktreeState, status: GitResult) -> WorktreeState:
    """Each entry starts with its kind and has a fixed number of words before the path."""
    head = branch = None
    dirty, unmerged, untracked = [], [], []
    for entry in status.fields:
        match entry[0]:
            case "#":
                _, name, value = entry.split(" ", 2)
                if name == "branch.oid":
                    head = None if value == "(initial)" else value
                elif name == "branch.head":
                    branch = None if value == "(detached)" else value
            case "1":
                dirty.append(entry.split(" ", 8)[8])
            case "u":
                unmerged.append(entry.split(" ", 10)[10])
            case "?":
                untracked.append(entry[2:])
    return state._replace(
        head=head, branch=branch, dirty=tuple(dirty), unmerged=tuple(unmerged), untracked=tuple(untracked)
    )


def _operation(git_dir: str) -> Operation | None:
    for name, operation in _OPERATION_FILES.items():
        if os.path.lexists(os.path.join(git_dir, name)):
            return operation
    try:  # between two commits of a multi-commit pick
        todo = read_bytes(os.path.join(git_dir, "sequencer", "todo"), head=6)
    except FileError:
        return None
    return Operation.REVERT if todo == b"revert" else Operation.CHERRY_PICK


def _identity(git: Git) -> GitIdentity | None:
    """The author git would use, except one guessed from the host name."""
    answer = git.ask("var", "GIT_AUTHOR_IDENT", settings=("user.useConfigOnly=true",), codes=(0, 128))
    match = _IDENTITY.match(answer.text) if answer.code == 0 else None
    return GitIdentity(match["name"], match["email"]) if match and match["name"] and match["email"] else None


def precondition_error(state: WorktreeState, *, branch: str | None = None) -> AutopilotError | None:
    """Why work cannot start here, or None. Dirty files alone are no reason: the user is asked about them."""
    return worktree_error(state) or _branch_error(state, branch) or _identity_error(state)


def worktree_error(state: WorktreeState) -> AutopilotError | None:
    """Why the work tree is unusable for any branch, or None."""
    location = Location(state.folder)
    if not state.is_repository:
        return AutopilotError(
            "is under no git repository", location=location, hint="git init, then a first commit"
        )
    if state.is_bare:
        hint = "git worktree add ../work, and work there"
        return AutopilotError("is a bare repository", location=location, expected="a work tree", hint=hint)
    if state.operation is not None:
        hint = state.operation.end_command
        found = format_paths(state.unmerged) if state.unmerged else None
        return AutopilotError(f"a {state.operation} is under way", location=location, found=found, hint=hint)
    if state.unmerged:
        found, hint = format_paths(state.unmerged), "resolve them, then git add them"
        return AutopilotError("files are not merged", location=location, found=found, hint=hint)
    if state.head is None:
        hint = "git add what belongs to the project, then git commit"
        return AutopilotError("has no commit yet", location=location, expected="at least one", hint=hint)
    return None


def _branch_error(state: WorktreeState, wanted: str | None) -> AutopilotError | None:
    location = Location(state.folder)
    if state.branch is None:
        found = f"HEAD at {(state.head or '')[:10]}"
        hint = f"git switch {wanted or 'BRANCH'}"
        return AutopilotError("HEAD is detached", location=location, found=found, expected="a branch", hint=hint)
    if wanted is not None and state.branch != wanted:
        message, hint = "another branch is checked out", f"git switch {wanted}"
        return AutopilotError(message, location=location, found=state.branch, expected=wanted, hint=hint)
    return None


def _identity_error(state: WorktreeState) -> AutopilotError | None:
    if state.identity is not None:
        return None
    hint = 'git config --global user.name "…" and git config --global user.email "…"'
    return AutopilotError("git does not know who you are", location=Location(state.folder), hint=hint)
