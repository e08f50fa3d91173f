"""What people read when the autopilot cannot deliver: with the real gh, both versions, and the command itself."""

from pathlib import Path

import pytest

from bmad_autopilot.github.forge import COPILOT, ReviewState
from bmad_autopilot.sim.github import reviews
from bmad_autopilot.sim.github.checks import CIJob, SimCI
from bmad_autopilot.sim.github.people import SimCopilot, SimMaintainer
from bmad_autopilot.sim.github.records import SimPull
from bmad_autopilot.sim.github.reviews import Remark
from tests.real.delivery_bench import VERSIONS, DeliveryBench, use_gh
from tests.support.autopilot_runs import AutopilotProject, use_path_with_git_only

pytestmark = pytest.mark.real

CODE = "src/ledger/list_accounts.py"


@pytest.mark.parametrize("version", list(VERSIONS))
def test_nobody_is_logged_in(version: str, real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_gh(real, version, monkeypatch)
    bench = DeliveryBench(tmp_path, monkeypatch, epics=1, stories=1)
    monkeypatch.delenv("GH_TOKEN")
    with bench.serve():
        done = bench.bmad("autopilot")
    assert done.returncode == 1
    assert "logged in" in done.stderr, done.stderr
    assert "gh auth login" in done.stderr
    assert not (tmp_path / "environments").exists()


def test_there_is_no_gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench = DeliveryBench(tmp_path, monkeypatch, epics=1, stories=1)
    use_path_with_git_only(tmp_path / "bin", monkeypatch.setenv)
    (tmp_path / "bin" / "sh").symlink_to("/bin/sh")
    for name in ("git-receive-pack", "git-upload-pack"):
        (tmp_path / "bin" / name).symlink_to(Path("/usr/bin") / name)
    with bench.serve():
        done = bench.bmad("autopilot")
    assert done.returncode == 1
    assert "gh" in done.stderr
    assert "https://cli.github.com" in done.stderr


@pytest.mark.parametrize("version", list(VERSIONS))
def test_no_such_repository(version: str, real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_gh(real, version, monkeypatch)
    bench = DeliveryBench(tmp_path, monkeypatch, epics=1, stories=1)
    bench.model.repository.name = "gadgets"
    with bench.serve():
        done = bench.bmad("autopilot")
    assert done.returncode == 1
    assert "acme/widgets" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr


def test_a_pull_request_that_a_person_has_closed(
    real: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_gh(real, "2.102", monkeypatch)
    bench = DeliveryBench(tmp_path, monkeypatch, epics=1, stories=1)
    maria = SimMaintainer(bench.model, delay=0.5)

    def hear(event: str, pull: SimPull) -> None:
        if event == "labeled":
            maria.close(pull.number)

    bench.model.listeners.append(hear)
    with bench.serve():
        done = bench.bmad("autopilot")
        assert done.returncode == 3
        assert "no epic was merged" in done.stdout
        assert "epic-1 (#1) asks you: Pull request #1 of epic-1 was closed by someone" in done.stdout
        assert "bmad questions" in done.stdout
        assert [one.kind for one in bench.effects("merge", "reopen")] == []


def test_250_threads_are_all_answered(tmp_path: Path) -> None:
    """A bounded number in each round."""
    pilot = AutopilotProject(tmp_path / "p")
    SimCI(pilot.model, [CIJob("test", duration=5.0)])
    SimCopilot(pilot.model)
    SimMaintainer(pilot.model, delay=10.0)
    remarks = [Remark(CODE, 1, f"Point {number}") for number in range(250)]

    def hear(event: str, pull: SimPull) -> None:
        if event == "opened":
            reviews.review(pilot.model, 1, ReviewState.COMMENTED, by=COPILOT, remarks=remarks)

    pilot.model.listeners.append(hear)
    flight = pilot.run()
    assert (flight.end.exit_code, flight.end.merged) == (0, ("epic-1",))
    threads = pilot.model.pulls[1].threads
    assert [(len(one.comments), one.is_resolved) for one in threads] == [(2, True)] * 250
    assert [len(entry["points"]) for entry in flight.entries("pull-round")] == [50] * 5
