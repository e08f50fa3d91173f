"""Where a project's worktrees lie, and which of git's work trees are among them."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import NamedTuple

from ...core.errors import Place
from ...files import locked
from ...project.config import WorktreeSettings
from ...project.root import Root
from ..git import Git, GitError
from .entries import Entry, list_entries
from .marks import Intent, Mark, read_intent, read_mark
from .naming import folder_name, worktrees_folder

SECONDS = 60.0
_INTENT = ".json"


class Ran(NamedTuple):
    """How a command ended."""

    code: int | None  # None: it took too long, and was stopped
    said: str  # its last lines
    log: str


# The words of a command, where it runs, the folder for its log.
Runner = Callable[[Sequence[str], str, str], Ran]


class Ours(NamedTuple):
    """A worktree of ours, as far as there is one."""

    epic: str
    entry: Entry | None  # None: git knows of none
    mark: Mark | None  # None: it was never finished


class Site:
    def __init__(
        self,
        root: Root,
        settings: WorktreeSettings,
        *,
        run: Runner,
        is_busy: Callable[[str], bool],
        others: Sequence[str] = (),
    ) -> None:
        """`others`: commands that are run in a worktree later, such as checks."""
        self.others = tuple(others)
        self.git = Git(root.path)  # the main checkout
        tree = self.git.work_tree
        if tree is None:
            raise GitError("is under no git repository", place=Place(root.path), hint="git init")
        self.root, self.settings, self.run, self.is_busy = root, settings, run, is_busy
        self.part = os.path.relpath(self.git.folder, tree.top)
        self.folder = worktrees_folder(tree, settings.folder)
        self._state = os.path.join(root.state_folder, "worktrees")

    def place_of(self, epic: str) -> str:
        return os.path.join(self.folder, folder_name(epic, self.part))

    def root_in(self, folder: str) -> Root:
        """The project as a lane sees it: its files in the worktree, its records in the main checkout."""
        checkout = folder if self.part == "." else os.path.join(folder, self.part)
        return Root(self.root.path, checkout, self.root.common_dir)

    def intent_of(self, epic: str) -> str:
        return os.path.join(self._state, f"{folder_name(epic, self.part)}{_INTENT}")

    def entries(self) -> list[Entry]:
        """The main checkout first."""
        with self._alone():
            return list_entries(self.git)

    def add(self, *arguments: str) -> None:
        with self._alone() as held:
            words = ("worktree", "add", "--quiet", "--no-checkout", *arguments)
            self.git.ask(*words, pinned=False, held=(held,))

    def drop(self, folder: str) -> None:
        """Forget a work tree whose folder is gone, this one alone: `git worktree prune` would take others with it
        that lie on a disk which is not there just now."""
        with self._alone() as held:
            words = ("worktree", "remove", "--force", "--force", "--", folder)
            self.git.ask(*words, pinned=False, held=(held,))

    def held(self, epic: str, seconds: float | None = None) -> AbstractContextManager[int]:
        """The lock of whoever makes or removes this epic's worktree."""
        os.makedirs(self._state, exist_ok=True)
        return locked(
            os.path.join(self._state, f"{folder_name(epic, self.part)}.lock"),
            seconds=SECONDS if seconds is None else seconds,
        )

    @contextmanager
    def _alone(self) -> Iterator[int]:
        """One at a time: git fails on a work tree of which another git has written half. A git that outlives us
        keeps the lock: one that removes a worktree must not do so once it is there again."""
        os.makedirs(self._state, exist_ok=True)
        with locked(os.path.join(self._state, "git-worktree.lock"), seconds=SECONDS) as fd:
            yield fd

    def all_ours(self, entries: Sequence[Entry] | None = None) -> list[Ours]:
        found: dict[str, Ours] = {}
        linked = {entry.folder: entry for entry in (self.entries() if entries is None else entries)[1:]}
        for intent in self._intents():
            found[intent.epic] = Ours(intent.epic, linked.get(self.place_of(intent.epic)), None)
        for entry in linked.values():
            mark = read_mark(entry.admin) if entry.admin else None
            if mark is not None and mark.part == self.part:
                found[mark.epic] = Ours(mark.epic, entry, mark)
        return [found[epic] for epic in sorted(found)]

    def ours(self, epic: str, entries: Sequence[Entry] | None = None) -> Ours | None:
        return next((one for one in self.all_ours(entries) if one.epic == epic), None)

    def _intents(self) -> list[Intent]:
        try:
            names = sorted(name for name in os.listdir(self._state) if name.endswith(_INTENT))
        except OSError:
            return []
        found = [read_intent(os.path.join(self._state, name)) for name in names]
        return [intent for intent in found if intent is not None and intent.part == self.part]
