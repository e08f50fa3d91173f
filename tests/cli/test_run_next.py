"""One step, with a word before it."""

from pathlib import Path

import pytest

from tests.cli.conversations import CTRL_C, Conversation
from tests.support.bmad_project import ProjectMaker, git
from tests.support.cli_projects import finished_project, mixed_project
from tests.support.sample_projects import make_sample_project
from tests.support.terminals import run_piped


def test_it_is_confirmed_and_does_one_step(tmp_path: Path) -> None:
    project = make_sample_project(tmp_path / "p")
    with Conversation("next", cwd=project) as person:
        person.wait_for("Do it? [Y/n]")
        person.type("\n")
        assert person.end() == 0
    assert "create-story  done" in person.screen
    assert "dev           started" not in person.screen
    assert "the next step of 1-1-list-accounts is done" in person.screen


@pytest.mark.parametrize(("key", "code"), [("n\n", 1), (CTRL_C, 130)])
def test_no_is_no(tmp_path: Path, key: str, code: int) -> None:
    project = make_sample_project(tmp_path / "p")
    with Conversation("next", cwd=project) as person:
        person.wait_for("Do it? [Y/n]")
        person.type(key)
        assert person.end(key if key == CTRL_C else "") == code
    assert not (project / "_bmad-output/.runs").exists()
    assert git(project, "status", "--porcelain") == ""


def test_without_a_terminal_it_needs_a_yes(tmp_path: Path) -> None:
    project = make_sample_project(tmp_path / "p")
    for more in ([], ["--json"]):
        done = run_piped("next", *more, cwd=project)
        assert (done.returncode, done.stdout) == (2, "")
        assert "bmad next -y" in done.stderr


def test_nothing_left(project: ProjectMaker) -> None:
    done = run_piped("next", "-y", cwd=finished_project(project).root)
    assert (done.returncode, done.stdout.startswith("all 2 stories are done")) == (0, True)


def test_tracked_changes_are_refused_and_asked_about(tmp_path: Path) -> None:
    project = make_sample_project(tmp_path / "p")
    readme = project / "README.md"
    readme.write_text(readme.read_text() + "mine\n")
    done = run_piped("next", "-y", cwd=project)
    assert done.returncode == 1
    assert "README.md" in done.stderr
    assert "--allow-dirty" in done.stderr
    with Conversation("next", "-y", cwd=project) as person:
        person.wait_for("leave them out of every commit? [y/N]")
        person.type("y\n")
        assert person.end() == 0
    assert git(project, "status", "--porcelain", "README.md") == " M README.md\n"


def test_a_missing_skill_is_said_before_anything_starts(project: ProjectMaker) -> None:
    sample_project = project(era="build")
    sample_project.write("bmad-autopilot.toml", 'workflow = "lean"\n')
    done = run_piped("run-story", "2-1", cwd=sample_project.root)
    assert (done.returncode, done.stdout) == (1, "")
    assert "create-story for claude" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["run-story", "9-9"], "no story 9-9 on the board"),
        (["run-epic", "77"], "no epic 77 on the board"),
        (["run-story", "2-3", "--max-cost", "0"], "--max-cost"),
        (["run-epic", "2", "--max-hours", "-1"], "--max-hours"),
        (["resume"], "there is nothing to resume"),
        (["restart", "9-9"], "no story 9-9 on the board"),
    ],
)
def test_what_cannot_be_run(project: ProjectMaker, arguments: list[str], says: str) -> None:
    done = run_piped(*arguments, cwd=mixed_project(project).root)
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr
