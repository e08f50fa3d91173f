"""What other tools read of a run stays true when somebody else goes on with it."""

import json
from pathlib import Path

import pytest

from tests.support.lane_projects import LaneProject, Person


@pytest.mark.real
def test_the_epic_s_state_remembers_the_steps_of_before(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "asking")
    path = sample.board.parent / ".run-epic-state.json"
    assert sample.run("epic", "1").end.status == "waiting"
    before = json.loads(path.read_text())["lastSteps"]
    assert [one["step"] for one in before] == ["create-story"]
    assert sample.run("epic", "1", person=Person("1")).end.status == "completed"
    after = json.loads(path.read_text())["lastSteps"]
    assert [one["step"] for one in after] == ["create-story", "dev", "code-review"]
    assert after[:1] == before
