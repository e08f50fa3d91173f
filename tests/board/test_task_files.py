"""Tasks as agents and people leave them: names, tables, lines in their files."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.task_board import plan_batches, summarize_tasks
from bmad_autopilot.board.task_files import (
    FlowTask,
    FlowTasks,
    find_cycles,
    parse_points,
    read_task_head,
    read_tasks,
)
from bmad_autopilot.board.task_table import read_task_table, resolve_task_name, split_names, split_stem
from bmad_autopilot.io.files import TextFile


def write(folder: Path, name: str, text: str = "") -> None:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


def codes(tasks: FlowTasks) -> list[tuple[str, str, int | None]]:
    return [(one.code, Path(one.location.file).name, one.location.line) for one in tasks.diagnostics]


def needs(tasks: FlowTasks) -> dict[str, tuple[str, ...]]:
    return {task.id: task.depends_on for task in tasks.tasks}


@pytest.mark.parametrize(
    ("stem", "id", "slug"),
    [
        ("01_initial_structure", "01", "initial-structure"),
        ("01-slug", "01", "slug"),
        ("AZ-12_slug", "AZ-12", "slug"),
        ("TASK-3 slug of it", "TASK-3", "slug-of-it"),
        ("T7_slug", "T7", "slug"),
        ("12", "12", ""),
        ("03a_more", "03a", "more"),
        ("login", "login", "login"),
        ("PROJ2-14_x", "PROJ2-14", "x"),
        ("01_Übung №1", "01", "bung-1"),
    ],
)
def test_what_a_file_is_called_tells_its_id_and_slug(stem: str, id: str, slug: str) -> None:
    assert split_stem(stem) == (id, slug)


@pytest.mark.parametrize(
    ("cell", "names"),
    [
        ("01, 03", ["01", "03"]),
        ("`AZ-12`; AZ-13 and AZ-14", ["AZ-12", "AZ-13", "AZ-14"]),
        ("—", []),
        ("none", []),
        ("None (first task)", []),
        ("[01](todo/01_x.md)<br>02_login", ["01", "02_login"]),
        ("**AZ-12** (the store)", ["AZ-12"]),
        ("[01, 02]", ["01", "02"]),
        ("", []),
    ],
)
def test_what_a_cell_of_dependencies_names(cell: str, names: list[str]) -> None:
    assert list(split_names(cell)) == names


def test_a_word_is_resolved_however_it_is_written() -> None:
    known = {"1": "1", "1.initial": "1", "2": "2", "3": "3", "az.12": "az.12", "12": "az.12"}
    for word, meant in {
        "01": ["1"],
        "1": ["1"],
        "01_initial": ["1"],
        "01_renamed_since": ["1"],
        "Task 2": ["2"],
        "#3": ["3"],
        "AZ-12": ["az.12"],
        "az-12_whatever": ["az.12"],
        "12": ["az.12"],
        "01-03": ["1", "2", "3"],
        "01–02": ["1", "2"],
        "99": [],
        "all": [],
    }.items():
        assert resolve_task_name(word, known) == meant, word


def test_tasks_are_read_from_todo_and_done(tmp_path: Path) -> None:
    write(tmp_path, "todo/10_late.md", "**Name**: Late\n**Complexity**: 5 points\n**Dependencies**: 02\n")
    write(tmp_path, "todo/02_login.md", "# Log in\n\n- **Complexity:** 3\n- **Dependencies:** 01_setup\n")
    write(tmp_path, "done/01_setup.md", "# Set up\n")
    write(tmp_path, "todo/notes.txt", "no task")
    write(tmp_path, "todo/_template.md", "no task")
    write(tmp_path, "README.md", "no task")
    tasks = read_tasks(str(tmp_path))
    assert [(task.id, task.number, task.slug, task.title, task.state) for task in tasks.tasks] == [
        ("01", "1", "setup", "Set up", "done"),
        ("02", "2", "login", "Log in", "todo"),
        ("10", "10", "late", "Late", "todo"),
    ]
    assert needs(tasks) == {"01": (), "02": ("1",), "10": ("2",)}
    assert [task.points for task in tasks.tasks] == [None, 3, 5]
    assert tasks.diagnostics == ()
    assert str(summarize_tasks(tasks)) == "2 tasks in 2 batches, 8 complexity points"


def test_the_table_counts_and_a_file_that_differs_is_told(tmp_path: Path) -> None:
    table = (
        "# Dependencies\n\nProse | with a bar\n\n"
        "| Dependencies | Complexity | Name | Task |\n|---|:-:|---|---|\n"
        "| — | 2 | One | 01 |\n| 01 | 5 points | Two | [AZ-2](todo/AZ-2_two.md) |\n"
        "| AZ-2, 01 | | Three | 03_three |\n|  | 1 | Four | 04 |\n"
        "| none | 1 | Gone | 09 |\n| 01 | 1 | Again | 01 |\n"
    )
    write(tmp_path, "_dependencies_table.md", table)
    write(tmp_path, "todo/01_one.md", "**Complexity**: 2\n**Dependencies**: none\n")
    write(tmp_path, "todo/AZ-2_two.md", "\n**Dependencies**: 03\n")
    write(tmp_path, "todo/03_three.md", "**Dependencies**: 01, AZ-2\n**Points**: 8\n")
    write(tmp_path, "todo/04_four.md", "**Dependencies**: 03\n")
    tasks = read_tasks(str(tmp_path))
    assert needs(tasks) == {"01": (), "03": ("1", "az.2"), "04": ("3",), "AZ-2": ("1",)}
    assert {task.id: task.points for task in tasks.tasks} == {"01": 2, "03": 8, "04": 1, "AZ-2": 5}
    assert codes(tasks) == [
        ("no-such-task", "_dependencies_table.md", 11),
        ("same-row", "_dependencies_table.md", 12),
        ("needs-disagree", "AZ-2_two.md", 2),
    ]


def test_what_is_odd_is_told_with_its_place(tmp_path: Path) -> None:
    write(tmp_path, "todo/01_one.md", "# One\n\n**Dependencies**: 07, 02\n**Complexity**: medium\n")
    write(tmp_path, "todo/02_two.md", "**Dependencies**: 01\n**Complexity**: 1\n")
    write(tmp_path, "todo/2_other.md", "**Complexity**: 1\n")
    write(tmp_path, "todo/05_self.md", "**Dependencies**: 05\n**Complexity**: 1\n")
    (tmp_path / "todo" / "06_bytes.md").write_bytes(b"\xff\xfe\x00\x01\xd8")
    tasks = read_tasks(str(tmp_path))
    found = codes(tasks)
    assert ("unknown-need", "01_one.md", 3) in found
    assert ("no-points", "01_one.md", 4) in found
    assert ("same-task", "2_other.md", None) in found
    assert ("task-cycle", "01_one.md", None) in found
    assert ("task-cycle", "05_self.md", None) in found
    assert any(code == "unreadable-task" and name == "06_bytes.md" for code, name, _ in found)
    cycle = next(one for one in tasks.errors if one.code == "task-cycle" and "02_two" in one.message)
    assert cycle.message == "tasks wait for each other: 01_one → 02_two → 01_one"


def test_what_waits_for_something_finished_waits_for_nothing(tmp_path: Path) -> None:
    write(tmp_path, "done/01_one.md", "**Dependencies**: 02\n")
    write(tmp_path, "todo/02_two.md", "**Dependencies**: 01\n**Complexity**: 1\n")
    tasks = read_tasks(str(tmp_path))
    assert (tasks.errors, [[task.id for task in batch] for batch in plan_batches(tasks.tasks)]) == ((), [["02"]])


def test_no_folder_has_no_tasks(tmp_path: Path) -> None:
    assert read_tasks(str(tmp_path / "none")).tasks == ()


def test_a_batch_is_no_larger_than_told() -> None:
    tasks = [task(str(number)) for number in range(1, 10)]
    assert [len(batch) for batch in plan_batches(tasks)] == [4, 4, 1]
    assert [len(batch) for batch in plan_batches(tasks, 3)] == [3, 3, 3]


def test_points_are_the_first_number() -> None:
    said = {"3 points": 3, "5 SP (large)": 5, "13": 13, "M": None, "": None, "~8": 8}
    assert {text: parse_points(text) for text in said} == said


def test_lines_of_code_say_nothing_of_a_task() -> None:
    head = read_task_head(TextFile("x.md", b"```\n**Dependencies**: 09\n```\r\n* Depends on: 02\r\n"))
    assert head.depends_on is not None
    assert (head.depends_on.value, head.depends_on.line) == ("02", 4)


def task(number: str, needs: tuple[str, ...] = (), state: str = "todo") -> FlowTask:
    return FlowTask(number, number, f"t{number}", "", 1, needs, f"/{state}/{number}.md", state)


@st.composite
def graphs(draw: st.DrawFn) -> list[FlowTask]:
    count = draw(st.integers(1, 14))
    numbers = [str(number) for number in range(1, count + 1)]
    wanted = [draw(st.sets(st.sampled_from(numbers), max_size=3)) for _ in numbers]
    states = [draw(st.sampled_from(["todo", "todo", "todo", "done"])) for _ in numbers]
    return [task(*one) for one in zip(numbers, map(tuple, wanted), states, strict=True)]


@given(graphs(), st.integers(1, 5))
def test_a_batch_needs_only_what_is_done_or_in_earlier_ones(tasks: list[FlowTask], most: int) -> None:
    found = plan_batches(tasks, most)
    todo = {one.number for one in tasks if one.state == "todo"}
    over = {one.number for one in tasks} - todo
    for batch in found:
        assert 0 < len(batch) <= most
        assert all(set(one.depends_on) <= over for one in batch)
        over |= {one.number for one in batch}
    assert (over >= todo) == (not find_cycles(tuple(tasks)))


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=400))
def test_any_text_is_read(text: str) -> None:
    data = text.encode("utf-8", "replace")
    read_task_head(TextFile("x.md", data))
    read_task_table(TextFile("x.md", data))
    assert len(split_stem(text)) == 2
    for word in split_names(text):
        resolve_task_name(word, {"1": "1"})


@given(st.text(alphabet="01|-\\ \n*_`[]()aTdeps:\r", max_size=300))
def test_any_table_is_read(text: str) -> None:
    head = "| Task | Dependencies |\n|---|---|\n"
    for row in read_task_table(TextFile("x.md", (head + text).encode())):
        assert row.task
        assert row.line >= 3
