"""bmad doctor on the auto-approve workflow: only where it is, and whether GitHub lets it approve."""

import pytest

from bmad_autopilot.cli.doctor import run_checks
from bmad_autopilot.github.auto_approve import auto_approve_files
from bmad_autopilot.views.doctor import CheckState, DoctorCheck
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.isolated_path import IsolatedPath

ASKED = "[ \"$2\" = 'repos/{owner}/{repo}/actions/permissions/workflow' ]"


def installed(project: ProjectMaker) -> SampleProject:
    sample = project()
    for file in auto_approve_files():
        sample.write(file.path, file.text)
    return sample


def checks(sample: SampleProject) -> dict[str, DoctorCheck]:
    return {check.name: check for check in run_checks(str(sample.root), seconds=10)}


def test_where_it_is_not_installed_nothing_is_said_or_asked(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = project()
    sample.write(".github/workflows/auto-approve.yml", "name: my own\n")
    machine.add("gh", f"{ASKED} && touch {sample.root}/asked; echo gh version 2.102.0")
    assert not [name for name in checks(sample) if "auto-approve" in name]
    assert not (sample.root / "asked").exists()


@pytest.mark.parametrize(
    ("answer", "state", "words"),
    [
        ("echo '{\"can_approve_pull_request_reviews\": true}'", CheckState.OK, "may approve"),
        ("echo '{\"can_approve_pull_request_reviews\": false}'", CheckState.WARN, "may not approve"),
        ("echo 'HTTP 403: Must have admin rights' >&2; exit 1", CheckState.NOTE, "not known: HTTP 403"),
        ("echo '[]'", CheckState.NOTE, "not understood"),
        ("echo 'no JSON'", CheckState.NOTE, "not understood"),
    ],
)
def test_the_setting_on_github_is_looked_up(
    machine: IsolatedPath, project: ProjectMaker, answer: str, state: CheckState, words: str
) -> None:
    machine.add("gh", f"if {ASKED}; then {answer}; else echo gh version 2.102.0; fi")
    found = checks(installed(project))
    assert found["auto-approve"].state is CheckState.OK
    assert found["auto-approve setting"].state is state
    assert words in found["auto-approve setting"].found


def test_a_text_of_another_version_is_a_warning(machine: IsolatedPath, project: ProjectMaker) -> None:
    sample = installed(project)
    script = sample.root / ".github/scripts/auto-approve-gate.py"
    script.write_text(script.read_text() + "# old\n")
    assert checks(sample)["auto-approve"].fix == "bmad init --github"
    script.unlink()
    assert checks(sample)["auto-approve"].state is CheckState.WARN


def test_without_gh_the_setting_is_not_mentioned(machine: IsolatedPath, project: ProjectMaker) -> None:
    machine.remove("gh")
    assert "auto-approve setting" not in checks(installed(project))
