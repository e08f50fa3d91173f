"""Where a lane's work lies, for whoever goes on with it without the autopilot."""

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from ..github.worktrees.standing import standing_worktrees
from ..project.open import Project, open_project
from ..project.task_view import task_project
from .lane import Lane

if TYPE_CHECKING:
    from .driving import RunEnd


def at_its_place(project: Project, lane: Lane | None) -> Project:
    """The project as the lane sees it: in its worktree, where it has one, and with the tasks it is about; else as
    it was opened."""
    if lane is None:
        return project
    found = _in_its_worktree(project, lane) if lane.delivery is not None else project
    return task_project(found) if lane.of_tasks else found


def _in_its_worktree(project: Project, lane: Lane) -> Project:
    standing = standing_worktrees(project.root)
    folder = next((one.folder for one in standing if one.epic == lane.key), project.root.checkout)
    return project if folder == project.root.checkout else open_project(folder)


def leave_its_place(project: Project, end: "RunEnd", say: Callable[[str], None]) -> None:
    """Once it is merged its worktree goes, as under the autopilot; but not from under whoever stands in it."""
    if not end.record.delivery.merged or end.status != "completed" or project.root.checkout == project.root.path:
        return
    place = os.path.realpath(project.root.checkout)
    if os.path.commonpath((os.path.realpath(os.getcwd()), place)) == place:
        say(f"the worktree of {end.lane.key} stays: you are in it; the next bmad autopilot clears it away")
        return
    from .plain_environment import plain_environment
    from .worktrees import clear_place, worktrees_of

    environment = plain_environment(project.config, project.state_folder)
    clear_place(worktrees_of(project.root, project.config, environment), end.lane.key, say)
