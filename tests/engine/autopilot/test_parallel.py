"""Lanes beside each other, in this process: real git, real agents, a simulated GitHub."""

import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.board.overview import epic_views
from bmad_autopilot.board.sprint_status import read_board
from bmad_autopilot.cli.context import ProjectFacts
from bmad_autopilot.cli.plan import epic_plan
from bmad_autopilot.core.errors import ConflictError
from bmad_autopilot.core.transitions import EpicPhase
from bmad_autopilot.engine.autopilot.monitor import LaneMonitor
from bmad_autopilot.engine.ports import AgentChoice
from bmad_autopilot.engine.world.agents import StoryCalls
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.question_file import AnswerSource
from bmad_autopilot.runs.questions import record_answer
from bmad_autopilot.sim.sample import scripted_agent_command
from bmad_autopilot.workflows.workflow import Step
from tests.support.autopilot_runs import run_git
from tests.support.parallel_runs import check_merged, first_entry, lane_worktrees, parallel_project, runs_of

pytestmark = pytest.mark.real

DAYS = 2 * 86400.0

# Before it does its work it writes a line into a file that epics 1 and 2 both want to begin.
SHARING = """\
import os, sys
lane = os.path.basename(os.getcwd())
if lane in ("epic-1", "epic-2") and any(name.startswith(lane[5:] + "-1-") for name in os.listdir(sys.argv[1])):
    with open("SHARED.md", "w") as out:
        out.write(lane)
os.execv(sys.argv[2], sys.argv[2:])
"""


@pytest.fixture(autouse=True)
def _hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """On that GitHub time goes by from look to look."""
    monkeypatch.setattr(LaneMonitor, "_interval", lambda self: 0.2)


def test_all_are_merged_and_a_second_supervisor_is_refused_meanwhile(tmp_path: Path) -> None:
    pilot = parallel_project(tmp_path / "p")
    refused: list[str] = []
    first = first_entry("call")

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if first(kind, data):
            with pytest.raises(ConflictError) as caught:
                pilot.run(parallel=2)
            refused.append(str(caught.value))

    flight = pilot.run(heard, parallel=3)
    assert flight.end.exit_code == 0
    check_merged(pilot, flight, "epic-1", "epic-2", "epic-3")
    assert len(refused) == 1
    assert all(len(runs_of(pilot, key)) == 1 for key in flight.end.merged)
    assert lane_worktrees(pilot) == []
    assert run_git(pilot.work, "branch", "--format=%(refname:short)") == "main"


def test_in_order_each_is_developed_on_the_code_of_the_one_before(tmp_path: Path) -> None:
    pilot = parallel_project(tmp_path / "p", dependencies="order")
    at_work: set[str] = set()
    files: dict[str, set[str]] = {}  # of each, once it was developed

    def in_tree(revision: str) -> set[str]:
        return set(run_git(pilot.work, "ls-tree", "-r", "--name-only", revision).splitlines())

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "run":
            at_work.add(data["lane"])
            assert len(at_work) == 1
            assert all(before <= in_tree(f"feature/{data['lane']}") for before in files.values())
        elif kind == "delivering":
            at_work.discard(data["lane"])
            files[data["lane"]] = in_tree(data["head"])

    flight = pilot.run(heard, parallel=3)
    assert flight.end.exit_code == 0
    check_merged(pilot, flight, "epic-1", "epic-2", "epic-3")
    assert list(files) == ["epic-1", "epic-2", "epic-3"]
    assert files["epic-1"] < files["epic-2"] < files["epic-3"]


