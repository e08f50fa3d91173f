"""Reads the tasks of a flow's plan: `_docs/02_tasks/todo/01_slug.md`, and `done/` once finished.

A task is identified by its file's name. Its dependencies are in `_dependencies_table.md`, else in its own file."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..core.dependency_graph import DependencySource, Edge, EdgeFault, build_graph
from ..core.errors import Diagnostic, FileError, Location, Severity
from ..core.keys import natural_order, normalize_number
from ..io.files import TextFile, read_text
from .markdown import unify_line_ends
from .task_table import TableRow, is_none, read_task_table, resolve_task_name, slug_of, split_names, split_stem

# The fields of a task's own file, in lines such as `**Dependencies**: 01, 02`.

MAX_LINES = 120  # of the head; fields further down are part of the text
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")
_HEADING = re.compile(r"#\s+(?P<title>\S.*)")
_FIELD = re.compile(
    r"\s{0,8}(?:[-*+>]\s+)?(?:\*\*|__)?\s*(?P<name>[A-Za-z][A-Za-z _-]{1,30}?)\s*(?:\*\*|__)?\s*:\s*(?:\*\*|__)?"
    r"\s*(?P<value>.*)"
)
_NAMES = {
    **dict.fromkeys(("task", "task id", "id"), "task"),
    **dict.fromkeys(("name", "title"), "name"),
    **dict.fromkeys(("complexity", "points", "story points", "complexity points", "estimate"), "points"),
    **dict.fromkeys(("dependencies", "dependency", "depends on", "blocked by", "requires", "needs"), "needs"),
}


class TaskField(NamedTuple):
    value: str
    line: int


class TaskHead(NamedTuple):
    title: str = ""
    task: TaskField | None = None
    points: TaskField | None = None
    depends_on: TaskField | None = None


def read_task_head(text: TextFile) -> TaskHead:
    """Read the fields of a task's head. The first of each counts; code is skipped."""
    found: dict[str, TaskField] = {}
    title = ""
    is_code = False
    for number, line in enumerate(unify_line_ends(text.text).split("\n", MAX_LINES)[:MAX_LINES], 1):
        if _FENCE.match(line):
            is_code = not is_code
            continue
        if is_code or len(line) > 4000:
            continue
        heading = _HEADING.match(line)
        if heading is not None:
            title = title or heading["title"].strip(" #*`")
            continue
        field = _FIELD.fullmatch(line)
        name = _NAMES.get(" ".join(field["name"].lower().replace("_", " ").split())) if field else None
        if field is not None and name is not None:
            found.setdefault(name, TaskField(field["value"].strip(), number))
    called = found.get("name")
    return TaskHead(
        (called.value.strip("*_`\"' ") if called else "") or title,
        found.get("task"),
        found.get("points"),
        found.get("needs"),
    )


def parse_points(text: str) -> int | None:
    """`3`, `3 points`, `5 SP (large)`; None: no number."""
    found = re.search(r"(?<![\w.])\d{1,4}(?![\w.]*\d)", text)
    return int(found[0]) if found else None


TABLE = "_dependencies_table.md"
TODO, DONE = "todo", "done"
MAX_TASKS = 2000
_NOT_TASKS = ("readme", "index", "overview", "changelog")


class FlowTask(NamedTuple):
    id: str  # the start of its file's name: 01, AZ-12
    number: str  # the id, normalized: 1, az.12
    slug: str
    title: str
    points: int | None
    depends_on: tuple[str, ...]  # numbers of other tasks, in natural order
    path: str
    state: str  # todo or done

    @property
    def name(self) -> str:
        """The file's name without its extension."""
        return os.path.basename(self.path)[:-3]


