"""Location of a project's worktrees, their locks, and which of git's work trees belong to us."""

import os
import re
import shutil
import stat
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from hashlib import sha256
from typing import NamedTuple

from ...core.errors import AutopilotError, FileError, Location
from ...io.files import hold_lock, read_text
from ...project.config import WorktreeSettings
from ...project.root import Root, WorkTree
from ..git import Git, GitError
from .marker import Intent, Mark, read_intent, read_mark

# Names and location of lane worktrees: never inside the checkout, where tools would descend into them and resolve
# packages from the parent folder.

_PLAIN = re.compile(r"[a-z0-9](?:[a-z0-9._-]{0,58}[a-z0-9_-])?")
_DIGEST = 8
_DIGESTED = re.compile(rf".*-[0-9a-f]{{{_DIGEST}}}", re.DOTALL)
_SLUG = 48


def worktree_name(epic: str, part: str = ".") -> str:
    """A unique name per epic, also on case-insensitive file systems. `part`: the project's folder below git's top,
    because another project in the repository may have the same epic keys."""
    key = epic if part == "." else f"{part}/{epic}"
    if _PLAIN.fullmatch(key) and not _DIGESTED.fullmatch(key):
        return key
    slug = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")[:_SLUG].strip("-")
    digest = sha256(key.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGEST]
    return f"{slug or 'epic'}-{digest}"


def worktrees_folder(tree: WorkTree, setting: str | None) -> str:
    """Beside the main checkout, or as configured."""
    named = os.path.expanduser(setting) if setting is not None else f"{tree.top}.worktrees"
    folder = os.path.realpath(os.path.join(tree.top, named))
    for inside in (tree.top, tree.common_dir):
        if folder == inside or folder.startswith(f"{inside}/"):
            raise AutopilotError(
                "`worktrees.folder` lies inside the checkout",
                location=Location(folder),
                expected="a folder beside it",
                hint="take the setting out, or name a folder elsewhere",
            )
    return folder


# git's list of work trees.

_HEADS = "refs/heads/"
MAX_GITDIR = 64 * 1024


class WorktreeEntry(NamedTuple):
    folder: str
    admin: str = ""  # its git folder; empty for the main checkout
    branch: str = ""  # empty: no branch checked out
    lock: str | None = None  # reason of `git worktree lock`; None: not locked

    @property
    def exists(self) -> bool:
        return os.path.lexists(os.path.join(self.folder, ".git"))

    @property
    def is_checked_out(self) -> bool:
        """git writes the index after all files are checked out."""
        return os.path.exists(os.path.join(self.admin, "index"))


def list_entries(git: Git) -> list[WorktreeEntry]:
    """All work trees, the main checkout first."""
    admins = _admins(git)
    found: list[WorktreeEntry] = []
    for field in git.ask("worktree", "list", "--porcelain", "-z", pinned=False).fields:
        name, _, value = field.partition(" ")
        if name == "worktree":
            found.append(WorktreeEntry(value, admins.get(value, "")))
        elif name == "branch":
            found[-1] = found[-1]._replace(branch=value.removeprefix(_HEADS))
        elif name == "locked":
            found[-1] = found[-1]._replace(lock=value)
    return found


def _admins(git: Git) -> dict[str, str]:
    """Work tree folder → its git folder. `git worktree list` shows only the former."""
    tree = git.work_tree
    base = os.path.join(tree.common_dir if tree is not None else git.git_dir, "worktrees")
    try:
        names = sorted(os.listdir(base))
    except OSError:
        return {}
    found = {}
    for name in names:
        admin = os.path.join(base, name)
        try:
            named = read_text(os.path.join(admin, "gitdir"), limit=MAX_GITDIR).text.rstrip("\r\n")
        except FileError:
            continue
        # Newer versions of git may write a relative path.
        found[os.path.dirname(os.path.normpath(os.path.join(admin, named)))] = admin
    return found


SECONDS = 60.0
_INTENT_SUFFIX = ".json"


class CommandResult(NamedTuple):
    """Result of a post-create command."""

    code: int | None  # None: stopped at its time limit
    output: str  # its last lines of output
    log: str


# Arguments: command words, working folder, log folder.
Runner = Callable[[Sequence[str], str, str], CommandResult]


class OwnedWorktree(NamedTuple):
    """A worktree of ours, possibly incomplete."""

    epic: str
    entry: WorktreeEntry | None  # None: not registered in git
    mark: Mark | None  # None: creation was not completed


