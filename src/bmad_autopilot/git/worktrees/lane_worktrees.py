"""Creates, finds and removes the worktrees of a project's lanes; removes one only if nothing is lost."""

import os
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ...core.errors import AutopilotError, ConflictError
from ...core.text import one_line
from ...project.config import WorktreeSettings
from ...project.root import Root
from . import site
from .create import CreatedWorktree, WorktreeCreator, lacks_venv, removal_blocker, run_post_create
from .marker import drop_intent
from .site import OwnedWorktree, Runner, Site


class RemovalResult(NamedTuple):
    """Result of removing a worktree."""

    epic: str
    folder: str
    reason: str = ""  # why it was not removed

    @property
    def is_gone(self) -> bool:
        return not self.reason


class Worktrees:
    """`run`: runs a post-create command. `is_busy`: whether an agent is running in a folder."""

    def __init__(
        self,
        root: Root,
        settings: WorktreeSettings,
        *,
        run: Runner,
        is_busy: Callable[[str], bool],
        later_commands: Sequence[str] = (),
    ) -> None:
        self._site = Site(root, settings, run=run, is_busy=is_busy, later_commands=later_commands)

    @property
    def folder(self) -> str:
        return self._site.folder

    def create(self, epic: str, branch: str, commit: str) -> CreatedWorktree:
        """Returns the epic's worktree with this branch checked out. A missing branch is created at `commit`; an
        existing branch or worktree of ours is used as is."""
        with self._site.lock_epic(epic) as lock_fd:
            return WorktreeCreator(self._site, lock_fd, epic, branch, commit).create()

    def find(self, epic: str) -> Root | None:
        """The project in the lane's worktree; None if there is no complete worktree."""
        owned = self._site.find_owned(epic)
        if owned is None or owned.entry is None or owned.mark is None or not owned.entry.exists:
            return None
        return self._site.root_in(owned.entry.folder)

    def refresh(self, epic: str) -> None:
        """Recreates a missing virtual environment before the worktree is used again."""
        owned = self._site.find_owned(epic)
        if owned is None or owned.entry is None or owned.mark is None:
            return
        if lacks_venv(self._site, owned.entry.folder, owned.entry.admin):
            with self._site.lock_epic(epic):
                run_post_create(self._site, owned.entry.folder, owned.entry.admin, owned.mark)

    def remove(self, epic: str) -> RemovalResult:
        """Removes the worktree if nothing is lost; otherwise keeps it and returns the reason. A missing one counts
        as removed."""
        try:
            with self._site.lock_epic(epic):
                owned = self._site.find_owned(epic)
                return (
                    self._remove(owned) if owned is not None else RemovalResult(epic, self._site.folder_of(epic))
                )
        except (AutopilotError, OSError) as error:  # locked, or a disk error: can be removed later
            return RemovalResult(epic, self._site.folder_of(epic), one_line(str(error)))

    def _remove(self, owned: OwnedWorktree) -> RemovalResult:
        folder = owned.entry.folder if owned.entry is not None else self._site.folder_of(owned.epic)
        reason = "`worktrees.keep` is set" if self._site.settings.keep else removal_blocker(self._site, owned)
        if reason:
            return RemovalResult(owned.epic, folder, reason)
        aside = site.set_aside(folder) if owned.entry is not None and os.path.isdir(folder) else ""
        if owned.entry is not None:
            self._site.unregister(folder)
        drop_intent(self._site.intent_path(owned.epic))
        if aside and not site.throw_away(aside):
            return RemovalResult(owned.epic, folder, f"not all of it could be deleted: {aside}")
        return RemovalResult(owned.epic, folder)

    def prune(self) -> list[str]:
        """Unregisters worktrees that were deleted by hand and returns their epics. Also deletes leftovers of
        interrupted removals."""
        gone = [
            owned.epic for owned in self._site.owned_worktrees() if _is_gone(owned) and self._prune_one(owned.epic)
        ]
        site.delete_leftovers(self._site.folder)
        return gone

    def _prune_one(self, epic: str) -> bool:
        """Whether git had it registered. A worktree that another process is creating or removing is skipped."""
        try:
            with self._site.lock_epic(epic, seconds=0):
                owned = self._site.find_owned(epic)
                if owned is None or not _is_gone(owned):
                    return False
                if owned.entry is not None:
                    self._site.unregister(owned.entry.folder)
                drop_intent(self._site.intent_path(epic))
                return owned.entry is not None
        except ConflictError:
            return False

    def remove_unused(self, in_use: Collection[str]) -> list[RemovalResult]:
        """Removes every worktree of ours except those of these epics; returns the results."""
        self.prune()
        epics = [owned.epic for owned in self._site.owned_worktrees() if owned.epic not in in_use]
        return [self.remove(epic) for epic in epics]


def _is_gone(owned: OwnedWorktree) -> bool:
    entry = owned.entry
    return entry is None or (entry.lock is None and not os.path.lexists(entry.folder))
