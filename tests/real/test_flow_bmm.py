"""The bmm flow on real installs, from nothing to a board that an epic can be run from."""

import json
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.engine.flows.runner import FlowOptions, start_flow
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.flow_state_writer import load_flow_state
from bmad_autopilot.workflows.flows import get_flow, load_flows
from tests.real.conftest import BmadMethod
from tests.support.bmad_project import git, run_bmad

pytestmark = pytest.mark.real

ROOT = Path(__file__).resolve().parents[2]
AGENT = ROOT / "tests/support/planning_agent.py"


@pytest.mark.parametrize(
    ("version", "begins"),
    [
        ("6.12.0", ["PRD /bmad-prd", "Architecture /bmad-architecture"]),
        ("6.0.4", ["PRD /bmad-bmm-create-prd", "Architecture /bmad-bmm-create-architecture"]),
    ],
)
def test_from_nothing_to_a_board(tmp_path: Path, bmad_method: BmadMethod, version: str, begins: list[str]) -> None:
    installed = bmad_method(version, "--tools", "claude-code", "--output-folder", "_bmad-output")
    root = tmp_path / "p"
    shutil.copytree(installed, root, symlinks=True, ignore=shutil.ignore_patterns(".git", "node_modules"))
    log = tmp_path / "calls"
    command = [sys.executable, str(AGENT), str(log)]
    wrapper = tmp_path / "agent.sh"
    wrapper.write_text(f'PYTHONPATH="{ROOT}/src:{ROOT}" exec {" ".join(command)}\n')
    (root / "bmad-autopilot.toml").write_text(
        f'agent = "stub"\n[agents.stub]\ncommand = ["sh", {json.dumps(str(wrapper))}]\n'
    )
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Begin")
    project = open_project(str(root))
    flow = get_flow(load_flows(project.config), "bmm")

    def told(kind: str, data: Mapping[str, Any], at: float) -> None:
        return

    end = start_flow(project, flow, FlowOptions(unattended={"optional": "skip"}), on_event=told)
    assert end.status == "completed", end.record.question
    said = [" ".join(line.split("\t")) for line in log.read_text().splitlines()]
    assert [one for one in begins if any(line.startswith(one) for line in said)] == begins
    state = load_flow_state(str(root / "_bmad-output/_autopilot_state.md"), inside=str(root))
    assert state is not None
    assert (state.flow, state.step, state.status) == ("bmm", "done", "completed")
    assert not (root / "_docs").exists()
    planned = run_bmad("run-epic", "1", "--dry-run", cwd=root)
    assert planned.code == 0, planned.err
    assert "1-1-sign-up" in planned.out
