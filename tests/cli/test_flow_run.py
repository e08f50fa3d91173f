"""`bmad flow run`, as a user types it: where it stands is said first, then it goes on until only they know how."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.cli.flow_run import _Deciding, _wishes
from bmad_autopilot.cli.running_options import RunOptions
from bmad_autopilot.project.open import open_project
from bmad_autopilot.views.run_log import RunLog
from tests.cli.flow_states import FAILED, at_plan, under_way
from tests.cli.shipped import schema
from tests.engine.flows.flowing import STATE, FlowProject
from tests.support import ProjectMaker, run_bmad

TO_END = ["3 Plan", "5 Decompose", "implement 1-1-first", "review 1-1-first"]


def runs_of(project: FlowProject) -> list[str]:
    folder = project.root / "_bmad-output" / ".runs" / "main"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_it_says_where_it_stands_then_goes_on_to_the_end_of_the_session(tmp_path: Path) -> None:
    project = under_way(tmp_path / "p")
    ran = run_bmad("flow", "run", cwd=project.root)
    assert (ran.code, ran.err) == (3, "")
    assert ran.out.startswith("greenfield   From a problem to a deployed product\n")
    summary, _, log = ran.out.partition("Plan          started")
    assert "decided   English and French" in summary
    assert "last      2026-03-04 at Step 3 Plan" in summary
    assert "2 tasks in 1 batch, 6 complexity points" in log
    assert "DECISION REQUIRED: Decompose complete — start implementation?" in log
    assert (
        "\ngreenfield waits for you\n  steps     4 done, 6 left: UI Design (skipped), Implement (not started)"
        in log
    )
    assert "  next      bmad flow run                                 starts it\n" in log
    assert "bmad intervene greenfield continue --resume   or go on in this one" in log
    assert project.ran == TO_END[:2]
    shown = run_bmad("flow", cwd=project.root)
    assert shown.code == 3
    assert "next  the session is over, and Implement comes in the next" in shown.out


@pytest.mark.real
def test_the_next_command_is_the_next_session(tmp_path: Path) -> None:
    project = under_way(tmp_path / "p")
    assert run_bmad("flow", "run", cwd=project.root).code == 3
    ran = run_bmad("flow", "run", "--optional", "skip", cwd=project.root)
    assert ran.code == 0, ran.out + ran.err
    assert project.ran[:4] == TO_END
    assert project.ran[-1] == "10 Deploy"
    assert "implementing  its tasks, batch by batch" in ran.out
    assert "\ngreenfield is done\n" in ran.out
    assert len([name for name in runs_of(project) if name.startswith("greenfield")]) == 2
    # There is nothing more to do, and nothing is begun.
    before = runs_of(project)
    again = run_bmad("flow", "run", cwd=project.root)
    assert (again.code, "next  nothing: every step is done" in again.out) == (0, True)
    assert runs_of(project) == before


@pytest.mark.real
def test_through_the_end_of_a_session_with_events_as_documented(tmp_path: Path) -> None:
    project = under_way(tmp_path / "p")
    ran = run_bmad("flow", "run", "--through", "--optional", "skip", "--json", cwd=project.root)
    assert ran.code == 0, ran.err
    events = [json.loads(line) for line in ran.out.splitlines()]
    for event in events:
        schema("run-events").validate(event)
    kinds = [event["event"] for event in events]
    assert kinds[0] == "flow"
    assert {"state", "implementing"} <= set(kinds)
    assert events[-1]["event"] == "summary"
    assert (events[-1]["status"], events[-1]["exit_code"]) == ("completed", 0)
    assert [one["status"] for one in events[-1]["left"]] == ["skipped"] * 3


def test_from_a_step_is_a_reset_and_then_a_run(tmp_path: Path) -> None:
    project = under_way(tmp_path / "p")
    ran = run_bmad("flow", "run", "--from", "research", "--on-blocked", "gate=proceed", cwd=project.root)
    assert ran.code == 3, ran.err
    assert project.ran == ["2 Research", "3 Plan", "5 Decompose"]
    assert ("2", "Research", "reset by a person") in project.rows()
    assert len(list((project.root / "_docs/01_solution").iterdir())) == 3, "its drafts are worked on, not removed"


def test_from_the_first_step_of_what_was_never_begun(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    ran = run_bmad("flow", "run", "greenfield", "--from", "1", cwd=project.root)
    assert ran.code == 3, ran.err
    assert project.ran == ["1 Problem", "2 Research"]
    assert [row[2] for row in project.rows()] != ["reset by a person"]


def test_another_flow_than_the_one_under_way_is_refused(tmp_path: Path) -> None:
    project = under_way(tmp_path / "p")
    ran = run_bmad("flow", "run", "existing-code", cwd=project.root)
    assert ran.code == 2
    assert "this project is in another flow: greenfield" in ran.err
    assert "bmad flow run greenfield" in ran.err
    assert f"mv {STATE} " in ran.err
    assert project.ran == []
    unknown = run_bmad("flow", "run", "grenfield", cwd=project.root)
    assert (unknown.code, "there is no such flow" in unknown.err) == (2, True)


def test_rows_of_a_flow_that_nobody_knows_are_not_taken_for_its_own(tmp_path: Path) -> None:
    project = under_way(tmp_path / "p")
    path = project.root / STATE
    path.write_text(path.read_text().replace("flow: greenfield", "flow: release-train"))
    before = path.read_bytes()
    ran = run_bmad("flow", "run", "greenfield", cwd=project.root)
    assert (ran.code, project.ran) == (2, [])
    assert f"{STATE} is another flow's state file" in ran.err
    assert "flow: release-train" in ran.err
    assert path.read_bytes() == before


def test_where_none_is_under_way_a_person_chooses(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p", sources=True)
    ran = run_bmad("flow", "run", "greenfield", cwd=project.root)
    assert ran.code == 3, ran.err
    assert "\nas you say\n" in ran.out
    assert project.state.flow == "greenfield"


def test_a_failed_step_is_presented_and_not_tried_again(tmp_path: Path) -> None:
    project = at_plan(tmp_path / "p")
    ran = run_bmad("flow", "run", cwd=project.root)
    assert ran.code == 3
    assert "blocker   The invoice layout is not decided" in ran.out
    assert "has failed 3 times. Try again?" in ran.out
    assert project.ran == []


def test_a_state_file_and_a_folder_that_disagree(tmp_path: Path) -> None:
    behind = FAILED.replace("step: 3\nname: Plan\nstatus: failed", "step: 1\nname: Problem\nstatus: in_progress")
    project = at_plan(tmp_path / "p", behind)
    ran = run_bmad("flow", "run", cwd=project.root)
    assert "place     the state file says step 1, Problem; by the folder it is" in ran.out
    assert project.ran == TO_END[:2], "no step is repeated"


def test_it_leads_to_the_board(project: ProjectMaker) -> None:
    sample = project(board=None, stories={})
    found = run_bmad("flow", "list", cwd=sample.root)
    assert "> bmm" in found.out
    ran = run_bmad("flow", "run", "bmm", "--from", "9", cwd=sample.root)
    assert (ran.code, "comes later" in ran.err) == (2, True)


def test_what_tasks_are_delivered_by(tmp_path: Path) -> None:
    project = open_project(str(FlowProject(tmp_path / "p").root))
    options = RunOptions(max_cost=2.0, max_hours=1.0, session="evening")
    assert _wishes(project, options, {}, deliver=False, parallel=None) is None
    wishes = _wishes(project, options, {"gate": "proceed"}, deliver=True, parallel=None)
    assert wishes is not None
    assert (wishes.parallel, wishes.session, wishes.unattended) == (0, "evening", {"gate": "proceed"})
    assert (wishes.bounds.dollars, wishes.bounds.clock) == (2.0, "--max-hours 1")
    several = _wishes(project, options, {}, deliver=False, parallel=3)
    assert several is not None
    assert several.parallel == 3


def test_what_was_said_on_the_command_line_is_not_asked_again() -> None:
    class Anybody:
        def ask(self, question: Mapping[str, Any]) -> str | None:
            return f"asked about {question['cause']}"

    human = _Deciding(Anybody(), {"boundary": "continue"})
    assert human.ask({"cause": "boundary"}) == "continue"
    assert human.ask({"cause": "gate"}) == "asked about gate"


def test_a_line_for_each_step_and_none_for_each_write() -> None:
    log = RunLog({})

    def told(**data: str) -> list[str]:
        return [f"{line.word}  {line.text}".strip() for line in log.lines("state", data, 0.0)]

    assert told(step="3", name="Plan", status="not_started") == ["step 3, Plan  not started"]
    assert told(step="3", name="Plan", status="in_progress") == []
    assert told(step="3", name="Plan", status="failed") == [
        "step 3, Plan, counts as failed  it is not tried again by itself"
    ]
    assert told(step="3", name="Plan", status="failed") == []
    assert told(step="done", name="done", status="completed") == ["every step is done"]
    assert told(step="done", name="done", status="completed") == []
    (line,) = log.lines("implementing", {"step": "Implement"}, 0.0)
    assert (line.step, line.word) == ("Implement", "implementing")


@pytest.mark.parametrize("words", [("flow", "run", "--parallel", "-1"), ("flow", "run", "--optional", "maybe")])
def test_options_that_cannot_be(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert run_bmad(*words, cwd=FlowProject(tmp_path / "p").root).code == 2
