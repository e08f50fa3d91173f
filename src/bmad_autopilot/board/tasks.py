"""The tasks that a flow has decomposed its plan into: `_docs/02_tasks/todo/01_slug.md`, and `done/` once finished.

A task is called by its file's name. What it needs stands in `_dependencies_table.md`, else in its own file."""

import os
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..core.diagnostics import Diagnostic, Severity
from ..core.errors import FileError, Place
from ..core.graph import Edge, Fault, Source, build
from ..core.keys import natural, number_of
from ..files import read_text
from .task_file import Said, TaskHead, points_in, read_task_head
from .task_names import named_in, resolve, says_none, slug_of, split_stem
from .task_table import TableRow, read_task_table

TABLE = "_dependencies_table.md"
TODO, DONE = "todo", "done"
MAX_TASKS = 2000
_NO_TASKS = ("readme", "index", "overview", "changelog")


class Task(NamedTuple):
    id: str  # as its file's name begins: 01, AZ-12
    number: str  # the same without its writing: 1, az.12
    slug: str
    title: str
    points: int | None
    needs: tuple[str, ...]  # numbers of other tasks, in their natural order
    path: str
    state: str  # todo or done

    @property
    def name(self) -> str:
        """What its file is called, without the ending."""
        return os.path.basename(self.path)[:-3]


class Tasks(NamedTuple):
    folder: str
    tasks: tuple[Task, ...] = ()  # in their natural order
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def todo(self) -> tuple[Task, ...]:
        return tuple(task for task in self.tasks if task.state == TODO)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """What must be mended before anybody can begin."""
        return tuple(one for one in self.diagnostics if one.severity is Severity.ERROR)


class _Found(NamedTuple):
    task: Task
    head: TaskHead


def read_tasks(folder: str) -> Tasks:
    """Never an exception for what somebody wrote: what cannot be used is a diagnostic with its place."""
    notes: list[Diagnostic] = []
    found = sorted(_files(folder, notes), key=lambda one: (natural(one.task.number), one.task.path))
    known = _known(found, notes)
    table = _table(folder, known, notes)
    tasks = tuple(_settled(folder, one, table.get(one.task.number), known, notes) for one in found)
    notes += _cycles(tasks)
    return Tasks(folder, tasks, tuple(notes))


def _files(folder: str, notes: list[Diagnostic]) -> Iterator[_Found]:
    left = MAX_TASKS
    for part, state in ((TODO, TODO), (DONE, DONE), ("", TODO)):
        place = os.path.join(folder, part) if part else folder
        for name in _names(place):
            left -= 1
            if left < 0:
                notes.append(_note(Severity.ERROR, "too-many-tasks", f"more than {MAX_TASKS} tasks", Place(place)))
                return
            yield _read(os.path.join(place, name), state, notes)


def _names(place: str) -> list[str]:
    try:
        names = sorted(os.listdir(place))
    except OSError:
        return []
    return [name for name in names if is_task_name(name) and os.path.isfile(os.path.join(place, name))]


def is_task_name(name: str) -> bool:
    """No path, and not one of the files that tell about all tasks."""
    stem = name[:-3].lower()
    plain = name.isprintable() and not any(char in "/\\" for char in name)
    return plain and name.endswith(".md") and stem[:1] not in ("", "_", ".") and stem not in _NO_TASKS


def _read(path: str, state: str, notes: list[Diagnostic]) -> _Found:
    stem = os.path.basename(path)[:-3]
    id, slug = split_stem(stem)
    head = TaskHead()
    try:
        head = read_task_head(read_text(path))
    except FileError as error:
        severity = Severity.ERROR if state == TODO else Severity.NOTE
        notes.append(_note(severity, "unreadable-task", error.message, error.place or Place(path), error.hint))
    title = head.title or slug.replace("-", " ").capitalize() or id
    return _Found(Task(id, number_of(id) or id, slug or slug_of(title), title, None, (), path, state), head)


def _known(found: list[_Found], notes: list[Diagnostic]) -> dict[str, str]:
    """What each may be called → its number: its id, its file's name, and what it calls itself."""
    known: dict[str, str] = {}
    first: dict[str, Task] = {}
    for task, _ in found:
        if task.number in first:
            message = f"is called {task.id}, as {os.path.basename(first[task.number].path)} is"
            hint = "give one of them another number"
            notes.append(_note(Severity.ERROR, "same-task", message, Place(task.path), hint))
        first.setdefault(task.number, task)
        known.setdefault(task.number, task.number)
    for task, head in found:
        known.setdefault(number_of(task.name), task.number)
        if head.task is not None and (own := split_stem(head.task.value.strip("`* "))[0]):
            known.setdefault(number_of(own), task.number)
    digits: dict[str, set[str]] = {}
    for number in first:
        digits.setdefault(number.rpartition(".")[2], set()).add(number)
    for bare, numbers in digits.items():  # `3` for TASK-3, where it alone has that number
        if len(numbers) == 1:
            known.setdefault(bare, *numbers)
    return known


