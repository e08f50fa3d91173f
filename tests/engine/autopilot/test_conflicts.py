"""A base that changes the same lines: a person's to resolve, or an agent's where the settings say so."""

from pathlib import Path

import pytest

from bmad_autopilot.runs.question_file import AnswerSource
from bmad_autopilot.runs.questions import record_answer
from bmad_autopilot.sim.github.checks import CIJob, SimCI
from bmad_autopilot.sim.github.people import SimCopilot, SimHuman, SimMaintainer
from bmad_autopilot.sim.github.records import SimPull
from tests.support.autopilot_runs import BRANCH, AutopilotProject
from tests.support.bmad_project import git

CODE = "src/ledger/list_accounts.py"
THEIRS = b'"""Lists."""\n\n\ndef listed() -> int:\n    return 1\n'


def in_conflict(folder: Path, settings: str) -> AutopilotProject:
    """The base gets a file of the same name as soon as the pull request is there."""
    pilot = AutopilotProject(folder, settings=settings)
    SimCI(pilot.model, [CIJob("test", duration=10.0)])
    SimCopilot(pilot.model, duration=10.0)
    SimMaintainer(pilot.model, delay=20.0)
    lena = SimHuman(pilot.model, "lena")

    def hear(event: str, pull: SimPull) -> None:
        if event == "opened":
            lena.push("main", {CODE: THEIRS}, "Meanwhile")

    pilot.model.listeners.append(hear)
    return pilot


@pytest.mark.real
def test_a_person_is_told_what_to_type(tmp_path: Path) -> None:
    flight = in_conflict(tmp_path / "p", "").run()
    assert flight.end.exit_code == 3
    (asked,) = flight.entries("asked")
    assert asked["cause"] == "conflict"
    assert f"# resolve {CODE}" in asked["context"]


@pytest.mark.real
def test_an_agent_resolves_it_and_what_comes_of_the_merge_is_proven(tmp_path: Path) -> None:
    pilot = in_conflict(tmp_path / "p", "")
    settings = pilot.work / "bmad-autopilot.toml"
    settings.write_text(settings.read_text() + 'conflicts = "agent"\n')
    git(pilot.work, "commit", "--quiet", "--all", "--message", "Agents may resolve conflicts")
    git(pilot.work, "push", "--quiet", "origin", "main")
    flight = pilot.run()
    assert (flight.end.exit_code, flight.end.merged) == (0, ("epic-1",))
    (opened,) = flight.entries("pull-round")
    assert (opened["why"], [point["thread"] for point in opened["points"]]) == ("conflict", [CODE])
    (merge,) = pilot.effects("merge")
    assert (merge.data["same_tree"], merge.data["held_base"], merge.data["rollup"]) == (True, True, "SUCCESS")
    merged = git(pilot.work, "show", f"main:{CODE}")
    assert "def listed()" in merged
    assert "<<<<<<<" not in merged


@pytest.mark.real
@pytest.mark.parametrize("is_resolved", [True, False])
def test_what_a_person_pushes_then_is_taken_in_only_if_it_resolves_the_conflict(
    tmp_path: Path, is_resolved: bool
) -> None:
    pilot = in_conflict(tmp_path / "p", "")
    pilot.run()
    git(pilot.work, "switch", "--quiet", BRANCH)
    if is_resolved:
        git(pilot.work, "fetch", "--quiet", "origin", "main")
        git(pilot.work, "merge", "--quiet", "--strategy", "ours", "--message", "Ours", "origin/main")
    else:
        (pilot.work / "theirs.txt").write_text("theirs\n")
        git(pilot.work, "add", "theirs.txt")
        git(pilot.work, "commit", "--quiet", "--message", "Something else")
    git(pilot.work, "push", "--quiet", "origin", BRANCH)
    record_answer(pilot.asked().path, "retry", AnswerSource.HUMAN)
    flight = pilot.run()
    if is_resolved:
        assert (flight.end.exit_code, flight.end.merged) == (0, ("epic-1",))
    else:
        assert flight.end.exit_code == 3
        assert "feature/epic-1 has commits that bmad did not make" in pilot.question().question
        assert not pilot.effects("merge")
