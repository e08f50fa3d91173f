"""What cannot work is said before an agent costs anything: why, and what to do about it."""

import shutil
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.engine.autopilot.options import AutopilotOptions
from bmad_autopilot.engine.autopilot.supervisor import run_autopilot
from bmad_autopilot.project.project import open_project
from bmad_autopilot.sim.github.checks import CIJob, SimCI
from bmad_autopilot.sim.github.people import SimCopilot, SimHuman, SimMaintainer
from tests.support.autopilot_runs import BRANCH, AutopilotProject, run_git, use_path_with_git_only
from tests.support.bmad_project import git


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> AutopilotProject:
    """Made once."""
    pilot = AutopilotProject(tmp_path_factory.mktemp("refusing") / "p")
    pilot.save_copy()
    return pilot


@pytest.fixture
def pilot(fresh: AutopilotProject) -> AutopilotProject:
    fresh.restore_copy()
    return fresh


def refused_by_gh(pilot: AutopilotProject) -> AutopilotError:
    """With the real door, which never gets as far as GitHub."""
    with pytest.raises(AutopilotError) as found:
        run_autopilot(open_project(str(pilot.work)), AutopilotOptions(), on_event=lambda kind, data, at: None)
    return found.value


def test_no_repository(pilot: AutopilotProject) -> None:
    shutil.rmtree(pilot.work / ".git")
    assert "is under no git repository" in pilot.run_refused().message


def test_no_remote(pilot: AutopilotProject) -> None:
    run_git(pilot.work, "remote", "remove", "origin")
    error = pilot.run_refused()
    assert "no remote called origin" in error.message
    assert "git remote add origin" in str(error.hint)
    assert 'delivery = "local"' in str(error.hint)


def test_a_remote_that_is_no_github(pilot: AutopilotProject) -> None:
    error = refused_by_gh(pilot)
    assert "leads to no repository on GitHub" in error.message
    assert "git remote set-url origin" in str(error.hint)


def test_another_forges_host_is_not_asked_for_anything(
    pilot: AutopilotProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {asked};")
    run_git(pilot.work, "remote", "set-url", "origin", "git@gitlab.com:acme/widgets.git")
    assert "gitlab.com" in refused_by_gh(pilot).message
    assert not asked.exists()


def test_no_gh(pilot: AutopilotProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_git(pilot.work, "remote", "set-url", "origin", "git@github.com:acme/widgets.git")
    use_path_with_git_only(tmp_path / "bin", monkeypatch.setenv)
    error = refused_by_gh(pilot)
    assert "gh" in error.message
    assert "cli.github.com" in str(error.hint)


def test_an_archived_repository(pilot: AutopilotProject) -> None:
    pilot.model.repository.is_archived = True
    assert "acme/widgets is archived" in pilot.run_refused().message


def test_a_login_that_may_not_push(pilot: AutopilotProject) -> None:
    pilot.model.writers.discard("dev")
    error = pilot.run_refused()
    assert "dev may not push to acme/widgets" in error.message
    assert "gh auth status" in str(error.hint)


def test_changed_files(pilot: AutopilotProject) -> None:
    (pilot.work / "README.md").write_text("in the middle of something\n")
    error = pilot.run_refused()
    assert "README.md" in f"{error.message} {error.found}"
    assert error.exit_code == 1


def test_a_base_that_was_never_pushed(pilot: AutopilotProject) -> None:
    pilot.refs.delete("main")
    run_git(pilot.work, "update-ref", "-d", "refs/remotes/origin/main")
    error = pilot.run_refused()
    assert "the remote has no branch main" in error.message
    assert error.hint == "git push origin main"


def test_a_branch_of_that_name_with_commits_of_others(pilot: AutopilotProject) -> None:
    run_git(pilot.work, "switch", "--quiet", "--create", BRANCH)
    run_git(pilot.work, "commit", "--quiet", "--allow-empty", "--message", "Mine")
    run_git(pilot.work, "switch", "--quiet", "main")
    error = pilot.run_refused()
    assert f"{BRANCH} is there already, with commits that are not ours" in error.message
    assert "Mine" in str(error.found)
    assert "--continue" in str(error.hint)
    assert pilot.refs.branches().keys() == {"main"}


def test_such_a_branch_on_the_remote_alone(pilot: AutopilotProject) -> None:
    maria = SimHuman(pilot.model)
    head = pilot.refs.head_of("main")
    pilot.refs.set(BRANCH, pilot.refs.commit(head, {"theirs.txt": b"x\n"}, "Theirs", maria.login))
    error = pilot.run_refused()
    assert "Theirs" in str(error.found)


@pytest.mark.real
def test_a_branch_that_somebody_else_began_is_taken_over_when_told_to(pilot: AutopilotProject) -> None:
    git(pilot.work, "switch", "--quiet", "--create", BRANCH)
    (pilot.work / "theirs.txt").write_text("theirs\n")
    git(pilot.work, "add", "theirs.txt")
    git(pilot.work, "commit", "--quiet", "--message", "Begun by hand")
    git(pilot.work, "push", "--quiet", "origin", BRANCH)
    git(pilot.work, "switch", "--quiet", "main")
    assert "--continue" in str(pilot.run_refused())
    SimCI(pilot.model, [CIJob("test", duration=10.0)])
    SimCopilot(pilot.model, duration=10.0)
    SimMaintainer(pilot.model, delay=20.0)
    flight = pilot.run(resume_all=True)
    assert (flight.end.exit_code, flight.end.merged) == (0, ("epic-1",)), flight.end
    assert not flight.entries("asked")
    assert git(pilot.work, "show", "main:theirs.txt") == "theirs\n"
