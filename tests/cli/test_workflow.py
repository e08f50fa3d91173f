"""bmad workflow, as a user types it; and the example of docs/workflow-files.md."""

import json
import re
from pathlib import Path

import pytest

from tests.support.bmad_project import run_bmad
from tests.support.workflow_projects import WorkflowProject

DOCS = Path(__file__).resolve().parents[2] / "docs" / "workflow-files.md"
AGENT = """\
prompt=$(cat)
variables=$(printf '%s' "$prompt" | sed -n 's/^- `\\(.*variables.json\\)`: .*/\\1/p')
printf '%s\\n' "$prompt" | head -n 1 > notes.md
echo '{"notes_path": "notes.md"}' > "$variables"
echo "The notes are written."
"""
COLLECT = """\
printf 'one\\ntwo\\n' > "changes since $1.txt"
printf '{"changes_path": "changes since %s.txt"}' "$1" > "$BMAD_VARIABLES"
"""


@pytest.fixture
def example(tmp_path: Path) -> WorkflowProject:
    found = re.search(r"```yaml\n# notes.yaml\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert found is not None
    flow = WorkflowProject(tmp_path / "p", found[1], AGENT)
    (flow.root / "collect.sh").write_text(COLLECT)
    return flow


def test_the_example_of_the_docs(example: WorkflowProject) -> None:
    ran = run_bmad("workflow", "run", "flow.yaml", "--var", "since=v 2", cwd=example.root)
    assert ran.code == 0, ran.err
    assert "release-notes is done\n  steps     3 done\n" in ran.out
    told = "Read changes since v 2.txt and write the release notes since v 2, for people who use the program."
    assert (example.root / "notes.md").read_text().strip() == told
    pages = [page.read_text() for page in sorted((example.folder() / "artefacts").iterdir())]
    assert pages[1:] == ["The notes are written.", "written, from this many lines:\n2\n"]


def test_check_shows_the_steps_and_a_dry_run_starts_nothing(example: WorkflowProject) -> None:
    shown = run_bmad("workflow", "check", "flow.yaml", cwd=example.root)
    dry = run_bmad("workflow", "run", "flow.yaml", "--dry-run", cwd=example.root)
    assert (shown.code, dry.code) == (0, 0)
    assert shown.out == dry.out
    assert (
        "release-notes: 3 steps\n  1  collect (command); hands on changes_path\n     sh collect.sh v1.0\n"
        in shown.out
    )
    assert "  2  write (dev: stub); hands on notes_path\n" in shown.out
    assert not (example.root / "_bmad-output").exists()
    plan = json.loads(run_bmad("workflow", "check", "flow.yaml", "--json", cwd=example.root).out)
    assert (plan["version"], plan["kind"], [step["step"] for step in plan["steps"]]) == (
        1,
        "plan",
        ["collect", "write", "check"],
    )


def test_a_mistake_is_said_with_its_line_before_anything_is_started(tmp_path: Path) -> None:
    flow = WorkflowProject(tmp_path / "p", "- step: a\n  run: [touch, made]\n- step: b\n  prompt: Use {that}.\n")
    ran = run_bmad("workflow", "run", "flow.yaml", cwd=flow.root)
    assert ran.code == 4
    assert ran.err.startswith("bmad: error: flow.yaml:4: nobody gives the variable that\n")
    assert not (flow.root / "made").exists()
    assert run_bmad("workflow", "run", "flow.yaml", "--var", "that", cwd=flow.root).code == 2


def test_a_skill_that_is_not_installed_is_said_before_anything_is_started(tmp_path: Path) -> None:
    flow = WorkflowProject(
        tmp_path / "p", "- step: a\n  run: [touch, made]\n- step: b\n  skill: create-architecture\n"
    )
    ran = run_bmad("workflow", "run", "flow.yaml", cwd=flow.root)
    assert ran.code == 1
    assert "skills of BMAD's are not installed: create-architecture for stub" in ran.err
    assert not (flow.root / "made").exists()


@pytest.mark.real
def test_what_waits_is_answered_and_resumed_from_another_terminal(tmp_path: Path) -> None:
    flow = WorkflowProject(tmp_path / "p", "- step: a\n  run: test -e ready\n- step: b\n  run: [echo, done]\n")
    waits = run_bmad("workflow", "run", "flow.yaml", cwd=flow.root)
    assert waits.code == 3, waits.err
    assert "flow waits for you\n  steps     0 done, 2 left: a (begun), b (to do)\n" in waits.out
    (flow.root / "ready").touch()
    assert run_bmad("answer", "flow", "retry", cwd=flow.root).code == 0
    ran = run_bmad("resume", cwd=flow.root)
    assert ran.code == 0, ran.err
    assert "flow is done\n  steps     2 done\n" in ran.out


@pytest.mark.real
def test_a_step_that_was_left_out_is_said(tmp_path: Path) -> None:
    flow = WorkflowProject(tmp_path / "p", "- step: a\n  run: exit 3\n- step: b\n  run: exit 4\n")
    waits = run_bmad("workflow", "run", "flow.yaml", "--on-blocked", "ask", cwd=flow.root)
    assert "agent-state.json" not in waits.out, "there is no such file to look at"
    ran = run_bmad("intervene", "flow", "skip", "--resume", cwd=flow.root)
    assert "  steps     0 done, 2 left: a (skipped), b (begun)\n" in ran.out
