"""`bmad flow`: in which flow, why, where in it, what was decided, what stands in the way, what comes next."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bmad_autopilot.views.terminal import display_width
from tests.cli.flow_states import FAILED, at_plan, under_way
from tests.cli.shipped import validated
from tests.engine.flows.flowing import STATE, FlowProject
from tests.support import ProjectMaker
from tests.terminals import assert_golden, in_terminal, piped, plain


def everything(root: Path) -> dict[str, bytes]:
    """All files but git's own."""
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


@pytest.fixture
def failed(tmp_path: Path) -> FlowProject:
    return at_plan(tmp_path / "p")


@pytest.fixture
def unchanged(failed: FlowProject) -> Iterator[FlowProject]:
    before = everything(failed.root)
    yield failed
    assert everything(failed.root) == before


def test_the_status_summary(unchanged: FlowProject) -> None:
    shown = in_terminal("flow", cwd=unchanged.root, columns=80)
    assert "\x1b[" in shown
    assert_golden("flow-failed-80", plain(shown))
    assert in_terminal("flow", cwd=unchanged.root, columns=80, NO_COLOR="1") == plain(shown)
    done = piped("flow", cwd=unchanged.root)
    assert (done.returncode, done.stdout, done.stderr) == (3, plain(shown), "")


def test_all_decisions_and_all_tries(failed: FlowProject) -> None:
    some, all = (piped("flow", *options, cwd=failed.root).stdout for options in ([], ["--all"]))
    assert "Tech stack" not in some
    assert "… 2 things before (--all shows them)" in some
    assert "Tech stack: Python, Postgres" in all
    assert "things before" not in all


@pytest.mark.parametrize("columns", [20, 40, 61, 79, 200])
def test_any_width(failed: FlowProject, columns: int) -> None:
    shown = in_terminal("flow", cwd=failed.root, columns=columns)
    for line in plain(shown).splitlines():
        assert display_width(line) <= max(columns, 40), line


def test_a_terminal_without_unicode(failed: FlowProject) -> None:
    done = piped("flow", cwd=failed.root, PYTHONIOENCODING="ascii:replace", LC_ALL="C")
    assert "  x  1  Problem" in done.stdout
    assert "  >  3  Plan" in done.stdout


def test_json_keeps_its_schema(failed: FlowProject) -> None:
    done = piped("flow", "--json", cwd=failed.root)
    found = validated("flow", done.stdout)
    assert done.returncode == 3
    assert (found["flow"], found["why"], found["waits"]) == ("greenfield", f"{STATE} says so", True)
    assert found["step"]["sub_step"] == "4 — Architecture Review & Risk Assessment"
    assert (found["step"]["number"], found["step"]["status"], found["step"]["retry_count"]) == (3, "failed", 3)
    assert [step["mark"] for step in found["steps"]] == ["done", "done", "current", *["to-come"] * 7]
    assert len(found["decisions"]) == 7
    assert found["last_session"]["reason"] == "user paused"
    assert found["blockers"][1] == "The invoice layout is not decided"
    assert found["next"]["commands"][0]["command"] == "bmad flow retry 3"


def test_a_step_in_hand_is_no_reason_to_wait(tmp_path: Path) -> None:
    done = piped("flow", cwd=under_way(tmp_path / "p").root)
    assert done.returncode == 0
    assert "step      3, Plan: in progress, at 4 — Architecture Review" in done.stdout
    assert "1 of 3 tries failed" in done.stdout
    assert "bmad flow run   go on with it" in done.stdout


