"""Several epics under way: one asks, another waits."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.runs.question_file import AnswerSource
from bmad_autopilot.runs.questions import record_answer
from bmad_autopilot.sim.github.checks import CIJob, SimCI
from bmad_autopilot.sim.github.people import SimCopilot, SimMaintainer
from bmad_autopilot.sim.github.records import SimPull
from tests.support.autopilot_runs import AutopilotProject


@pytest.mark.real  # two whole epics: seconds that `make test` has not
def test_an_answer_is_taken_up_while_another_epic_is_watched(tmp_path: Path) -> None:
    """Without being started again."""
    pilot = AutopilotProject(tmp_path / "p", epics=2)
    SimCI(pilot.model, [CIJob("test", duration=5.0)])
    SimCopilot(pilot.model)
    maria = SimMaintainer(pilot.model, delay=10.0)

    def close(event: str, pull: SimPull) -> None:
        if event == "labeled" and pull.number == 1:
            maria.close(1)

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "pending" and data["lane"] == "epic-2" and not pilot.effects("reopen"):
            asked = pilot.asked()
            assert "was closed by someone" in asked.question.question
            record_answer(asked.path, "reopen", AnswerSource.HUMAN)

    pilot.model.listeners.append(close)
    flight = pilot.run(heard)
    assert (flight.end.exit_code, flight.end.merged) == (0, ("epic-1", "epic-2"))
    assert len(pilot.effects("open-pull")) == 2
    assert len(pilot.effects("reopen")) == 1
