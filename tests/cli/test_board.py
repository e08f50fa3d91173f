"""bmad board check, set and repair, as they are typed."""

import json
from importlib.resources import files

import jsonschema
import pytest

from tests.support.bmad_project import ProjectMaker
from tests.support.cli_projects import MIXED, mixed_project
from tests.support.terminals import assert_golden, run_in_terminal, run_piped, strip_colors

BOARD = "_bmad-output/implementation-artifacts/sprint-status.yaml"


def validate(name: str, output: str) -> dict[str, object]:
    document: dict[str, object] = json.loads(output)
    schema = json.loads(files("bmad_autopilot").joinpath(f"schemas/{name}.schema.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(document)
    return document


def test_check_names_every_line(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    done = run_piped("board", "check", cwd=sample.root)
    assert done.returncode == 0
    assert_golden("board-check", done.stdout)
    validate("board-check", run_piped("board", "check", "--json", cwd=sample.root).stdout)


def test_check_fails_on_errors_only(project: ProjectMaker) -> None:
    board = "development_status:\n  epic-1: in-progress\n  1-1-a: done\n  1-1-a: backlog\n"
    done = run_piped("board", "check", cwd=project(board=board, stories={}, epics=None).root)
    assert done.returncode == 1
    assert f"{BOARD}:3: error: 1-1-a stands here as done and again on line 4 as backlog" in done.stdout


def test_set_changes_one_word(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    done = run_piped("board", "set", "2.2", "done", cwd=sample.root)
    assert (done.returncode, done.stdout) == (0, "2-2-search: review → done (sprint-status.yaml:14)\n")
    assert sample.board.read_text() == MIXED.replace("2-2-search: review", "2-2-search: done")
    assert sample.git("status", "--porcelain").splitlines()[0].endswith("sprint-status.yaml")
    done = run_piped("board", "set", "2-2", "done", cwd=sample.root)
    assert done.stdout == "2-2-search is done already (sprint-status.yaml:14)\n"


def test_set_epics_and_retrospectives(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    assert run_piped("board", "set", "epic-2", "done", "--force", cwd=sample.root).returncode == 0
    assert run_piped("board", "set", "epic-2-retrospective", "done", cwd=sample.root).returncode == 0
    text = sample.board.read_text()
    assert "  epic-2: done\n" in text
    assert "  epic-2-retrospective: done\n" in text


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["2-2", "backlog"], 2, "would be a step back"),
        (["2-2", "finished"], 2, "did you mean done?"),
        (["epic-2", "review"], 2, "is not a status of an epic"),
        (["epic-2", "done"], 2, "has stories that are not done"),
        (["2", "done"], 2, "is epic-2 meant?"),
        (["2-1", "blocked"], 2, "would be a step back"),
        (["9-9", "done"], 2, "no story 9-9"),
        (["2-2", "done", "--expect", "backlog"], 1, "is not backlog any more"),
        (["../../etc/passwd", "done"], 2, "no story"),
    ],
)
def test_set_refuses(project: ProjectMaker, arguments: list[str], code: int, says: str) -> None:
    sample = mixed_project(project)
    done = run_piped("board", "set", *arguments, cwd=sample.root)
    assert done.returncode == code
    assert says in done.stderr
    assert sample.board.read_text() == MIXED


def test_set_back_when_it_is_meant(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    assert run_piped("board", "set", "2-2", "backlog", "--force", cwd=sample.root).returncode == 0
    assert "2-2-search: backlog  # ready since Monday" in sample.board.read_text()


def test_repair_shows_then_applies_then_has_nothing_left(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    shown = run_piped("board", "repair", cwd=sample.root)
    assert shown.stdout.splitlines() == [
        f"{BOARD}:10: epic-1-retrospective: completed → done (an older or odd spelling)",
        f"{BOARD}:14: 2-2-search: review → done (its story file says done)",
        "2 changes to make: bmad board repair --apply",
    ]
    assert sample.board.read_text() == MIXED
    document = validate("board-repair", run_piped("board", "repair", "--apply", "--json", cwd=sample.root).stdout)
    assert document["applied"] is True
    expected = MIXED.replace("2-2-search: review", "2-2-search: done").replace(": completed", ": done")
    assert sample.board.read_text() == expected
    assert run_piped("board", "repair", cwd=sample.root).stdout == "nothing to repair\n"


def test_repair_brings_a_story_file_forward(project: ProjectMaker) -> None:
    sample = project(
        board="development_status:\n  epic-1: in-progress\n  1-1-a: done\n  1-2-b: backlog\n",
        stories={"1-1-a": "review"},
    )
    assert run_piped("board", "repair", "--apply", cwd=sample.root).returncode == 0
    assert "Status: done\n" in sample.story("1-1-a").read_text()


def test_on_a_terminal_each_file_is_named_once(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    shown = strip_colors(run_in_terminal("board", "check", cwd=sample.root, columns=80))
    assert_golden("board-check-80", shown)
    assert shown.count("sprint-status.yaml") == 1
    assert all(len(line) <= 80 for line in shown.splitlines())


def test_a_project_that_cannot_be_written_is_said_plainly(project: ProjectMaker) -> None:
    sample = mixed_project(project)
    (sample.root / ".git" / "bmad-autopilot").write_text("in the way")
    done = run_piped("board", "set", "2-2", "done", cwd=sample.root)
    assert done.returncode == 1
    assert done.stderr.startswith("bmad: error: .git/bmad-autopilot: ")
    assert sample.board.read_text() == MIXED


SHARED_NUMBER = """development_status:
  epic-1: in-progress
  1-1-a: done
  1-2-list: ready-for-dev
  v2-0-1-fix-errors: done
  v2-6-1-sounds: backlog
  v2-6-2-music: backlog
"""


def test_repair_leaves_rows_alone_that_have_no_file_of_their_own(project: ProjectMaker) -> None:
    stories = {"1-1-a": "done", "1-2-search": "done", "1-2-filter": "review", "v2-0-1-fix-errors": "review"}
    sample = project(board=SHARED_NUMBER, stories=stories)
    for verb in (("status",), ("board", "check"), ("next", "--dry-run")):
        shown = run_piped(*verb, cwd=sample.root).stdout
        assert "v2-6-1-sounds is backlog on the board" not in shown
        assert "1-2-list is ready-for-dev on the board" not in shown
    assert "bmad board repair" not in run_piped("status", cwd=sample.root).stdout
    assert run_piped("board", "repair", "--apply", cwd=sample.root).returncode == 0
    assert sample.board.read_text() == SHARED_NUMBER
    assert "Status: done\n" in sample.story("v2-0-1-fix-errors").read_text()
    assert "Status: review\n" in sample.story("1-2-filter").read_text()


def test_status_recommends_no_repair_that_repair_would_not_make(project: ProjectMaker) -> None:
    board = "development_status:\n  epic-1: in-progress\n  1-1-a: review\n"
    sample = project(board=board, stories={"1-1-a": "done"})
    copy = sample.board.parent / "stories" / "1-1-a.md"
    copy.parent.mkdir()
    copy.write_text(sample.story("1-1-a").read_text().replace("Status: done", "Status: review"))
    assert "bmad board repair" not in run_piped("status", cwd=sample.root).stdout
    assert run_piped("board", "repair", cwd=sample.root).stdout == "nothing to repair\n"
