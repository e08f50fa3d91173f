"""The scripted planner leaves what the bmm flow looks for, and a board that can be worked from."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bmad_autopilot.board.planning_documents import inspect_planning
from bmad_autopilot.board.planning_names import ARTEFACTS
from bmad_autopilot.project.project import open_project
from tests.support import planning_agent
from tests.support.bmad_project import ProjectMaker, run_bmad
from tests.support.planning_agent import STEPS, write_step_output

SOURCE = Path(planning_agent.__file__).resolve().parents[2] / "src"


@pytest.mark.parametrize("era", ["alpha", "commands", "classic", "build", "shims"])
def test_each_step_leaves_its_document_and_no_other(era: str, project: ProjectMaker) -> None:
    made = project(era=era, board=None, epics=None, stories={})
    there: set[str] = set()
    for step, name in zip(STEPS, ARTEFACTS, strict=True):
        assert write_step_output(made.root, step)
        found = open_project(str(made.root), home="/nonexistent")
        there.add(name)
        assert inspect_planning(found.folders, found.bmad).finished == there
        assert inspect_planning(found.folders, found.bmad).diagnostics == ()
    for epic in ("1", "2"):
        ran = run_bmad("run-epic", epic, "--dry-run", cwd=made.root)
        assert ran.code == 0, ran.err
        assert f"{epic}-1-" in ran.out
        assert f"{epic}-2-" in ran.out


def test_as_a_program_it_goes_by_its_prompt(project: ProjectMaker) -> None:
    made = project(era="build", board=None, epics=None, stories={})
    output = made.root / "came-of-it.md"
    prompt = (
        "/bmad-prd\n\nWrite it.\n\nThis is step 4 of 9, `PRD`, of the workflow `bmm`.\n\n"
        f"- `{output}`: what came of this step, in Markdown.\n"
    )
    assert run(made.root, prompt) == 0
    assert (made.root / "calls").read_text() == "PRD\t/bmad-prd\n"
    assert "prd.md" in output.read_text()
    assert run(made.root, "Something else.") == 1


def run(folder: Path, prompt: str) -> int:
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    command = [sys.executable, planning_agent.__file__, "calls"]
    done = subprocess.run(command, cwd=folder, input=prompt, text=True, env=environment, timeout=60, check=False)
    return done.returncode