def test_what_is_declared_decides_who_waits(tmp_path: Path) -> None:
    """1 before 2 and 3, both before 4."""
    depends = '[depends]\n"2" = ["1"]\n"3" = ["1"]\n"4" = ["2", "3"]\n'
    pilot = parallel_project(tmp_path / "p", epics=4, dependencies="declared", settings=depends)
    order: list[tuple[str, str]] = []

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind in ("run", "delivering", "merged"):
            order.append((kind, data["lane"]))

    flight = pilot.run(heard, parallel=3)
    assert flight.end.exit_code == 0, flight.end
    check_merged(pilot, flight, "epic-1", "epic-2", "epic-3", "epic-4")
    at = {one: place for place, one in enumerate(order)}
    assert at["delivering", "epic-1"] < min(at["run", "epic-2"], at["run", "epic-3"])
    assert max(at["run", "epic-2"], at["run", "epic-3"]) < min(
        at["delivering", "epic-2"], at["delivering", "epic-3"]
    )
    both = ("epic-2", "epic-3")
    assert max(at["delivering", lane] for lane in both) < at["run", "epic-4"]
    assert sum(at["merged", lane] < at["run", "epic-4"] for lane in both) >= 1


def test_the_chain_that_takes_longest_is_begun_first_as_the_plan_says(tmp_path: Path) -> None:
    """5 waits for 4, 4 for 3: of two agents one has to see to these from the beginning."""
    depends = '[depends]\n"4" = ["3"]\n"5" = ["4"]\n'
    pilot = parallel_project(tmp_path / "p", epics=5, dependencies="declared", settings=depends)
    project = open_project(str(pilot.work))
    board = read_board(project.require_board())
    planned = [one.key for one in epic_plan(ProjectFacts(project, board, epic_views(board)), (), 2).epics]
    flight = pilot.run(parallel=2)
    assert flight.end.exit_code == 0, flight.end
    begun = [one["key"] for one in flight.entries("phase") if one["phase"] == EpicPhase.FIND_EPIC]
    assert begun[:2] == ["epic-3", "epic-1"]
    assert set(begun[:2]) == set(planned[:2])
    check_merged(pilot, flight, *(f"epic-{number}" for number in range(1, 6)))


def test_who_waits_for_a_person_and_who_for_a_limit_hold_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Epic 1 asks, epic 2's account is parked: epic 3 is merged. Two days later the one is answered, the other's
    limit is over, and both go on."""
    pilot = parallel_project(tmp_path / "p", agent=scripted_agent_command("honest,asking:1-1"))
    later, parked, until = [0.0], ["epic-2"], time.time() + DAYS
    choose = StoryCalls.choose

    def limited(self: StoryCalls, step: Step) -> AgentChoice:
        found = choose(self, step)
        return found._replace(until=until) if self._site.lane.key in parked else found

    monkeypatch.setattr(StoryCalls, "choose", limited)
    monkeypatch.setattr("bmad_autopilot.engine.waiting.RESCAN", 0.5)  # an end before its time is not told

    def heard(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "merged" and data["lane"] == "epic-3":
            later.append(DAYS)
            parked.clear()
            asked = pilot.asked()
            record_answer(
                asked.path,
                (*asked.question.options, "Whole cents, as everywhere else here.")[0],
                AnswerSource.HUMAN,
            )

    flight = pilot.run(heard, parallel=2, clock=lambda: time.time() + later[-1])
    assert flight.end.exit_code == 0, flight.end
    check_merged(pilot, flight, "epic-1", "epic-2", "epic-3")
    assert flight.end.merged[0] == "epic-3"
    assert [one["why"] for one in flight.entries("resting")] == ["limit"]


def test_of_two_that_begin_the_same_file_one_is_asked_about_and_the_rest_is_merged(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    agent = tmp_path / "agent.py"
    agent.write_text(SHARING)
    words = (
        sys.executable,
        str(agent),
        "_bmad-output/implementation-artifacts",
        *scripted_agent_command("honest"),
    )
    pilot = parallel_project(folder, agent=words)
    flight = pilot.run(parallel=3)
    assert flight.end.exit_code == 3
    (held,) = flight.end.lanes
    assert held.lane.key in ("epic-1", "epic-2")
    assert "SHARED.md" in pilot.asked().question.context
    check_merged(pilot, flight, *({"epic-1", "epic-2", "epic-3"} - {held.lane.key}))
    assert lane_worktrees(pilot) == [held.lane.key]
