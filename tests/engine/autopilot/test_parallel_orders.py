"""Lanes beside each other, some of them parked: at another terminal, or by the limit of their account."""

import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.agents.rate_limits import ParkedAccount
from bmad_autopilot.engine.autopilot.monitor import LaneMonitor
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.supervisor_lock import ControlRequest, write_request
from tests.support.parallel_runs import check_merged, lane_worktrees, parallel_project, runs_of

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """On that GitHub time goes by from look to look."""
    monkeypatch.setattr(LaneMonitor, "_interval", lambda self: 0.2)


@pytest.mark.parametrize(
    ("kind", "ask"),
    [("base-taken", ControlRequest.PAUSE), ("base-taken", ControlRequest.STOP), ("pending", ControlRequest.PAUSE)],
)
def test_who_is_parked_while_it_is_its_turn_to_be_merged_gives_it_back(
    tmp_path: Path, kind: str, ask: ControlRequest
) -> None:
    """Told while it takes the base in, and while its checks run after that."""
    pilot = parallel_project(tmp_path / "p", epics=3)
    took_base: list[str] = []
    parked: list[str] = []

    def heard(what: str, data: Mapping[str, Any]) -> None:
        if what == "base-taken":
            took_base.append(data["lane"])
        if what == kind and data.get("lane") in took_base and not parked:
            parked.append(data["lane"])
            write_request(runs_of(pilot, data["lane"])[0], ask)

    flight = pilot.run(heard, parallel=3)
    check_merged(pilot, flight, *({"epic-1", "epic-2", "epic-3"} - set(parked)))
    assert [held.lane.key for held in flight.end.lanes] == parked
    assert flight.end.exit_code == (3 if ask is ControlRequest.PAUSE else 130)


def test_no_epic_is_begun_that_would_wait_for_the_account_that_another_waits_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pilot = parallel_project(tmp_path / "p")
    limit = ParkedAccount("any", "limit", time.time() + 3600.0, time.time(), 1)
    monkeypatch.setattr("bmad_autopilot.engine.start_agent.account_limit", lambda agent: limit)
    folder = open_project(str(pilot.work)).state_folder

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "resting":
            threading.Timer(2.0, lambda: write_request(folder, ControlRequest.STOP)).start()

    flight = pilot.run(heard, parallel=1)
    assert flight.end.exit_code == 130
    assert lane_worktrees(pilot) == ["epic-1"]