class FlowTasks(NamedTuple):
    folder: str
    tasks: tuple[FlowTask, ...] = ()  # in natural order
    diagnostics: tuple[Diagnostic, ...] = ()

    @property
    def todo(self) -> tuple[FlowTask, ...]:
        return tuple(task for task in self.tasks if task.state == TODO)

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that must be fixed before the tasks can start."""
        return tuple(one for one in self.diagnostics if one.severity is Severity.ERROR)


class _ReadTask(NamedTuple):
    task: FlowTask
    head: TaskHead


def read_tasks(folder: str) -> FlowTasks:
    """Read all tasks. Invalid content never raises: it is a diagnostic with its location."""
    notes: list[Diagnostic] = []
    found = sorted(_files(folder, notes), key=lambda one: (natural_order(one.task.number), one.task.path))
    known = _number_by_name(found, notes)
    table = _table(folder, known, notes)
    tasks = tuple(_complete_task(folder, one, table.get(one.task.number), known, notes) for one in found)
    notes += _cycle_diagnostics(tasks)
    return FlowTasks(folder, tasks, tuple(notes))


def _files(folder: str, notes: list[Diagnostic]) -> Iterator[_ReadTask]:
    left = MAX_TASKS
    for part, state in ((TODO, TODO), (DONE, DONE), ("", TODO)):
        location = os.path.join(folder, part) if part else folder
        for name in _names(location):
            left -= 1
            if left < 0:
                notes.append(
                    _note(Severity.ERROR, "too-many-tasks", f"more than {MAX_TASKS} tasks", Location(location))
                )
                return
            yield _read(os.path.join(location, name), state, notes)


def _names(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if is_task_name(name) and os.path.isfile(os.path.join(folder, name))]


def is_task_name(name: str) -> bool:
    """Whether a file name can be a task's: no path, and none of the overview files."""
    stem = name[:-3].lower()
    plain = name.isprintable() and not any(char in "/\\" for char in name)
    return plain and name.endswith(".md") and stem[:1] not in ("", "_", ".") and stem not in _NOT_TASKS


def _read(path: str, state: str, notes: list[Diagnostic]) -> _ReadTask:
    stem = os.path.basename(path)[:-3]
    id, slug = split_stem(stem)
    head = TaskHead()
    try:
        head = read_task_head(read_text(path))
    except FileError as error:
        severity = Severity.ERROR if state == TODO else Severity.NOTE
        notes.append(
            _note(severity, "unreadable-task", error.message, error.location or Location(path), error.hint)
        )
    title = head.title or slug.replace("-", " ").capitalize() or id
    return _ReadTask(
        FlowTask(id, normalize_number(id) or id, slug or slug_of(title), title, None, (), path, state), head
    )


def _number_by_name(found: list[_ReadTask], notes: list[Diagnostic]) -> dict[str, str]:
    """Every name of a task → its number: its id, its file's name, and the id in its file."""
    known: dict[str, str] = {}
    first: dict[str, FlowTask] = {}
    for task, _ in found:
        if task.number in first:
            message = f"is called {task.id}, as {os.path.basename(first[task.number].path)} is"
            hint = "give one of them another number"
            notes.append(_note(Severity.ERROR, "same-task", message, Location(task.path), hint))
        first.setdefault(task.number, task)
        known.setdefault(task.number, task.number)
    for task, head in found:
        known.setdefault(normalize_number(task.name), task.number)
        if head.task is not None and (own := split_stem(head.task.value.strip("`* "))[0]):
            known.setdefault(normalize_number(own), task.number)
    digits: dict[str, set[str]] = {}
    for number in first:
        digits.setdefault(number.rpartition(".")[2], set()).add(number)
    for bare, numbers in digits.items():  # `3` for TASK-3, if no other task has that number
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
            _note(Severity.ERROR, "unreadable-table", error.message, error.location or Location(path), error.hint)
        )
        return {}
    table: dict[str, TableRow] = {}
    for row in rows:
        numbers = [number for word in split_names(row.task) for number in resolve_task_name(word, known)]
        if len(numbers) != 1:
            message = f"has a row for {row.task[:60]}, and no task is called so"
            notes.append(_note(Severity.WARNING, "no-such-task", message, Location(path, row.line)))
        elif numbers[0] in table:
            message = f"has a second row for {row.task[:60]}; the first counts"
            notes.append(_note(Severity.WARNING, "same-row", message, Location(path, row.line)))
        else:
            table[numbers[0]] = row
    return table


