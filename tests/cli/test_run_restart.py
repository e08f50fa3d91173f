"""A story begun anew: nothing is lost, and it is said where it is."""

from pathlib import Path

from tests.support.bmad_project import git
from tests.support.sample_projects import make_sample_project
from tests.support.terminals import run_piped


def test_its_work_is_saved_its_files_and_its_row_are_as_before(tmp_path: Path) -> None:
    project = make_sample_project(tmp_path / "p", stories=1)
    assert run_piped("next", "-y", cwd=project).returncode == 0
    story = project / "_bmad-output/implementation-artifacts/1-1-list-accounts.md"
    text = story.read_text()
    done = run_piped("restart", "1-1", cwd=project)
    assert done.returncode == 0
    assert not story.exists()
    assert "board    1-1-list-accounts: ready-for-dev → backlog" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("bmad run-story 1-1-list-accounts")
    ref = done.stdout.split()[1]
    assert git(project, "show", f"{ref}:{story.relative_to(project)}") == text
