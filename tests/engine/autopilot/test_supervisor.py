"""Which epic comes next, and when there is none."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.autopilot_runs import BRANCH, AutopilotProject
from tests.support.bmad_project import git

BOARD = "_bmad-output/implementation-artifacts/sprint-status.yaml"


@pytest.mark.real
def test_an_epic_that_is_left_on_its_branch_is_not_begun_again_and_again(tmp_path: Path) -> None:
    pilot = AutopilotProject(tmp_path / "p", stories=2)
    board = pilot.work / BOARD
    board.write_text(re.sub(r"^(  1-2-\S+): \S+", r"\1: deferred", board.read_text(), flags=re.MULTILINE))
    git(pilot.work, "commit", "--quiet", "--all", "--message", "Deferred")
    git(pilot.work, "push", "--quiet", "origin", "main")
    ends = []

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "finished":
            ends.append(data)
            assert len(ends) == 1, "begun again"

    flight = pilot.run(heard, unattended={"left-out": "leave"})
    assert (flight.end.exit_code, flight.end.merged, flight.end.lanes) == (0, (), ())
    assert not pilot.refs.head_of(BRANCH)
