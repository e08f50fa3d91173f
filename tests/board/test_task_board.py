"""The tasks' own board: made once, added to, and each row's task found again."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bmad_autopilot.board.sprint_status import board_from_text, read_board
from bmad_autopilot.board.sprint_status_writer import set_status
from bmad_autopilot.board.task_board import (
    batch_graph,
    find_task_file,
    ordered_batches,
    plan_rows,
    render_board,
    task_rows,
    write_task_board,
)
from bmad_autopilot.board.task_files import FlowTask, FlowTasks, read_tasks
from bmad_autopilot.core.errors import FileError
from bmad_autopilot.core.statuses import RowKind
from bmad_autopilot.io.files import TextFile


def add(folder: Path, name: str, needs: str = "none") -> None:
    path = folder / "todo" / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"**Complexity**: 1\n**Dependencies**: {needs}\n")


def plan(folder: Path, kind: str = "features") -> int:
    return write_task_board(read_tasks(str(folder)), kind, state=str(folder / "state"))


def text_of(folder: Path) -> str:
    return (folder / "sprint-status.yaml").read_text().partition("development_status:\n")[2]


def owners(folder: Path) -> dict[str, str | None]:
    board, tasks = read_board(str(folder / "sprint-status.yaml")), read_tasks(str(folder))
    return {one.row.key: one.task.name if one.task else None for one in task_rows(board, tasks)}


def test_a_batch_is_an_epic_and_a_task_a_row(tmp_path: Path) -> None:
    for name in ("01_setup", "02_login", "TASK-3 full text search"):
        add(tmp_path, name, "none" if name == "01_setup" else "01")
    assert plan(tmp_path) == 2
    assert text_of(tmp_path) == (
        "  epic-1: backlog  # kind: features\n"
        "  1-1-setup: ready-for-dev  # task: 01_setup\n"
        "  epic-2: backlog  # kind: features\n"
        "  2-1-login: ready-for-dev  # task: 02_login\n"
        "  2-2-full-text-search: ready-for-dev  # task: TASK-3 full text search\n"
    )
    assert plan(tmp_path) == 0


def test_later_tasks_are_added_below_and_nothing_else_changes(tmp_path: Path) -> None:
    add(tmp_path, "01_setup")
    plan(tmp_path, "tests")
    path = tmp_path / "sprint-status.yaml"
    path.write_text(
        path.read_text().replace("# kind: tests", "# kind: tests").replace("\n", "\r\n") + "# mine\r\n"
    )
    before = path.read_bytes()
    set_status(str(path), "1-1-setup", "done", state=str(tmp_path / "state"))
    add(tmp_path, "02_setup", "01")
    assert plan(tmp_path) == 1
    rows = b"  epic-2: backlog  # kind: features\r\n  2-1-setup-2: ready-for-dev  # task: 02_setup\r\n# mine"
    expected = before.replace(b"1-1-setup: ready-for-dev", b"1-1-setup: done").replace(b"# mine", rows)
    assert path.read_bytes() == expected
    assert owners(tmp_path) == {"1-1-setup": "01_setup", "2-1-setup-2": "02_setup"}


def test_a_board_without_a_last_line_end_is_added_to(tmp_path: Path) -> None:
    add(tmp_path, "01_setup")
    plan(tmp_path)
    path = tmp_path / "sprint-status.yaml"
    path.write_text(path.read_text().rstrip("\n"))
    add(tmp_path, "02_login")
    assert plan(tmp_path) == 1
    assert owners(tmp_path) == {"1-1-setup": "01_setup", "2-1-login": "02_login"}


def test_what_is_done_gets_no_row(tmp_path: Path) -> None:
    add(tmp_path, "01_setup")
    (tmp_path / "done").mkdir()
    (tmp_path / "todo" / "01_setup.md").rename(tmp_path / "done" / "01_setup.md")
    assert plan(tmp_path) == 0
    assert not (tmp_path / "sprint-status.yaml").exists()


def test_a_row_finds_its_task_without_its_comment(tmp_path: Path) -> None:
    for name in ("01_setup", "02_setup", "03_login"):
        add(tmp_path, name)
    plan(tmp_path)
    path = tmp_path / "sprint-status.yaml"
    path.write_text("\n".join(line.partition("  #")[0] for line in path.read_text().splitlines()) + "\n")
    found = owners(tmp_path)
    assert found["1-2-setup-2"] == "02_setup"
    assert found["1-3-login"] == "03_login"
    board = read_board(str(path))
    assert find_task_file(board, board.rows["1-3-login"], str(tmp_path)) == str(tmp_path / "todo/03_login.md")


def test_a_rows_file_is_found_in_todo_and_in_done(tmp_path: Path) -> None:
    add(tmp_path, "01_setup")
    plan(tmp_path)
    board = read_board(str(tmp_path / "sprint-status.yaml"))
    row = board.rows["1-1-setup"]
    assert find_task_file(board, row, str(tmp_path)) == str(tmp_path / "todo/01_setup.md")
    (tmp_path / "done").mkdir()
    (tmp_path / "todo/01_setup.md").rename(tmp_path / "done/01_setup.md")
    assert find_task_file(board, row, str(tmp_path)) == str(tmp_path / "done/01_setup.md")
    (tmp_path / "done/01_setup.md").unlink()
    assert find_task_file(board, row, str(tmp_path)) is None


def test_a_comment_leads_nowhere_else(tmp_path: Path) -> None:
    add(tmp_path, "01_setup")
    plan(tmp_path)
    (tmp_path / "other.md").write_text("not a task of todo/")
    path = tmp_path / "sprint-status.yaml"
    path.write_text(path.read_text().replace("task: 01_setup", "task: ../other"))
    board = read_board(str(path))
    assert find_task_file(board, board.rows["1-1-setup"], str(tmp_path)) != str(tmp_path / "other.md")


def test_batches_wait_for_what_their_tasks_need(tmp_path: Path) -> None:
    for number in range(1, 6):
        add(tmp_path, f"0{number}_part")
    add(tmp_path, "06_last", "05")
    plan(tmp_path)
    board, tasks = read_board(str(tmp_path / "sprint-status.yaml")), read_tasks(str(tmp_path))
    assert batch_graph(board, tasks).dependencies() == {"1": [], "2": [], "3": ["2"]}


def test_an_open_task_that_needs_a_later_one_comes_after_it(tmp_path: Path) -> None:
    add(tmp_path, "01_setup")
    plan(tmp_path)
    add(tmp_path, "01_setup", "02")
    add(tmp_path, "02_new")
    plan(tmp_path)
    board, tasks = read_board(str(tmp_path / "sprint-status.yaml")), read_tasks(str(tmp_path))
    assert ordered_batches(board, tasks) == ["epic-2", "epic-1"]


def test_a_board_that_has_no_safe_place_is_left_alone(tmp_path: Path) -> None:
    add(tmp_path, "01_setup")
    path = tmp_path / "sprint-status.yaml"
    path.write_text("development_status: {epic-1: backlog, 1-1-x: done}\n")
    before = path.read_bytes()
    with pytest.raises(FileError, match="no place for more rows"):
        plan(tmp_path)
    assert path.read_bytes() == before


_NAMES = st.lists(
    st.from_regex(r"([A-Z]{1,4}-)?[0-9]{1,3}[_ -][A-Za-z0-9 #_.-]{0,20}[a-z0-9]", fullmatch=True),
    min_size=1,
    max_size=12,
    unique_by=lambda name: read_number(name),
)


def read_number(name: str) -> str:
    from bmad_autopilot.board.task_table import split_stem
    from bmad_autopilot.core.keys import normalize_number

    return normalize_number(split_stem(name)[0])


@given(_NAMES, st.integers(1, 5))
def test_every_row_finds_its_task_again(names: list[str], most: int) -> None:
    from bmad_autopilot.board.task_table import split_stem

    made = []
    for name in names:
        id, slug = split_stem(name)
        made.append(FlowTask(id, read_number(name), slug, "", 1, (), f"/tasks/todo/{name}.md", "todo"))
    tasks = FlowTasks("/tasks", tuple(made))
    board = board_from_text(TextFile("board.yaml", render_board(plan_rows(tasks, None, "features", most))))
    found = {one.row.key: one.task.name if one.task else None for one in task_rows(board, tasks)}
    assert sorted(found.values(), key=str) == sorted(task.name for task in made)
    assert len({row.number for row in board.of_kind(RowKind.STORY)}) == len(made)
    assert plan_rows(tasks, board, "features", most) == []
