"""Lanes beside each other, one of them paused at another terminal: the others go on."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.engine.autopilot.lookout import Lookout
from bmad_autopilot.runs.requests import Ask, put_request
from tests.engine.autopilot.flights import checked, runs_of, side_by_side

pytestmark = pytest.mark.real


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """On that GitHub time goes by from look to look."""
    monkeypatch.setattr(Lookout, "_interval", lambda self: 0.2)


@pytest.mark.parametrize(
    ("kind", "ask"), [("base-taken", Ask.PAUSE), ("base-taken", Ask.STOP), ("pending", Ask.PAUSE)]
)
def test_who_is_parked_while_it_is_its_turn_to_be_merged_gives_it_back(
    tmp_path: Path, kind: str, ask: Ask
) -> None:
    """Told while it takes the base in, and while its checks run after that."""
    pilot = side_by_side(tmp_path / "p", epics=3)
    took_base: list[str] = []
    parked: list[str] = []

    def heard(what: str, data: Mapping[str, Any]) -> None:
        if what == "base-taken":
            took_base.append(data["lane"])
        if what == kind and data.get("lane") in took_base and not parked:
            parked.append(data["lane"])
            put_request(runs_of(pilot, data["lane"])[0], ask)

    flight = pilot.fly(heard, parallel=3)
    checked(pilot, flight, *({"epic-1", "epic-2", "epic-3"} - set(parked)))
    assert [held.lane.key for held in flight.end.lanes] == parked
    assert flight.end.exit_code == (3 if ask is Ask.PAUSE else 130)
