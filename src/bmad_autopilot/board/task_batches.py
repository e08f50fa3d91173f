"""Tasks in batches: each holds what its tasks need in earlier ones. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from .tasks import TODO, Task, Tasks

MOST = 4  # tasks of one batch


class Summary(NamedTuple):
    """What a person is told before the longest part begins."""

    tasks: int
    batches: int
    points: int
    unestimated: int = 0

    def __str__(self) -> str:
        said = f"{_counted(self.tasks, 'task')} in {_counted(self.batches, 'batch', 'batches')}, "
        said += _counted(self.points, "complexity point")
        return said + (f" ({self.unestimated} without any)" if self.unestimated else "")


def batches(tasks: Sequence[Task], most: int = MOST) -> tuple[tuple[Task, ...], ...]:
    """Of what is to do, in natural order as far as the needs allow. Tasks that wait for each other, and what waits
    for them, are in none: `tasks.cycles` names them."""
    waiting = [task for task in tasks if task.state == TODO]
    open_numbers = {task.number for task in waiting}
    found = []
    while waiting:
        batch = [task for task in waiting if not open_numbers.intersection(task.needs)][:most]
        if not batch:
            break
        found.append(tuple(batch))
        taken = {task.path for task in batch}
        waiting = [task for task in waiting if task.path not in taken]
        open_numbers = {task.number for task in waiting}
    return tuple(found)


def summary(tasks: Tasks, most: int = MOST) -> Summary:
    todo = tasks.todo
    points = [task.points for task in todo]
    known = [point for point in points if point is not None]
    return Summary(len(todo), len(batches(todo, most)), sum(known), len(points) - len(known))


def _counted(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or f'{one}s'}"
