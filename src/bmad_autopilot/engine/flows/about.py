"""What a person should know before they decide about a step: what it has left, in a few lines."""

import os
from collections.abc import Iterator

from ...core.errors import FileError
from ...files import read_text
from ...project.open import Project
from ...workflows.pipelines import Step
from .position import part_of

TASKS_FOLDER = "_docs/02_tasks"
MAX_FILES = 8
MAX_LINE = 200


def about_step(project: Project, step: Step) -> str:
    if part_of(step).boundary:
        return _tasks(project)
    return "\n".join(_left(project, part_of(step).done))


def _tasks(project: Project) -> str:
    from ...board.task_batches import summary
    from ...board.tasks import read_tasks

    tasks = read_tasks(os.path.join(project.root.checkout, TASKS_FOLDER))
    return str(summary(tasks))


def _left(project: Project, conditions: tuple[str, ...]) -> Iterator[str]:
    from glob import glob

    top = project.root.checkout
    globs = [part.strip() for one in conditions for part in one.split("|") if "/" in part and "!" not in part]
    found = sorted({path for one in globs for path in glob(one, root_dir=top, recursive=True)})
    files = [path for path in found if os.path.isfile(os.path.join(top, path))]
    if files:
        yield f"{len(files)} {'file' if len(files) == 1 else 'files'}:"
    for path in files[:MAX_FILES]:
        said = _first_line(os.path.join(top, path))
        yield f"  {path}" + (f": {said}" if said else "")


def _first_line(path: str) -> str:
    try:
        text = read_text(path, limit=1024 * 1024).text
    except FileError:
        return ""
    return next((line.strip("# \t")[:MAX_LINE] for line in text.splitlines() if line.strip("# \t")), "")
