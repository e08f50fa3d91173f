"""Which run `bmad resume` goes on with."""

from pathlib import Path

from tests.cli.sample_runs import sample
from tests.cli.unfinished_runs import unfinished_run
from tests.support import ProjectMaker
from tests.terminals import piped

BOARD = "development_status:\n  epic-1: in-progress\n  1-1-a: in-progress\n"


def test_a_run_is_named_by_its_beginning(tmp_path: Path) -> None:
    project = sample(tmp_path / "p", "asking", stories=1)
    assert piped("run-epic", "1", cwd=project).returncode == 3
    assert piped("answer", "1-1", "1", cwd=project).returncode == 0
    done = piped("resume", "--run", "epic-1-", cwd=project)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Resuming run epic-1-" in done.stdout


def test_a_beginning_of_several_lists_them(project: ProjectMaker) -> None:
    made = project(board=BOARD)
    names = [unfinished_run(made, "1-1-a", after=seconds).name for seconds in (0.0, 60.0)]
    done = piped("resume", "--run", "epic-1", cwd=made.root)
    assert done.returncode == 2
    assert "2 runs begin with epic-1" in done.stderr
    assert all(name in done.stderr for name in names)


def test_a_name_that_no_run_has(project: ProjectMaker) -> None:
    made = project(board=BOARD)
    unfinished_run(made, "1-1-a")
    done = piped("resume", "--run", "epic-7", cwd=made.root)
    assert done.returncode == 2
    assert "there is no run 'epic-7'" in done.stderr
