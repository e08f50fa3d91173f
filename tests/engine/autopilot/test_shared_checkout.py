"""One checkout for all epics: what one of them has left half done there is no other's, and holds up only those
that need the place."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.question_file import AnswerSource
from bmad_autopilot.runs.questions import PendingQuestion, load_inbox, record_answer
from bmad_autopilot.sim.github.checks import CIJob, SimCI
from bmad_autopilot.sim.github.people import SimCopilot
from bmad_autopilot.sim.github.records import SimPull
from bmad_autopilot.sim.github.reviews import Remark
from bmad_autopilot.sim.sample import scripted_agent_command
from tests.support.autopilot_runs import AutopilotProject, run_git

pytestmark = pytest.mark.real  # several epics, by real processes

CODE = {"feature/epic-1": "src/ledger/list_accounts.py", "feature/epic-2": "src/ledger/list_payments.py"}
HALF = "docs/review-epic-1.md"


class Killed(Exception):
    pass


def reviewed(folder: Path, habits: str) -> AutopilotProject:
    """Two epics that do not stand on each other, and a remark on each of their pull requests."""
    pilot = AutopilotProject(
        folder, epics=2, agent=scripted_agent_command(habits), top='merge = "auto"\ndependencies = "none"\n'
    )
    SimCI(pilot.model, [CIJob("test", duration=5.0)])

    def remarks(pull: SimPull, review: int) -> list[Remark]:
        return [] if review else [Remark(CODE[pull.head_ref], 1, "This is wrong.")]

    SimCopilot(pilot.model, remarks)
    return pilot


def asked_by(pilot: AutopilotProject) -> dict[str, PendingQuestion]:
    return {one.question.story: one for one in load_inbox(runs_folder(str(pilot.work))).pending}


def test_work_that_waits_for_an_answer_is_before_nobody_elses_agent(tmp_path: Path) -> None:
    """A file that git does not know yet would be carried along to whatever branch is switched to."""
    pilot, waits = reviewed(tmp_path / "p", "asks-while-mending:epic-1.pr-1"), []

    def held_up(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "pending" and "the work tree" in data["why"]:
            waits.append((data["lane"], data["why"]))
            raise Killed

    with pytest.raises(Killed):
        pilot.run(held_up)
    assert waits == [("epic-2", f"the work tree: what epic-1 has not finished lies there: {HALF}")]
    assert run_git(pilot.work, "status", "--short", "--branch", "-uall") == f"## feature/epic-1\n?? {HALF}"
    record_answer(asked_by(pilot)["epic-1.pr-1"].path, "an error", AnswerSource.HUMAN)
    assert set(pilot.run().end.merged) == {"epic-1", "epic-2"}


def test_one_that_needs_the_place_waits_for_it_and_ends_nothing(tmp_path: Path) -> None:
    pilot = reviewed(tmp_path / "p", "says-mended:epic-1.pr-1,asks-while-mending:epic-2.pr-1")
    assert pilot.run().end.exit_code == 3
    assert set(asked_by(pilot)) == {"epic-1.pr-1", "epic-2.pr-1"}
    record_answer(asked_by(pilot)["epic-1.pr-1"].path, "retry", AnswerSource.HUMAN)

    def killed(kind: str, data: Mapping[str, Any]) -> None:
        if kind == "pending" and data["lane"] == "epic-1":
            raise Killed

    with pytest.raises(Killed):  # the other has it, and nobody has told it how to go on
        pilot.run(killed)
    record_answer(asked_by(pilot)["epic-2.pr-1"].path, "an error", AnswerSource.HUMAN)
    end = pilot.run().end
    assert (end.exit_code, end.merged, set(asked_by(pilot))) == (3, ("epic-2",), {"epic-1.pr-1"})
