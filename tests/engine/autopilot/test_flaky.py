"""Jobs that fail by chance: run once more as they are, by GitHub's own rules for that, and no agent is called."""

from pathlib import Path

import pytest

from bmad_autopilot.engine.autopilot.lookout import Lookout
from bmad_autopilot.sim.github.ci import Job, SimCI, flaky
from bmad_autopilot.sim.github.copilot import SimCopilot
from bmad_autopilot.sim.github.people import SimMaintainer
from tests.engine.autopilot import piloting
from tests.engine.autopilot.piloting import Pilot


@pytest.mark.parametrize(
    "jobs",
    [
        pytest.param((Job("one", flaky, takes=5.0),), id="one"),
        pytest.param((Job("fast", flaky, takes=5.0), Job("slow", takes=100.0)), id="while-another-runs"),
        pytest.param((Job("a", flaky, takes=5.0), Job("b", flaky, takes=5.0)), id="two-of-a-run"),
    ],
)
def test_what_fails_by_chance_costs_no_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, jobs: tuple[Job, ...]
) -> None:
    monkeypatch.setattr(piloting, "STEP", 2.0)
    monkeypatch.setattr(piloting, "MOST_LOOKS", 400)
    monkeypatch.setattr(Lookout, "_interval", lambda self: 0.05)  # time goes by from look to look
    pilot = Pilot(tmp_path / "p")
    SimCI(pilot.model, jobs)
    SimCopilot(pilot.model)
    SimMaintainer(pilot.model, looks_after=10.0)
    flight = pilot.fly()
    assert (flight.end.exit_code, flight.entries("pull-round")) == (0, [])
    again = [entry for entry in flight.entries("did") if entry["do"] == "rerun"]
    assert [entry.get("refused", "") for entry in again] == [""]
    assert len(pilot.effects("rerun")) == sum(job.verdict is flaky for job in jobs)
