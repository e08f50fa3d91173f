"""The worktrees of a project's lanes: made, found, removed once nothing can be lost with them."""

import os
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ...core.errors import AutopilotError, ConflictError
from ...project.config import WorktreeSettings
from ...project.root import Root
from . import trash
from .looking import why_it_stays
from .making import Made, Making
from .marks import drop_intent
from .preparing import lacks_venv, prepare
from .site import Ours, Runner, Site


class Removed(NamedTuple):
    """What became of a worktree that should go."""

    epic: str
    folder: str
    reason: str = ""  # why it is still there

    @property
    def is_gone(self) -> bool:
        return not self.reason


class Worktrees:
    """`run`: runs a command of the settings. `is_busy`: is an agent at work in that folder?"""

    def __init__(
        self,
        root: Root,
        settings: WorktreeSettings,
        *,
        run: Runner,
        is_busy: Callable[[str], bool],
        others: Sequence[str] = (),
    ) -> None:
        self._site = Site(root, settings, run=run, is_busy=is_busy, others=others)

    @property
    def folder(self) -> str:
        return self._site.folder

    def make(self, epic: str, branch: str, commit: str) -> Made:
        """The epic's worktree with this branch checked out. A branch that does not exist begins at `commit`; one
        that does is taken as it is, and so is a worktree of ours that is there."""
        with self._site.held(epic) as held:
            return Making(self._site, held, epic, branch, commit).make()

    def find(self, epic: str) -> Root | None:
        """The project as that lane sees it; None: it has no worktree that is whole."""
        ours = self._site.ours(epic)
        if ours is None or ours.entry is None or ours.mark is None or not ours.entry.is_there:
            return None
        return self._site.root_in(ours.entry.folder)

    def refresh(self, epic: str) -> None:
        """Make what an existing worktree lacks, before it is worked in again: its virtual environment."""
        ours = self._site.ours(epic)
        if ours is None or ours.entry is None or ours.mark is None:
            return
        if lacks_venv(self._site, ours.entry.folder, ours.entry.admin):
            with self._site.held(epic):
                prepare(self._site, ours.entry.folder, ours.entry.admin, ours.mark)

    def remove(self, epic: str) -> Removed:
        """If nothing is lost with it; else it stays, and the reason is told. One that is not there is gone."""
        try:
            with self._site.held(epic):
                ours = self._site.ours(epic)
                return self._remove(ours) if ours is not None else Removed(epic, self._site.place_of(epic))
        except (AutopilotError, OSError) as error:  # somebody holds it, or the disk will not: it can go later
            return Removed(epic, self._site.place_of(epic), " ".join(str(error).split()))

    def _remove(self, ours: Ours) -> Removed:
        folder = ours.entry.folder if ours.entry is not None else self._site.place_of(ours.epic)
        reason = "`worktrees.keep` is set" if self._site.settings.keep else why_it_stays(self._site, ours)
        if reason:
            return Removed(ours.epic, folder, reason)
        aside = trash.set_aside(folder) if ours.entry is not None and os.path.isdir(folder) else ""
        if ours.entry is not None:
            self._site.drop(folder)
        drop_intent(self._site.intent_of(ours.epic))
        if aside and not trash.throw_away(aside):
            return Removed(ours.epic, folder, f"not all of it could be deleted: {aside}")
        return Removed(ours.epic, folder)

    def prune(self) -> list[str]:
        """The epics whose worktrees somebody deleted by hand, now forgotten by git too. What a kill left of others
        is cleared away."""
        gone = [ours.epic for ours in self._site.all_ours() if _is_gone(ours) and self._forget(ours.epic)]
        trash.sweep(self._site.folder)
        return gone

    def _forget(self, epic: str) -> bool:
        """Whether git knew of it. One that somebody is making or removing just now is theirs."""
        try:
            with self._site.held(epic, seconds=0):
                ours = self._site.ours(epic)
                if ours is None or not _is_gone(ours):
                    return False
                if ours.entry is not None:
                    self._site.drop(ours.entry.folder)
                drop_intent(self._site.intent_of(epic))
                return ours.entry is not None
        except ConflictError:
            return False

    def tidy(self, in_use: Collection[str]) -> list[Removed]:
        """What became of every worktree of ours but those of these epics."""
        self.prune()
        epics = [ours.epic for ours in self._site.all_ours() if ours.epic not in in_use]
        return [self.remove(epic) for epic in epics]


def _is_gone(ours: Ours) -> bool:
    entry = ours.entry
    return entry is None or (entry.lock is None and not os.path.lexists(entry.folder))