def test_a_folder_where_nothing_is_yet(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    before = everything(project.root)
    done = piped("flow", cwd=project.root)
    assert done.returncode == 0
    assert done.stdout.startswith("greenfield   From a problem to a deployed product\nby what the folder holds, ")
    assert "bmad flow run   begin it" in done.stdout
    validated("flow", piped("flow", "--json", cwd=project.root).stdout)
    assert everything(project.root) == before, "reading makes no state file, and no _docs"


def test_without_a_state_file_the_folder_says_where(tmp_path: Path) -> None:
    done = piped("flow", cwd=at_plan(tmp_path / "p", None).root)
    assert "by what the folder holds, greenfield is under way" in done.stdout or "greenfield begins" in done.stdout
    assert "▶  2  Research          waits for a decision: Another round of research" in done.stdout


def test_where_state_file_and_folder_disagree_it_says_why(tmp_path: Path) -> None:
    behind = FAILED.replace("step: 3\nname: Plan", "step: 1\nname: Problem")
    done = piped("flow", "--json", cwd=at_plan(tmp_path / "p", behind).root)
    found = validated("flow", done.stdout)
    assert found["step"]["name"] == "Plan"
    assert found["differs"] == "the state file says step 1, Problem; by the folder it is step 3, Plan"
    assert (found["step"]["status"], found["waits"], done.returncode) == ("not_started", False, 0)
    shown = piped("flow", cwd=tmp_path / "p").stdout
    assert "  place     the state file says step 1, Problem; by the folder it is step 3," in shown


@pytest.mark.parametrize("step", ["0", "11", "three", "9999999"])
def test_a_step_that_cannot_be(tmp_path: Path, step: str) -> None:
    odd = FAILED.replace("step: 3\nname: Plan", f"step: {step}\nname: Nowhere")
    done = piped("flow", cwd=at_plan(tmp_path / "p", odd).root)
    assert done.stderr == ""
    assert "▶  3  Plan" in done.stdout
    assert "place     the state file says step" in done.stdout


def test_what_is_odd_in_a_state_file_has_its_line(tmp_path: Path) -> None:
    odd = FAILED.replace("retry_count: 3", "retry_count: many").replace("| 2 | Research | 2026-03-02 |", "| 2 |")
    project = at_plan(tmp_path / "p", odd.replace("\n", "\r\n"))
    done = piped("flow", cwd=project.root)
    assert f"{STATE}:8: warning: retry_count is no number: 'many'; it is read as 0" in done.stdout
    warnings = validated("flow", piped("flow", "--json", cwd=project.root).stdout)["warnings"]
    assert 8 in [one["line"] for one in warnings]


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00bad", b"# x\n" + b"a" * 1_100_000], ids=["not text", "too large"])
def test_a_state_file_that_cannot_be_read(tmp_path: Path, raw: bytes) -> None:
    project = at_plan(tmp_path / "p")
    (project.root / STATE).write_bytes(raw)
    for words in (("flow",), ("flow", "--json"), ("flow", "run"), ("flow", "skip", "3"), ("status",)):
        done = piped(*words, cwd=project.root)
        assert done.returncode == 4, (words, done.stdout)
        assert STATE in done.stderr
        assert "Traceback" not in done.stderr
    assert (project.root / STATE).read_bytes() == raw


def test_a_state_file_that_leads_elsewhere(tmp_path: Path) -> None:
    project = at_plan(tmp_path / "p", None)
    (tmp_path / "other.md").write_text(FAILED)
    os.symlink(tmp_path / "other.md", project.root / STATE)
    done = piped("flow", cwd=project.root)
    assert (done.returncode, "leads out of the project" in done.stderr) == (4, True)


def test_both_fit_and_existing_code_comes_first(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p", sources=True)
    project.write("_docs/00_problem/problem.md")
    project.write("_docs/02_document/architecture.md")
    done = piped("flow", cwd=project.root)
    assert done.stdout.startswith("existing-code\n")
    assert "greenfield would fit too" in done.stdout
    assert validated("flow", piped("flow", "--json", cwd=project.root).stdout)["others"] == ["greenfield"]


def test_an_unknown_flow_is_said_with_those_there_are(tmp_path: Path) -> None:
    project = at_plan(tmp_path / "p", FAILED.replace("flow: greenfield", "flow: greenfeild"))
    done = piped("flow", cwd=project.root)
    assert "no flow\n" in done.stdout
    assert "names the flow `greenfeild`, which is not known here; did you mean" in " ".join(done.stdout.split())
    assert "bmad flow run greenfield" in done.stdout
    assert validated("flow", piped("flow", "--json", cwd=project.root).stdout)["flow"] is None
    ran = piped("flow", "run", cwd=project.root)
    assert ran.returncode == 2
    assert "this project is in no flow" in ran.stderr
    assert "existing-code, greenfield" in ran.stderr


def test_a_board_says_what_comes_next(project: ProjectMaker) -> None:
    sample = project()
    done = piped("flow", cwd=sample.root)
    assert (done.returncode, "next  the board: " in done.stdout) == (0, True)
    assert "bmad autopilot   take its epics to merged pull requests" in done.stdout
    validated("flow", piped("flow", "--json", cwd=sample.root).stdout)
    ran = piped("flow", "run", cwd=sample.root)
    assert (ran.returncode, "there is a board: bmad status" in ran.stderr) == (2, True)


def test_list(tmp_path: Path) -> None:
    project = at_plan(tmp_path / "p")
    shown = piped("flow", "list", cwd=project.root).stdout
    assert "\n> greenfield     From a problem to a deployed product\n" in shown
    assert "1 Document · 2 Test Spec" in shown
    found = validated("flow-list", piped("flow", "list", "--json", cwd=project.root).stdout)
    by_name = {flow["name"]: flow for flow in found["flows"]}
    assert [len(by_name[name]["steps"]) for name in ("greenfield", "existing-code")] == [10, 12]
    assert [name for name, flow in by_name.items() if flow["chosen"]] == ["greenfield"]


OWN = """\
name: docs
description: Our handbook
flow:
  state: _docs/_handbook_state.md
steps:
- step: Draft
  done_when: [handbook/draft.md]
  instructions: Write it.
"""


def test_a_project_s_own_flow(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p", settings="")
    project.write("flows/docs.yaml", OWN)
    settings = project.root / "bmad-autopilot.toml"
    settings.write_text(settings.read_text() + '\n[flows]\nfiles = ["flows/docs.yaml"]\n')
    project.git("add", "--all")
    project.git("commit", "--quiet", "--message", "Our own flow")
    shown = piped("flow", "list", cwd=project.root)
    assert "docs           Our handbook, flows/docs.yaml" in shown.stdout, shown.stderr
    # Only what is committed on the base branch counts.
    (project.root / "flows/docs.yaml").write_text(OWN.replace("Our handbook", "Changed by an agent"))
    assert "Our handbook" in piped("flow", "list", cwd=project.root).stdout
    (project.root / "flows/docs.yaml").write_text(OWN.replace("- step: Draft", "- step: Draft\n  tries: 99"))
    project.git("commit", "--quiet", "--all", "--message", "A mistake")
    for words in (("flow",), ("flow", "list"), ("flow", "run")):
        done = piped(*words, cwd=project.root)
        assert (done.returncode, "flows/docs.yaml:7" in done.stderr) == (4, True), done.stderr


def test_it_is_quick(tmp_path: Path) -> None:
    project = at_plan(tmp_path / "p")
    for number in range(2000):
        project.write(f"_docs/02_document/components/{number:04}/description.md", "x")
    began = time.monotonic()
    assert piped("flow", cwd=project.root).returncode == 3
    assert time.monotonic() - began < 5, "a look is a look"