def _table(folder: str, known: Mapping[str, str], notes: list[Diagnostic]) -> dict[str, TableRow]:
    path = os.path.join(folder, TABLE)
    if not os.path.lexists(path):
        return {}
    try:
        rows = read_task_table(read_text(path))
    except FileError as error:
        notes.append(
            _note(Severity.ERROR, "unreadable-table", error.message, error.place or Place(path), error.hint)
        )
        return {}
    table: dict[str, TableRow] = {}
    for row in rows:
        numbers = [number for word in named_in(row.task) for number in resolve(word, known)]
        if len(numbers) != 1:
            message = f"has a row for {row.task[:60]}, and no task is called so"
            notes.append(_note(Severity.WARNING, "no-such-task", message, Place(path, row.line)))
        elif numbers[0] in table:
            message = f"has a second row for {row.task[:60]}; the first counts"
            notes.append(_note(Severity.WARNING, "same-row", message, Place(path, row.line)))
        else:
            table[numbers[0]] = row
    return table


def _settled(
    folder: str, found: _Found, row: TableRow | None, known: Mapping[str, str], notes: list[Diagnostic]
) -> Task:
    task, head = found
    is_open = task.state == TODO
    here: list[Diagnostic] = []
    own = _needs(head.needs, task.path, known, here)
    listed = Said(row.needs, row.line) if row and row.needs else None
    of_table = _needs(listed, os.path.join(folder, TABLE), known, here)
    if own is not None and of_table is not None and own != of_table and head.needs is not None:
        message = f"says that it needs {_shown(own)}; the table says {_shown(of_table)}, which counts"
        place = Place(task.path, head.needs.line)
        here.append(_note(Severity.WARNING, "needs-disagree", message, place, f"make both say the same: {TABLE}"))
    needs = of_table if of_table is not None else own or ()
    said = points_in(row.points) if row is not None and row.points else None
    points = said if said is not None else points_in(head.points.value) if head.points else None
    if points is None:
        line = head.points.line if head.points else None
        message = "says no complexity points"
        here.append(_note(Severity.NOTE, "no-points", message, Place(task.path, line), "**Complexity**: 3 points"))
    if is_open:  # of what is finished nobody needs to know
        notes += here
    return task._replace(needs=needs, points=points)


def _needs(
    said: Said | None, path: str, known: Mapping[str, str], notes: list[Diagnostic]
) -> tuple[str, ...] | None:
    """None: nothing is said. An unknown name is passed over, and told of."""
    if said is None or not said.value:
        return None
    numbers: set[str] = set()
    for word in named_in(said.value):
        meant = resolve(word, known)
        numbers.update(meant)
        if not meant:
            message = f"needs {word[:60]}, and no task is called so"
            hint = "mend the name; until then it is passed over"
            notes.append(_note(Severity.WARNING, "unknown-need", message, Place(path, said.line), hint))
    return tuple(sorted(numbers, key=natural)) if numbers or says_none(said.value) else ()


def _cycles(tasks: tuple[Task, ...]) -> Iterator[Diagnostic]:
    by_number = {task.number: task for task in reversed(tasks)}  # of two with one number the first
    for cycle in cycles(tasks):
        names = " → ".join(by_number[number].name for number in (*cycle, cycle[0]))
        message = f"tasks wait for each other: {names}"
        place = Place(by_number[cycle[0]].path)
        yield _note(Severity.ERROR, "task-cycle", message, place, "take one of these dependencies out")


def cycles(tasks: tuple[Task, ...]) -> list[tuple[str, ...]]:
    """Numbers of tasks that are to do, each of which waits for the next, and the last for the first."""
    nodes = list(dict.fromkeys(task.number for task in tasks if task.state == TODO))
    edges = [Edge(task.number, need, Source.STORIES) for task in tasks for need in task.needs]
    problems = build(nodes, edges, {task.number for task in tasks}).problems
    return [one.cycle or (one.edge.epic,) for one in problems if one.fault in (Fault.CYCLE, Fault.ITSELF)]


def _shown(numbers: tuple[str, ...]) -> str:
    return ", ".join(numbers) or "nothing"


def _note(severity: Severity, code: str, message: str, place: Place, hint: str | None = None) -> Diagnostic:
    return Diagnostic(severity, code, message, place, hint)