def _complete_task(
    folder: str, found: _ReadTask, row: TableRow | None, known: Mapping[str, str], notes: list[Diagnostic]
) -> FlowTask:
    task, head = found
    is_open = task.state == TODO
    here: list[Diagnostic] = []
    own = _resolve_dependencies(head.depends_on, task.path, known, here)
    listed = TaskField(row.depends_on, row.line) if row and row.depends_on else None
    of_table = _resolve_dependencies(listed, os.path.join(folder, TABLE), known, here)
    if own is not None and of_table is not None and own != of_table and head.depends_on is not None:
        message = f"says that it needs {_shown(own)}; the table says {_shown(of_table)}, which counts"
        location = Location(task.path, head.depends_on.line)
        here.append(
            _note(Severity.WARNING, "needs-disagree", message, location, f"make both say the same: {TABLE}")
        )
    needs = of_table if of_table is not None else own or ()
    table_points = parse_points(row.points) if row is not None and row.points else None
    points = table_points if table_points is not None else parse_points(head.points.value) if head.points else None
    if points is None:
        line = head.points.line if head.points else None
        message = "says no complexity points"
        here.append(
            _note(Severity.NOTE, "no-points", message, Location(task.path, line), "**Complexity**: 3 points")
        )
    if is_open:  # diagnostics of finished tasks are dropped
        notes += here
    return task._replace(depends_on=needs, points=points)


def _resolve_dependencies(
    field: TaskField | None, path: str, known: Mapping[str, str], notes: list[Diagnostic]
) -> tuple[str, ...] | None:
    """The numbers in a dependencies field; None: no field. An unknown name is skipped with a diagnostic."""
    if field is None or not field.value:
        return None
    numbers: set[str] = set()
    for word in split_names(field.value):
        meant = resolve_task_name(word, known)
        numbers.update(meant)
        if not meant:
            message = f"needs {word[:60]}, and no task is called so"
            hint = "mend the name; until then it is passed over"
            notes.append(_note(Severity.WARNING, "unknown-need", message, Location(path, field.line), hint))
    return tuple(sorted(numbers, key=natural_order)) if numbers or is_none(field.value) else ()


def _cycle_diagnostics(tasks: tuple[FlowTask, ...]) -> Iterator[Diagnostic]:
    by_number = {task.number: task for task in reversed(tasks)}  # the first of two with one number counts
    for cycle in find_cycles(tasks):
        names = " → ".join(by_number[number].name for number in (*cycle, cycle[0]))
        message = f"tasks wait for each other: {names}"
        location = Location(by_number[cycle[0]].path)
        yield _note(Severity.ERROR, "task-cycle", message, location, "take one of these dependencies out")


def find_cycles(tasks: tuple[FlowTask, ...]) -> list[tuple[str, ...]]:
    """Cycles of open tasks, as numbers: each waits for the next, and the last for the first."""
    nodes = list(dict.fromkeys(task.number for task in tasks if task.state == TODO))
    edges = [Edge(task.number, need, DependencySource.STORIES) for task in tasks for need in task.depends_on]
    problems = build_graph(nodes, edges, {task.number for task in tasks}).problems
    return [one.cycle or (one.edge.epic,) for one in problems if one.fault in (EdgeFault.CYCLE, EdgeFault.SELF)]


def _shown(numbers: tuple[str, ...]) -> str:
    return ", ".join(numbers) or "nothing"


def _note(severity: Severity, code: str, message: str, location: Location, hint: str | None = None) -> Diagnostic:
    return Diagnostic(severity, code, message, location, hint)
