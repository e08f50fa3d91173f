"""What cannot work is said before an agent costs anything: why, and what to do about it."""

import shutil
from pathlib import Path

import pytest

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.engine.autopilot.supervising import autopilot
from bmad_autopilot.engine.autopilot.wishes import Wishes
from bmad_autopilot.project.open import open_project
from bmad_autopilot.sim.github.ci import Job, SimCI
from bmad_autopilot.sim.github.copilot import SimCopilot
from bmad_autopilot.sim.github.people import SimHuman, SimMaintainer
from tests.engine.autopilot.piloting import BRANCH, Pilot, git_only, run_git
from tests.support import git


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Pilot:
    """Made once."""
    pilot = Pilot(tmp_path_factory.mktemp("refusing") / "p")
    pilot.keep()
    return pilot


@pytest.fixture
def pilot(fresh: Pilot) -> Pilot:
    fresh.put_back()
    return fresh


def refused_by_gh(pilot: Pilot) -> AutopilotError:
    """With the real door, which never gets as far as GitHub."""
    with pytest.raises(AutopilotError) as found:
        autopilot(open_project(str(pilot.work)), Wishes(), told=lambda kind, data, at: None)
    return found.value


def test_no_repository(pilot: Pilot) -> None:
    shutil.rmtree(pilot.work / ".git")
    assert "is under no git repository" in pilot.refused().message


def test_no_remote(pilot: Pilot) -> None:
    run_git(pilot.work, "remote", "remove", "origin")
    error = pilot.refused()
    assert "no remote called origin" in error.message
    assert "git remote add origin" in str(error.hint)
    assert 'delivery = "local"' in str(error.hint)


def test_a_remote_that_is_no_github(pilot: Pilot) -> None:
    error = refused_by_gh(pilot)
    assert "leads to no repository on GitHub" in error.message
    assert "git remote set-url origin" in str(error.hint)


def test_another_forges_host_is_not_asked_for_anything(
    pilot: Pilot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = tmp_path / "asked"
    monkeypatch.setenv("GIT_SSH_COMMAND", f"touch {asked};")
    run_git(pilot.work, "remote", "set-url", "origin", "git@gitlab.com:acme/widgets.git")
    assert "gitlab.com" in refused_by_gh(pilot).message
    assert not asked.exists()


def test_no_gh(pilot: Pilot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run_git(pilot.work, "remote", "set-url", "origin", "git@github.com:acme/widgets.git")
    git_only(tmp_path / "bin", monkeypatch.setenv)
    error = refused_by_gh(pilot)
    assert "gh" in error.message
    assert "cli.github.com" in str(error.hint)


def test_an_archived_repository(pilot: Pilot) -> None:
    pilot.model.repository.is_archived = True
    assert "acme/widgets is archived" in pilot.refused().message


def test_a_login_that_may_not_push(pilot: Pilot) -> None:
    pilot.model.writers.discard("dev")
    error = pilot.refused()
    assert "dev may not push to acme/widgets" in error.message
    assert "gh auth status" in str(error.hint)


def test_changed_files(pilot: Pilot) -> None:
    (pilot.work / "README.md").write_text("in the middle of something\n")
    error = pilot.refused()
    assert "README.md" in f"{error.message} {error.found}"
    assert error.exit_code == 1


def test_a_base_that_was_never_pushed(pilot: Pilot) -> None:
    pilot.refs.delete("main")
    run_git(pilot.work, "update-ref", "-d", "refs/remotes/origin/main")
    error = pilot.refused()
    assert "the remote has no branch main" in error.message
    assert error.hint == "git push origin main"


def test_a_branch_of_that_name_with_commits_of_others(pilot: Pilot) -> None:
    run_git(pilot.work, "switch", "--quiet", "--create", BRANCH)
    run_git(pilot.work, "commit", "--quiet", "--allow-empty", "--message", "Mine")
    run_git(pilot.work, "switch", "--quiet", "main")
    error = pilot.refused()
    assert f"{BRANCH} is there already, with commits that are not ours" in error.message
    assert "Mine" in str(error.found)
    assert "--continue" in str(error.hint)
    assert pilot.refs.branches().keys() == {"main"}


def test_such_a_branch_on_the_remote_alone(pilot: Pilot) -> None:
    maria = SimHuman(pilot.model)
    head = pilot.refs.head_of("main")
    pilot.refs.set(BRANCH, pilot.refs.commit(head, {"theirs.txt": b"x\n"}, "Theirs", maria.login))
    error = pilot.refused()
    assert "Theirs" in str(error.found)


@pytest.mark.real
def test_a_branch_that_somebody_else_began_is_taken_over_when_told_to(pilot: Pilot) -> None:
    git(pilot.work, "switch", "--quiet", "--create", BRANCH)
    (pilot.work / "theirs.txt").write_text("theirs\n")
    git(pilot.work, "add", "theirs.txt")
    git(pilot.work, "commit", "--quiet", "--message", "Begun by hand")
    git(pilot.work, "push", "--quiet", "origin", BRANCH)
    git(pilot.work, "switch", "--quiet", "main")
    assert "--continue" in str(pilot.refused())
    SimCI(pilot.model, [Job("test", takes=10.0)])
    SimCopilot(pilot.model, takes=10.0)
    SimMaintainer(pilot.model, looks_after=20.0)
    flight = pilot.fly(go_on=True)
    assert (flight.end.exit_code, flight.end.merged) == (0, ("epic-1",)), flight.end
    assert not flight.entries("asked")
    assert git(pilot.work, "show", "main:theirs.txt") == "theirs\n"
