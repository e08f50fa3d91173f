"""`bmad flow skip`, `retry` and `reset`: a person's word on one step, written into the state file."""

from pathlib import Path

import pytest

from bmad_autopilot.runs.supervisor import hold, workflow_lock
from tests.cli.flow_states import FAILED, at_plan, under_way
from tests.cli.shipped import validated
from tests.engine.flows.flowing import STATE, FlowProject
from tests.support import run_bmad


@pytest.fixture
def failed(tmp_path: Path) -> FlowProject:
    return at_plan(tmp_path / "p")


def where(project: FlowProject) -> tuple[str, str, str, str, int]:
    state = project.state
    return state.step, state.name, state.status, state.sub_step, state.retry_count


def test_retry_forgets_what_failed(failed: FlowProject) -> None:
    before = (failed.root / STATE).read_text()
    ran = run_bmad("flow", "retry", "3", cwd=failed.root)
    assert (ran.code, ran.err) == (0, "")
    assert f"greenfield: step 3, Plan: will be tried again ({STATE})\n" in ran.out
    assert "bmad flow run   go on with it" in ran.out
    assert where(failed) == ("3", "Plan", "not_started", "", 0)
    assert failed.state.retries == ()
    assert failed.state.blockers == ("The invoice layout is not decided",), "others' stay"
    after = (failed.root / STATE).read_text()
    kept = before[before.index("## Completed") : before.index("## Retry Log")]
    assert kept in after, "and every other line stays as it was"
    assert run_bmad("flow", cwd=failed.root).code == 0


@pytest.mark.parametrize("step", ["3", "plan", "PLAN", "Pl", "#3", "step 3"])
def test_a_step_by_number_or_name(failed: FlowProject, step: str) -> None:
    assert run_bmad("flow", "retry", step, cwd=failed.root).code == 0


def test_skip_moves_on(failed: FlowProject) -> None:
    ran = run_bmad("flow", "skip", "Plan", cwd=failed.root)
    assert (ran.code, ran.err) == (0, "")
    assert failed.rows()[-1] == ("3", "Plan", "skipped by a person")
    assert where(failed) == ("5", "Decompose", "not_started", "", 0), "nothing here needs a UI Design"
    marks = [one["mark"] for one in validated("flow", run_bmad("flow", "--json", cwd=failed.root).out)["steps"]]
    assert marks[:5] == ["done", "done", "skipped", "left-out", "current"]


def test_reset_has_a_step_and_all_after_it_done_anew(failed: FlowProject) -> None:
    ran = run_bmad("flow", "reset", "1", cwd=failed.root)
    assert (ran.code, ran.err) == (0, "")
    assert "step 1, Problem: will be done anew, and all after it" in ran.out
    assert failed.rows()[-1] == ("1", "Problem", "reset by a person")
    assert where(failed) == ("1", "Problem", "not_started", "", 0)
    assert (failed.root / "_docs/00_problem/problem.md").exists()
    shown = run_bmad("flow", cwd=failed.root).out
    assert "▶  1  Problem           not started" in shown
    assert "·  2  Research          once more" in shown


def test_what_only_the_folder_shows_is_written_down_before_a_reset(tmp_path: Path) -> None:
    project = at_plan(tmp_path / "p", None)
    project.write("_docs/02_document/architecture.md")
    project.write("_docs/02_document/FINAL_report.md")
    assert run_bmad("flow", "reset", "3", cwd=project.root).code == 0
    assert project.rows()[-1] == ("3", "Plan", "reset by a person")
    assert [row[:2] for row in project.rows()] == [("1", "Problem"), ("2", "Research"), ("3", "Plan")]
    found = validated("flow", run_bmad("flow", "--json", cwd=project.root).out)
    assert (found["step"]["name"], found["differs"]) == ("Plan", None)


@pytest.mark.parametrize("verb", ["skip", "retry", "reset"])
@pytest.mark.parametrize("step", ["0", "11", "99999999999", "zebra", "", "e"])
def test_an_unknown_step_is_refused_with_those_there_are(failed: FlowProject, verb: str, step: str) -> None:
    before = (failed.root / STATE).read_bytes()
    ran = run_bmad("flow", verb, "--", step, cwd=failed.root)
    assert ran.code == 2
    assert "greenfield has no such step" in ran.err
    assert "1 Problem, 2 Research, 3 Plan" in ran.err
    assert (failed.root / STATE).read_bytes() == before


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("skip", "1"), "step 1, Problem, is done\n"),
        (("skip", "1"), "bmad flow reset 1"),
        (("retry", "2"), "step 2, Research, is done\n"),
        (("skip", "5"), "step 5, Decompose, comes later\n"),
        (("skip", "8"), "bmad flow run --optional skip"),
        (("reset", "6"), "step 6, Implement, comes later\n"),
        (("run", "--from", "6"), "step 6, Implement, comes later\n"),
        (("run", "--from", "66"), "greenfield has no such step\n"),
    ],
)
def test_only_where_it_stands(failed: FlowProject, words: tuple[str, ...], said: str) -> None:
    before = (failed.root / STATE).read_bytes()
    ran = run_bmad("flow", *words, cwd=failed.root)
    assert (ran.code, said in ran.err) == (2, True), ran.err
    assert "greenfield stands at step 3, Plan" in ran.err or "has no such step" in ran.err
    assert (failed.root / STATE).read_bytes() == before
    assert failed.ran == []


