"""Where a lane is worked on: in the checkout that all of them share, or in a worktree of its own."""

from collections.abc import Callable, Iterable

from ...core.errors import AutopilotError, ConflictError
from ...github.branches import Branches
from ...github.git import Git
from ...github.ground import look_at_ground
from ...github.history import branch_of
from ...github.paths import show
from ...project.open import Project, open_project
from ...project.root import Root
from ...project.task_view import task_project
from ..plain_environment import plain_environment
from ..worktrees import Preparing, clear_place, worktrees_of
from .lanes import Held


class Places:
    """`apart`: each in a worktree of its own. One that is there already is gone on with, either way."""

    def __init__(self, project: Project, branches: Branches, say: Callable[[str], None], *, apart: bool) -> None:
        self._project = project
        self._branches = branches
        self._say = say
        self._apart = apart
        self._git = Git(project.root.checkout)
        environment = plain_environment(project.config, project.state_folder)
        self.preparing = Preparing()
        self._worktrees = worktrees_of(project.root, project.config, environment, self.preparing)

    def tidy(self, in_use: set[str]) -> None:
        """What earlier commands left, and nobody needs any more."""
        try:
            found = self._worktrees.tidy(in_use)
        except (AutopilotError, OSError) as error:  # nothing that is to be done needs it
            why = " ".join(str(error).split())
            self._say(f"worktrees that earlier commands left cannot be cleared away: {why}")
            return
        for removed in found:
            if not removed.is_gone:
                self._say(f"the worktree of {removed.epic} stays: {removed.reason}")

    def begin(self, key: str, branch: str, commit: str) -> Project:
        if not self._apart:
            self._branches.switch(branch, commit)
            return self._project
        return self._own(key, branch, commit)

    def go_on(self, held: Held) -> Project:
        """Where its work lies. One that is delivered needs a place only to mend and to check."""
        key, branch = held.lane.key, held.lane.branch
        found = self._worktrees.find(key)
        if found is not None:
            self._worktrees.refresh(key)
            return self._at(found)
        if self._shares(branch):
            return self._project
        return self._own(key, branch, held.record.delivery.head or branch)

    def _is_apart(self, key: str) -> bool:
        return self._worktrees.find(key) is not None

    def _shares(self, branch: str) -> bool:
        return not self._apart or branch_of(self._git) == branch

    def stand(self, held: Held, lanes: Iterable[Held]) -> str:
        """The checkout that all of them share on its branch, if its work lies there. Why that cannot be just now;
        empty: it can go on."""
        key, branch = held.lane.key, held.lane.branch
        if not held.is_at_work or self._is_apart(key) or not self._shares(branch):
            return ""
        try:
            why = self.taken(key, lanes)
            if not why:
                self._branches.switch(branch)
        except ConflictError as error:
            why = str(error)
        return why

    def taken(self, key: str, lanes: Iterable[Held]) -> str:
        """By whose unfinished work the checkout is, for one that wants it. A file that git does not know yet would
        go along to any branch, before another agent's eyes and under other checks."""
        if self._is_apart(key):
            return ""
        ground = look_at_ground(self._git)
        others = (one for one in lanes if one.lane.key != key and one.is_at_work)
        owner = next((one for one in others if one.lane.branch == ground.branch), None)
        if owner is None or self._is_apart(owner.lane.key):
            return ""
        files = [path for path in (*ground.dirty, *ground.untracked) if path not in owner.lane.dirty]
        return f"what {owner.lane.key} has not finished lies there: {show(files)}" if files else ""

    def _own(self, key: str, branch: str, commit: str) -> Project:
        made = self._worktrees.make(key, branch, commit)
        for note in made.notes:
            self._say(f"{key}: {note}")
        return self._at(made.root)

    def _at(self, root: Root) -> Project:
        """With the settings of the owner's base branch, as every lane."""
        opened = open_project(root.checkout)._replace(config=self._project.config)
        return task_project(opened) if self._project.tasks else opened

    def clear(self, key: str) -> None:
        clear_place(self._worktrees, key, self._say)
