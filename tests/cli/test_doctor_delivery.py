"""bmad doctor on the way to GitHub: the remote, its host, gh and its login; and nothing of it without GitHub."""

from pathlib import Path

import pytest

from bmad_autopilot.cli.doctor import run_checks
from bmad_autopilot.views.doctor import CheckState, DoctorCheck
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.isolated_path import IsolatedPath

KNOWS = '[ "$1" != auth ] && echo "gh version 2.23.0" && exit; [ "$3 $4" = "--hostname {}" ]'


@pytest.fixture
def sample(project: ProjectMaker) -> SampleProject:
    return project()


def checks(sample: SampleProject) -> dict[str, DoctorCheck]:
    return {check.name: check for check in run_checks(str(sample.root), seconds=10)}


def leads_to(sample: SampleProject, url: str) -> None:
    sample.git("remote", "add", "origin", url)


@pytest.mark.parametrize("host", ["github.com", "git.example.com"])
def test_a_remote_whose_host_gh_is_logged_in_to(machine: IsolatedPath, sample: SampleProject, host: str) -> None:
    machine.add("gh", KNOWS.format(host))
    leads_to(sample, f"git@{host}:acme/widgets.git")
    found = checks(sample)
    assert found["remote"] == DoctorCheck("remote", CheckState.OK, f"origin is acme/widgets on {host}")
    assert found["gh"].state is CheckState.OK
    assert found["gh login"] == DoctorCheck("gh login", CheckState.OK, f"logged in to {host}")


def test_a_host_that_gh_does_not_know(machine: IsolatedPath, sample: SampleProject) -> None:
    machine.add("gh", KNOWS.format("github.com"))
    leads_to(sample, "ssh://git@git.example.com/acme/widgets.git")
    check = checks(sample)["gh login"]
    assert (check.state, check.found) == (CheckState.WARN, "not logged in to git.example.com")
    assert check.fix == (
        'gh auth login --hostname git.example.com\nwithout GitHub: delivery = "local" in bmad-autopilot.toml'
    )


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("git@gitlab.com:acme/widgets.git", "is on gitlab.com"),
        ("https://gitlab.example.com/acme/widgets", "is on gitlab.example.com"),
        ("/srv/git/widgets.git", "leads to no repository on GitHub"),
        ("", "has no remote origin"),
    ],
)
def test_a_remote_that_is_no_github_is_judged_without_asking_it(
    machine: IsolatedPath, sample: SampleProject, tmp_path: Path, url: str, words: str
) -> None:
    machine.add("gh", f'echo "$*" >> {tmp_path}/asked; echo gh version 2.102.0')
    if url:
        leads_to(sample, url)
    check = checks(sample)["remote"]
    assert check.state is CheckState.WARN
    assert words in check.found
    assert 'delivery = "local"' in str(check.fix)
    assert "example.com" not in (tmp_path / "asked").read_text()


def test_another_remote_that_the_settings_name(machine: IsolatedPath, sample: SampleProject) -> None:
    sample.write("bmad-autopilot.toml", '[github]\nremote = "upstream"\n')
    sample.git("remote", "add", "upstream", "https://github.com/acme/widgets")
    assert checks(sample)["remote"].found == "upstream is acme/widgets on github.com"


def test_where_epics_are_merged_here_nothing_is_said_of_github(
    machine: IsolatedPath, sample: SampleProject, tmp_path: Path
) -> None:
    machine.add("gh", f"touch {tmp_path}/asked")
    sample.write("bmad-autopilot.toml", 'delivery = "local"\n')
    assert not {"remote", "gh", "gh login"} & checks(sample).keys()
    assert not (tmp_path / "asked").exists()


def test_outside_a_repository_only_that_is_said(machine: IsolatedPath, project: ProjectMaker) -> None:
    found = checks(project(with_git=False))
    assert found["repository"].state is CheckState.FAIL
    assert "remote" not in found


def test_gh_from_2_23_on_will_do(machine: IsolatedPath, sample: SampleProject) -> None:
    machine.add("gh", "echo 'gh version 2.23.0 (2023-02-27 Debian 2.23.0+dfsg1-1)'")
    assert checks(sample)["gh"].state is CheckState.OK
    machine.add("gh", "echo 'gh version 2.22.1'")
    check = checks(sample)["gh"]
    assert (check.state, check.found) == (CheckState.WARN, "gh version 2.22.1, but 2.23 is needed")