def test_a_name_that_two_steps_have(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p", sources=True)
    ran = run_bmad("flow", "reset", "Run Tests", cwd=project.root)
    assert (ran.code, "several steps called that" in ran.err) == (2, True)


@pytest.mark.parametrize("verb", ["skip", "retry", "reset"])
def test_refused_while_a_run_is_at_work(failed: FlowProject, verb: str) -> None:
    before = (failed.root / STATE).read_bytes()
    state = failed.root / ".git" / "bmad-autopilot"
    with hold(str(state), "bmad flow run greenfield", "a-run", workflow_lock("main", "greenfield")):
        ran = run_bmad("flow", verb, "3", cwd=failed.root)
        shown = run_bmad("flow", cwd=failed.root)
    assert ran.code == 1
    assert "bmad flow run greenfield (pid " in ran.err
    assert shown.code == 3, "looking is always possible"
    assert (failed.root / STATE).read_bytes() == before


def test_a_hand_edited_file_keeps_what_we_do_not_know(tmp_path: Path) -> None:
    text = FAILED.replace("## Blockers", "## Ideas\r\n- a café  \r\n\r\n## Blockers").replace("\n", "\r\n")
    project = at_plan(tmp_path / "p", None)
    (project.root / STATE).write_bytes(text.replace("\r\r", "\r").encode())
    assert run_bmad("flow", "retry", "3", cwd=project.root).code == 0
    after = (project.root / STATE).read_bytes()
    assert "## Ideas\r\n- a café  \r\n".encode() in after
    assert b"status: not_started\r\n" in after


# with runs


def fail_at_plan(root: Path) -> FlowProject:
    project = under_way(root)
    project.note("fails-Plan", "3")
    ran = run_bmad("flow", "run", cwd=project.root)
    assert ran.code == 3, ran.err
    assert "step 3, Plan, counts as failed" in ran.out
    assert project.ran == ["3 Plan"] * 3
    return project


@pytest.mark.real
def test_retry_answers_the_run_that_waits_for_it(tmp_path: Path) -> None:
    project = fail_at_plan(tmp_path / "p")
    shown = run_bmad("flow", cwd=project.root)
    assert (shown.code, "asks      Plan of greenfield failed" in shown.out) == (3, True)
    again = run_bmad("flow", "run", cwd=project.root)
    assert (again.code, project.ran) == (3, ["3 Plan"] * 3), "a failed step is not tried again by itself"
    assert run_bmad("flow", "retry", "3", cwd=project.root).code == 0
    assert run_bmad("questions", cwd=project.root).out == "no question is open\n"
    ran = run_bmad("flow", "run", cwd=project.root)
    assert ran.code == 3, ran.err
    assert project.ran == [*["3 Plan"] * 4, "5 Decompose"]
    assert project.state.name == "Implement"


def test_skip_where_a_run_waits(tmp_path: Path) -> None:
    project = fail_at_plan(tmp_path / "p")
    assert run_bmad("flow", "skip", "3", cwd=project.root).code == 0
    assert run_bmad("questions", cwd=project.root).out == "no question is open\n"
    ran = run_bmad("flow", "run", cwd=project.root)
    assert ran.code == 3, ran.err
    assert project.ran == [*["3 Plan"] * 3, "5 Decompose"]
    assert [row for row in project.rows() if row[0] == "3"] == [("3", "Plan", "skipped by a person")]


@pytest.mark.real
def test_reset_where_a_run_waits(tmp_path: Path) -> None:
    project = fail_at_plan(tmp_path / "p")
    assert run_bmad("flow", "reset", "1", cwd=project.root).code == 0
    ran = run_bmad("flow", "run", "--on-blocked", "gate=proceed", cwd=project.root)
    assert ran.code == 3, ran.err
    assert project.ran[3:] == ["1 Problem", "2 Research", "3 Plan", "5 Decompose"]
