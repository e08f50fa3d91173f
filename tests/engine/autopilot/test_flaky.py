"""Jobs that fail by chance: run once more as they are, by GitHub's own rules for that, and no agent is called."""

from pathlib import Path

import pytest

from bmad_autopilot.engine.autopilot.monitor import LaneMonitor
from bmad_autopilot.sim.github.checks import CIJob, SimCI, fails_first
from bmad_autopilot.sim.github.people import SimCopilot, SimMaintainer
from tests.support import autopilot_runs
from tests.support.autopilot_runs import AutopilotProject


@pytest.mark.parametrize(
    "jobs",
    [
        pytest.param((CIJob("one", fails_first, duration=5.0),), id="one"),
        pytest.param(
            (CIJob("fast", fails_first, duration=5.0), CIJob("slow", duration=100.0)), id="while-another-runs"
        ),
        pytest.param(
            (CIJob("a", fails_first, duration=5.0), CIJob("b", fails_first, duration=5.0)), id="two-of-a-run"
        ),
    ],
)
def test_what_fails_by_chance_costs_no_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: tuple[CIJob, ...]
) -> None:
    monkeypatch.setattr(autopilot_runs, "GITHUB_SECONDS_PER_POLL", 2.0)
    monkeypatch.setattr(autopilot_runs, "MAX_POLLS", 400)
    monkeypatch.setattr(LaneMonitor, "_interval", lambda self: 0.05)  # time goes by from look to look
    pilot = AutopilotProject(tmp_path / "p")
    SimCI(pilot.model, jobs)
    SimCopilot(pilot.model)
    SimMaintainer(pilot.model, delay=10.0)
    flight = pilot.run()
    assert (flight.end.exit_code, flight.entries("pull-round")) == (0, [])
    again = [entry for entry in flight.entries("did") if entry["do"] == "rerun"]
    assert [entry.get("refused", "") for entry in again] == [""]
    assert len(pilot.effects("rerun")) == sum(job.decide is fails_first for job in jobs)
