"""Where a lane's work lies, for whoever goes on with it without the autopilot."""

from ..github.worktrees.standing import standing_worktrees
from ..project.open import Project, open_project
from .lane import Lane


def at_its_place(project: Project, lane: Lane | None) -> Project:
    """The project as the lane sees it: in its worktree, where it has one; else as it was opened."""
    if lane is None or lane.delivery is None:
        return project
    standing = standing_worktrees(project.root)
    folder = next((one.folder for one in standing if one.epic == lane.key), project.root.checkout)
    return project if folder == project.root.checkout else open_project(folder)