class Site:
    def __init__(
        self,
        root: Root,
        settings: WorktreeSettings,
        *,
        run: Runner,
        is_busy: Callable[[str], bool],
        later_commands: Sequence[str] = (),
    ) -> None:
        """`later_commands`: commands that run in a worktree later, such as checks."""
        self.later_commands = tuple(later_commands)
        self.git = Git(root.path)  # the main checkout
        tree = self.git.work_tree
        if tree is None:
            raise GitError("is under no git repository", location=Location(root.path), hint="git init")
        self.root, self.settings, self.run, self.is_busy = root, settings, run, is_busy
        self.part = os.path.relpath(self.git.folder, tree.top)
        self.folder = worktrees_folder(tree, settings.folder)
        self._state = os.path.join(root.state_folder, "worktrees")

    def folder_of(self, epic: str) -> str:
        return os.path.join(self.folder, worktree_name(epic, self.part))

    def root_in(self, folder: str) -> Root:
        """The project as seen by a lane: files in the worktree, records in the main checkout."""
        checkout = folder if self.part == "." else os.path.join(folder, self.part)
        return Root(self.root.path, checkout, self.root.common_dir)

    def intent_path(self, epic: str) -> str:
        return os.path.join(self._state, f"{worktree_name(epic, self.part)}{_INTENT_SUFFIX}")

    def entries(self) -> list[WorktreeEntry]:
        """All work trees, the main checkout first."""
        with self._git_lock():
            return list_entries(self.git)

    def add(self, *arguments: str) -> None:
        with self._git_lock() as lock_fd:
            words = ("worktree", "add", "--quiet", "--no-checkout", *arguments)
            self.git.ask(*words, pinned=False, keep_fds=(lock_fd,))

    def unregister(self, folder: str) -> None:
        """Unregisters one work tree whose folder is gone. `git worktree prune` would also remove others on a disk
        that is currently not mounted."""
        with self._git_lock() as lock_fd:
            words = ("worktree", "remove", "--force", "--force", "--", folder)
            self.git.ask(*words, pinned=False, keep_fds=(lock_fd,))

    def lock_epic(self, epic: str, seconds: float | None = None) -> AbstractContextManager[int]:
        """The lock for creating or removing this epic's worktree."""
        os.makedirs(self._state, exist_ok=True)
        return hold_lock(
            os.path.join(self._state, f"{worktree_name(epic, self.part)}.lock"),
            seconds=SECONDS if seconds is None else seconds,
        )

    @contextmanager
    def _git_lock(self) -> Iterator[int]:
        """Serialises `git worktree`: git fails on a half-written work tree of another git. A git process that
        outlives us keeps the lock: a late removal must not hit a recreated worktree."""
        os.makedirs(self._state, exist_ok=True)
        with hold_lock(os.path.join(self._state, "git-worktree.lock"), seconds=SECONDS) as fd:
            yield fd

    def owned_worktrees(self, entries: Sequence[WorktreeEntry] | None = None) -> list[OwnedWorktree]:
        found: dict[str, OwnedWorktree] = {}
        linked = {entry.folder: entry for entry in (self.entries() if entries is None else entries)[1:]}
        for intent in self._intents():
            found[intent.epic] = OwnedWorktree(intent.epic, linked.get(self.folder_of(intent.epic)), None)
        for entry in linked.values():
            mark = read_mark(entry.admin) if entry.admin else None
            if mark is not None and mark.part == self.part:
                found[mark.epic] = OwnedWorktree(mark.epic, entry, mark)
        return [found[epic] for epic in sorted(found)]

    def find_owned(self, epic: str, entries: Sequence[WorktreeEntry] | None = None) -> OwnedWorktree | None:
        return next((one for one in self.owned_worktrees(entries) if one.epic == epic), None)

    def _intents(self) -> list[Intent]:
        try:
            names = sorted(name for name in os.listdir(self._state) if name.endswith(_INTENT_SUFFIX))
        except OSError:
            return []
        found = [read_intent(os.path.join(self._state, name)) for name in names]
        return [intent for intent in found if intent is not None and intent.part == self.part]


# Deleting folders: renamed first, so a kill leaves either a complete worktree or none.

REMOVED_PREFIX = ".bmad-removed-"


def set_aside(folder: str) -> str:
    parent, name = os.path.split(folder)
    aside = os.path.join(parent, f"{REMOVED_PREFIX}{name}-{os.urandom(4).hex()}")
    os.rename(folder, aside)
    return aside


def throw_away(aside: str) -> bool:
    """Deletes the folder; returns whether all of it is gone. Does not follow links."""
    shutil.rmtree(aside, onerror=_make_writable_and_retry)
    return not os.path.lexists(aside)


def delete_leftovers(parent: str) -> None:
    """Deletes folders left by interrupted removals."""
    try:
        names = os.listdir(parent)
    except OSError:
        return
    for name in names:
        if name.startswith(REMOVED_PREFIX):
            throw_away(os.path.join(parent, name))


def _make_writable_and_retry(function: Callable[[str], object], path: str, error: object) -> None:
    """Makes read-only folders writable and retries: some package managers create them."""
    with suppress(OSError):
        for folder in (os.path.dirname(path), path):
            if stat.S_ISDIR(os.lstat(folder).st_mode):
                os.chmod(folder, 0o700)
        if function in (os.unlink, os.rmdir):
            function(path)
        else:
            shutil.rmtree(path, ignore_errors=True)
