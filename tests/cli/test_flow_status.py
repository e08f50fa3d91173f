"""`bmad status` where there is no board yet, and the way from a flow to the board and back."""

import subprocess
from pathlib import Path

from tests.support.bmad_project import ProjectMaker, run_bmad
from tests.support.flow_projects import project_at_plan
from tests.support.flow_runs import STATE, FlowProject
from tests.support.schemas import parse_validated
from tests.support.terminals import COMMAND


def test_a_flow_under_way_is_the_status(tmp_path: Path) -> None:
    project = project_at_plan(tmp_path / "p")
    ran = run_bmad("status", cwd=project.root)
    assert (ran.code, ran.err) == (3, "")
    assert ran.out.startswith("p   no board yet; its flow:\n\ngreenfield   From a problem")
    assert "blocker   The invoice layout is not decided" in ran.out
    found = parse_validated("status", run_bmad("status", "--json", cwd=project.root).out)
    assert (found["project"]["board"], found["epics"], found["next"]) == (None, [], None)
    own = parse_validated("flow", run_bmad("flow", "--json", cwd=project.root).out)
    assert found["flow"] == {name: value for name, value in own.items() if name not in ("version", "kind")}


def test_planning_with_bmad_leads_to_the_board(project: ProjectMaker) -> None:
    sample = project(board=None, epics=None, stories={})
    ran = run_bmad("status", cwd=sample.root)
    assert ran.code == 0
    assert "bmm   BMAD's planning, from an idea to the board" in ran.out
    assert "bmad flow run   begin it" in ran.out
    parse_validated("status", run_bmad("status", "--json", cwd=sample.root).out)


def test_a_folder_where_nobody_has_begun_anything_may_be_the_wrong_one(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    ran = run_bmad("status", cwd=project.root)
    assert ran.code == 4
    assert "no board, and BMAD is not installed here" in ran.err
    assert "begin greenfield here: bmad flow run" in ran.err


def test_an_epic_needs_a_board(tmp_path: Path) -> None:
    ran = run_bmad("status", "--epic", "1", cwd=project_at_plan(tmp_path / "p").root)
    assert (ran.code, "no board" in ran.err) == (4, True)


def test_beside_a_board_a_flow_is_pointed_at_and_nothing_of_it_imported(project: ProjectMaker) -> None:
    sample = project()
    assert "bmad flow" not in run_bmad("status", cwd=sample.root).out
    sample.write(STATE, "flow: greenfield\n")
    python, *program = COMMAND
    command = [python, "-X", "importtime", *program, "status"]
    done = subprocess.run(command, cwd=sample.root, capture_output=True, text=True, timeout=60, check=True)
    assert f"> a flow is kept here too, in {STATE}: bmad flow" in " ".join(done.stdout.split())
    assert "bmad_autopilot.cli.context" in done.stderr
    assert [line for line in done.stderr.splitlines() if ".flow" in line or "bmad_autopilot.engine" in line] == []
