"""The same project, seen with a flow's tasks for its stories: their board, their folder, and all else its own."""

import os

from .folders import Found
from .open import Project
from .traces import BOARD_NAME, TASKS_FOLDER


def task_project(project: Project) -> Project:
    """Settings, roles and checks stay; what BMAD keeps of its stories is not looked at."""
    folder = os.path.join(project.root.checkout, TASKS_FOLDER)
    folders = project.folders._replace(
        base=project.root.checkout,
        output=folder,
        planning=folder,
        implementation=folder,
        stories=None,
        board=os.path.join(folder, BOARD_NAME),
        found=Found.CHOSEN,
        others=(),
    )
    return project._replace(folders=folders, tasks=folder)
