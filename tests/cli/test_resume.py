"""Which run `bmad resume` goes on with."""

from pathlib import Path

import pytest

from tests.cli.unfinished_runs import unfinished_run
from tests.support.bmad_project import ProjectMaker
from tests.support.sample_projects import make_sample_project
from tests.support.terminals import run_piped

BOARD = "development_status:\n  epic-1: in-progress\n  1-1-a: in-progress\n"


@pytest.mark.real
def test_a_run_is_named_by_its_beginning(tmp_path: Path) -> None:
    project = make_sample_project(tmp_path / "p", "asking", stories=1)
    assert run_piped("run-epic", "1", cwd=project).returncode == 3
    assert run_piped("answer", "1-1", "1", cwd=project).returncode == 0
    done = run_piped("resume", "--run", "epic-1-", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Resuming run epic-1-" in done.stdout


def test_a_beginning_of_several_lists_them(project: ProjectMaker) -> None:
    made = project(board=BOARD)
    names = [unfinished_run(made, "1-1-a", after=seconds).name for seconds in (0.0, 60.0)]
    done = run_piped("resume", "--run", "epic-1", cwd=made.root)
    assert done.returncode == 2
    assert "2 runs begin with epic-1" in done.stderr
    assert all(name in done.stderr for name in names)


def test_a_name_that_no_run_has(project: ProjectMaker) -> None:
    made = project(board=BOARD)
    unfinished_run(made, "1-1-a")
    done = run_piped("resume", "--run", "epic-7", cwd=made.root)
    assert done.returncode == 2
    assert "there is no run 'epic-7'" in done.stderr


@pytest.mark.real
def test_going_back_tells_the_whole_story(tmp_path: Path) -> None:
    """Rows that were set before the checkpoint are known; what was taken over is told apart from what is paid."""
    project = make_sample_project(tmp_path / "p", stories=1)
    assert run_piped("run-epic", "1", cwd=project).returncode == 0
    at = next(
        line for line in run_piped("resume", "--list", cwd=project).stdout.splitlines() if " dev of " in line
    )
    done = run_piped("resume", "--checkpoint", at[:6], cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert "1-1-list-accounts  review → done" in done.stdout
    shown = run_piped("runs", "show", cwd=project).stdout
    assert f"[{at[:6]}], on branch main-{at[:6]}" in shown
    assert "1 agent call · $0.24 · 12,000 tokens\n" in shown
    assert shown.count("taken over") == 2


def test_the_list_of_checkpoints_fits_a_terminal(tmp_path: Path) -> None:
    """Of today only the hour: which step of which story is what one looks for."""
    project = make_sample_project(tmp_path / "p", stories=1)
    assert run_piped("run-epic", "1", cwd=project).returncode == 0
    listed = [line for line in run_piped("resume", "--list", cwd=project).stdout.splitlines() if " step " in line]
    assert len(listed) == 3
    assert [line for line in listed if len(line) > 80 or not line.endswith(" of 1-1-list-accounts")] == []
