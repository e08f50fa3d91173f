"""bmad init --github: both files or none, nothing of the user's lost, and a second run changes nothing."""

import subprocess
from pathlib import Path

import pytest

from bmad_autopilot.github.auto_approve import auto_approve_files
from tests.support import ProjectMaker, run_bmad

WORKFLOW, SCRIPT = ".github/workflows/auto-approve.yml", ".github/scripts/auto-approve-gate.py"


def test_it_writes_both_files_and_names_the_setting_they_need(project: ProjectMaker) -> None:
    sample = project()
    ran = run_bmad("init", "--github", cwd=sample.root)
    assert (ran.code, ran.err) == (0, "")
    for file in auto_approve_files():
        assert f"  written    {file.path}\n" in ran.out
        assert (sample.root / file.path).read_text() == file.text
    assert "Allow GitHub Actions to create and approve pull requests" in ran.out
    assert "anybody who can push a branch can\nhave it approved" in ran.out
    assert max(map(len, ran.out.splitlines()[1:])) <= 80  # the first names the folder
    assert "docs/" not in ran.out  # an installed one has none


def test_a_second_run_changes_nothing(project: ProjectMaker) -> None:
    sample = project()
    run_bmad("init", "--github", cwd=sample.root)
    ran = run_bmad("init", "--github", cwd=sample.root)
    assert ran.code == 0
    assert "written" not in ran.out
    assert f"unchanged  {WORKFLOW}  (already up to date)" in ran.out


def test_without_the_option_nothing_is_written(project: ProjectMaker) -> None:
    sample = project()
    run_bmad("init", cwd=sample.root)
    assert not (sample.root / ".github").exists()


def test_a_dry_run_only_tells(project: ProjectMaker) -> None:
    sample = project()
    ran = run_bmad("init", "--github", "--dry-run", cwd=sample.root)
    assert f"would be written  {WORKFLOW}" in ran.out
    assert ran.out.endswith("next: bmad init --github\n")
    assert not (sample.root / ".github").exists()


@pytest.mark.parametrize("path", [WORKFLOW, SCRIPT])
def test_somebodys_own_file_is_kept_and_the_other_not_written(project: ProjectMaker, path: str) -> None:
    sample = project()
    own = sample.write(path, "mine\n")
    ran = run_bmad("init", "--github", "--force", cwd=sample.root)
    assert ran.code == 1
    assert f"refused    {path}  (it is there and not ours: move it away first)" in ran.out
    assert own.read_text() == "mine\n"
    assert [(sample.root / name).exists() for name in (WORKFLOW, SCRIPT)].count(True) == 1


def test_an_older_text_of_ours_is_replaced(project: ProjectMaker) -> None:
    sample = project()
    run_bmad("init", "--github", cwd=sample.root)
    script = sample.root / SCRIPT
    new = script.read_text()
    script.write_text(new.replace("min_age=600.0", "min_age=0.0"))
    ran = run_bmad("init", "--github", cwd=sample.root)
    assert f"written    {SCRIPT}" in ran.out
    assert script.read_text() == new


def test_a_project_in_a_subfolder_gets_them_where_github_looks(project: ProjectMaker, tmp_path: Path) -> None:
    sample = project()
    subprocess.run(["rm", "-rf", sample.root / ".git"], check=True)
    subprocess.run(["git", "init", "-q", sample.root.parent], check=True)
    ran = run_bmad("init", "--github", cwd=sample.root)
    assert ran.code == 0, ran.out
    assert (sample.root.parent / WORKFLOW).is_file()
    assert not (sample.root / ".github").exists()


def test_without_a_repository_it_says_so(project: ProjectMaker) -> None:
    sample = project()
    subprocess.run(["rm", "-rf", sample.root / ".git"], check=True)
    ran = run_bmad("init", "--github", cwd=sample.root)
    assert ran.code == 1
    assert "there is no git repository here" in ran.out
