"""What we stand on before we begin: the branch, what is under way in it, who the user is, what lies about."""

import os
import re
from enum import StrEnum
from typing import NamedTuple

from ..core.errors import AutopilotError, FileError, Place
from ..files import read_bytes
from .git import Answer, Git
from .identities import Identity
from .paths import show

_NO_WORK_TREE = 128
_IDENTITY = re.compile(r"(?P<name>.*) <(?P<email>[^>]*)> \d+ [-+]\d+\Z", re.DOTALL)


class Operation(StrEnum):
    """What can be under way in a work tree."""

    REBASE = "rebase"
    AM = "am"
    MERGE = "merge"
    CHERRY_PICK = "cherry-pick"
    REVERT = "revert"
    BISECT = "bisect"

    @property
    def ended_by(self) -> str:
        if self is Operation.BISECT:
            return "git bisect reset"
        return f"git {self} --continue, or git {self} --abort"


_MARKS = {
    "rebase-apply/applying": Operation.AM,
    "rebase-apply": Operation.REBASE,
    "rebase-merge": Operation.REBASE,
    "MERGE_HEAD": Operation.MERGE,
    "CHERRY_PICK_HEAD": Operation.CHERRY_PICK,
    "REVERT_HEAD": Operation.REVERT,
    "BISECT_LOG": Operation.BISECT,
}


class Ground(NamedTuple):
    folder: str
    is_repository: bool = True
    is_bare: bool = False
    head: str | None = None  # None: no commit yet
    branch: str | None = None  # None: detached
    operation: Operation | None = None
    unmerged: tuple[str, ...] = ()
    identity: Identity | None = None
    dirty: tuple[str, ...] = ()  # tracked and changed, staged or not
    untracked: tuple[str, ...] = ()


def look_at_ground(git: Git) -> Ground:
    options = ("--porcelain=v2", "--branch", "-z", "--untracked-files=all", "--no-renames", "--no-ahead-behind")
    status = git.ask("status", *options, "--ignore-submodules=untracked", codes=(0, _NO_WORK_TREE), pinned=False)
    if status.code == _NO_WORK_TREE:
        return _without_work_tree(git, *options)
    ground = _read_status(Ground(git.top), status)
    return ground._replace(operation=_operation(git.git_dir), identity=_identity(git))


def is_unchanged(git: Git, branch: str) -> bool:
    """Whether this branch is checked out and nothing is under way, by the files alone: cheap enough to ask before
    every call. False may also mean that only git itself can tell."""
    try:
        head = read_bytes(os.path.join(git.git_dir, "HEAD"), head=4096)
    except FileError:
        return False
    return head.rstrip(b"\n") == b"ref: refs/heads/" + os.fsencode(branch) and _operation(git.git_dir) is None


def _without_work_tree(git: Git, *options: str) -> Ground:
    answer = git.ask("rev-parse", "--is-bare-repository", codes=(0, _NO_WORK_TREE), pinned=False)
    if answer.code == 0 and answer.text == "true":
        return Ground(git.folder, is_bare=True)
    if git.work_tree is None:
        return Ground(git.folder, is_repository=False)
    git.ask("status", *options, pinned=False)  # there is a repository, and git says what is wrong with it
    return Ground(git.folder, is_repository=False)


def _read_status(ground: Ground, status: Answer) -> Ground:
    """Each kind of entry begins with its letter and has a fixed number of words before the path."""
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
    return ground._replace(
        head=head, branch=branch, dirty=tuple(dirty), unmerged=tuple(unmerged), untracked=tuple(untracked)
    )


def _operation(git_dir: str) -> Operation | None:
    for name, operation in _MARKS.items():
        if os.path.lexists(os.path.join(git_dir, name)):
            return operation
    try:  # between two picks of several
        todo = read_bytes(os.path.join(git_dir, "sequencer", "todo"), head=6)
    except FileError:
        return None
    return Operation.REVERT if todo == b"revert" else Operation.CHERRY_PICK


def _identity(git: Git) -> Identity | None:
    """As git would name the author, except that it may not make one up from the machine's name."""
    answer = git.ask("var", "GIT_AUTHOR_IDENT", settings=("user.useConfigOnly=true",), codes=(0, 128))
    match = _IDENTITY.match(answer.text) if answer.code == 0 else None
    return Identity(match["name"], match["email"]) if match and match["name"] and match["email"] else None


def refusal(ground: Ground, *, branch: str | None = None) -> AutopilotError | None:
    """Why no work can begin here, or None. Changed files are no reason by themselves: the user is asked."""
    return unfit(ground) or _wrong_branch(ground, branch) or _nobody(ground)


def unfit(ground: Ground) -> AutopilotError | None:
    """Why nothing can be done here, whichever branch it is for."""
    place = Place(ground.folder)
    if not ground.is_repository:
        return AutopilotError("is under no git repository", place=place, hint="git init, then a first commit")
    if ground.is_bare:
        hint = "git worktree add ../work, and work there"
        return AutopilotError("is a bare repository", place=place, expected="a work tree", hint=hint)
    if ground.operation is not None:
        hint = ground.operation.ended_by
        found = show(ground.unmerged) if ground.unmerged else None
        return AutopilotError(f"a {ground.operation} is under way", place=place, found=found, hint=hint)
    if ground.unmerged:
        found, hint = show(ground.unmerged), "resolve them, then git add them"
        return AutopilotError("files are not merged", place=place, found=found, hint=hint)
    if ground.head is None:
        hint = "git add what belongs to the project, then git commit"
        return AutopilotError("has no commit yet", place=place, expected="at least one", hint=hint)
    return None


def _wrong_branch(ground: Ground, wanted: str | None) -> AutopilotError | None:
    place = Place(ground.folder)
    if ground.branch is None:
        found = f"HEAD at {(ground.head or '')[:10]}"
        hint = f"git switch {wanted or 'BRANCH'}"
        return AutopilotError("HEAD is detached", place=place, found=found, expected="a branch", hint=hint)
    if wanted is not None and ground.branch != wanted:
        message, hint = "another branch is checked out", f"git switch {wanted}"
        return AutopilotError(message, place=place, found=ground.branch, expected=wanted, hint=hint)
    return None


def _nobody(ground: Ground) -> AutopilotError | None:
    if ground.identity is not None:
        return None
    hint = 'git config --global user.name "…" and git config --global user.email "…"'
    return AutopilotError("git does not know who you are", place=Place(ground.folder), hint=hint)
