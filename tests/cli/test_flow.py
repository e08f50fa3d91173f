"""`bmad flow`: in which flow, why, where in it, what was decided, what stands in the way, what comes next."""

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.cli.flow import _autopilot_options, _PresetAnswers
from bmad_autopilot.cli.run_options import RunOptions
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.supervisor_lock import hold_supervisor_lock, workflow_lock_name
from bmad_autopilot.views.run_log import RunLog
from bmad_autopilot.views.terminal import display_width
from tests.support.bmad_project import ProjectMaker, run_bmad
from tests.support.flow_projects import FAILED, project_at_plan, project_in_progress
from tests.support.flow_runs import STATE, FlowProject
from tests.support.schemas import parse_validated, schema
from tests.support.terminals import assert_golden, run_in_terminal, run_piped, strip_colors


def everything(root: Path) -> dict[str, bytes]:
    """All files but git's own."""
    found = (path for path in root.rglob("*") if path.is_file() and ".git" not in path.parts)
    return {str(path.relative_to(root)): path.read_bytes() for path in found}


@pytest.fixture
def failed(tmp_path: Path) -> FlowProject:
    return project_at_plan(tmp_path / "p")


@pytest.fixture
def unchanged(failed: FlowProject) -> Iterator[FlowProject]:
    before = everything(failed.root)
    yield failed
    assert everything(failed.root) == before


def test_the_status_summary(unchanged: FlowProject) -> None:
    shown = run_in_terminal("flow", cwd=unchanged.root, columns=80)
    assert "\x1b[" in shown
    assert_golden("flow-failed-80", strip_colors(shown))
    assert run_in_terminal("flow", cwd=unchanged.root, columns=80, NO_COLOR="1") == strip_colors(shown)
    done = run_piped("flow", cwd=unchanged.root)
    assert (done.returncode, done.stdout, done.stderr) == (3, strip_colors(shown), "")


def test_all_decisions_and_all_tries(failed: FlowProject) -> None:
    some, all = (run_piped("flow", *options, cwd=failed.root).stdout for options in ([], ["--all"]))
    assert "Tech stack" not in some
    assert "… 2 things before (--all shows them)" in some
    assert "Tech stack: Python, Postgres" in all
    assert "things before" not in all


@pytest.mark.parametrize("columns", [20, 40, 61, 79, 200])
def test_any_width(failed: FlowProject, columns: int) -> None:
    shown = run_in_terminal("flow", cwd=failed.root, columns=columns)
    for line in strip_colors(shown).splitlines():
        assert display_width(line) <= max(columns, 40), line


def test_a_terminal_without_unicode(failed: FlowProject) -> None:
    done = run_piped("flow", cwd=failed.root, PYTHONIOENCODING="ascii:replace", LC_ALL="C")
    assert "  x  1  Problem" in done.stdout
    assert "  >  3  Plan" in done.stdout


def test_json_keeps_its_schema(failed: FlowProject) -> None:
    done = run_piped("flow", "--json", cwd=failed.root)
    found = parse_validated("flow", done.stdout)
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
    done = run_piped("flow", cwd=project_in_progress(tmp_path / "p").root)
    assert done.returncode == 0
    assert "step      3, Plan: in progress, at 4 — Architecture Review" in done.stdout
    assert "1 of 3 tries failed" in done.stdout
    assert "bmad flow run   go on with it" in done.stdout


def test_a_folder_where_nothing_is_yet(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    before = everything(project.root)
    done = run_piped("flow", cwd=project.root)
    assert done.returncode == 0
    assert done.stdout.startswith("greenfield   From a problem to a deployed product\nby what the folder holds, ")
    assert "bmad flow run   begin it" in done.stdout
    parse_validated("flow", run_piped("flow", "--json", cwd=project.root).stdout)
    assert everything(project.root) == before, "reading makes no state file, and no _docs"


def test_without_a_state_file_the_folder_says_where(tmp_path: Path) -> None:
    done = run_piped("flow", cwd=project_at_plan(tmp_path / "p", None).root)
    assert "by what the folder holds, greenfield is under way" in done.stdout or "greenfield begins" in done.stdout
    assert "▶  2  Research          waits for a decision: Another round of research" in done.stdout


def test_where_state_file_and_folder_disagree_it_says_why(tmp_path: Path) -> None:
    behind = FAILED.replace("step: 3\nname: Plan", "step: 1\nname: Problem")
    done = run_piped("flow", "--json", cwd=project_at_plan(tmp_path / "p", behind).root)
    found = parse_validated("flow", done.stdout)
    assert found["step"]["name"] == "Plan"
    assert found["differs"] == "the state file says step 1, Problem; by the folder it is step 3, Plan"
    assert (found["step"]["status"], found["waits"], done.returncode) == ("not_started", False, 0)
    shown = run_piped("flow", cwd=tmp_path / "p").stdout
    assert "  place     the state file says step 1, Problem; by the folder it is step 3," in shown


@pytest.mark.parametrize("step", ["0", "11", "three", "9999999"])
def test_a_step_that_cannot_be(tmp_path: Path, step: str) -> None:
    odd = FAILED.replace("step: 3\nname: Plan", f"step: {step}\nname: Nowhere")
    done = run_piped("flow", cwd=project_at_plan(tmp_path / "p", odd).root)
    assert done.stderr == ""
    assert "▶  3  Plan" in done.stdout
    assert "place     the state file says step" in done.stdout


def test_what_is_odd_in_a_state_file_has_its_line(tmp_path: Path) -> None:
    odd = FAILED.replace("retry_count: 3", "retry_count: many").replace("| 2 | Research | 2026-03-02 |", "| 2 |")
    project = project_at_plan(tmp_path / "p", odd.replace("\n", "\r\n"))
    done = run_piped("flow", cwd=project.root)
    assert f"{STATE}:8: warning: retry_count is no number: 'many'; it is read as 0" in done.stdout
    warnings = parse_validated("flow", run_piped("flow", "--json", cwd=project.root).stdout)["warnings"]
    assert 8 in [one["line"] for one in warnings]


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00bad", b"# x\n" + b"a" * 1_100_000], ids=["not text", "too large"])
def test_a_state_file_that_cannot_be_read(tmp_path: Path, raw: bytes) -> None:
    project = project_at_plan(tmp_path / "p")
    (project.root / STATE).write_bytes(raw)
    for words in (("flow",), ("flow", "--json"), ("flow", "run"), ("flow", "skip", "3"), ("status",)):
        done = run_piped(*words, cwd=project.root)
        assert done.returncode == 4, (words, done.stdout)
        assert STATE in done.stderr
        assert "Traceback" not in done.stderr
    assert (project.root / STATE).read_bytes() == raw


def test_a_state_file_that_leads_elsewhere(tmp_path: Path) -> None:
    project = project_at_plan(tmp_path / "p", None)
    (tmp_path / "other.md").write_text(FAILED)
    os.symlink(tmp_path / "other.md", project.root / STATE)
    done = run_piped("flow", cwd=project.root)
    assert (done.returncode, "leads out of the project" in done.stderr) == (4, True)


def test_both_fit_and_existing_code_comes_first(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p", sources=True)
    project.write("_docs/00_problem/problem.md")
    project.write("_docs/02_document/architecture.md")
    done = run_piped("flow", cwd=project.root)
    assert done.stdout.startswith("existing-code\n")
    assert "greenfield would fit too" in done.stdout
    assert parse_validated("flow", run_piped("flow", "--json", cwd=project.root).stdout)["others"] == [
        "greenfield"
    ]


def test_an_unknown_flow_is_said_with_those_there_are(tmp_path: Path) -> None:
    project = project_at_plan(tmp_path / "p", FAILED.replace("flow: greenfield", "flow: greenfeild"))
    done = run_piped("flow", cwd=project.root)
    assert "no flow\n" in done.stdout
    assert "names the flow `greenfeild`, which is not known here; did you mean" in " ".join(done.stdout.split())
    assert "bmad flow run greenfield" in done.stdout
    assert parse_validated("flow", run_piped("flow", "--json", cwd=project.root).stdout)["flow"] is None
    ran = run_piped("flow", "run", cwd=project.root)
    assert ran.returncode == 2
    assert "this project is in no flow" in ran.stderr
    assert "existing-code, greenfield" in ran.stderr


def test_a_board_says_what_comes_next(project: ProjectMaker) -> None:
    sample = project()
    done = run_piped("flow", cwd=sample.root)
    assert (done.returncode, "next  the board: " in done.stdout) == (0, True)
    assert "bmad autopilot   take its epics to merged pull requests" in done.stdout
    parse_validated("flow", run_piped("flow", "--json", cwd=sample.root).stdout)
    ran = run_piped("flow", "run", cwd=sample.root)
    assert (ran.returncode, "there is a board: bmad status" in ran.stderr) == (2, True)


def test_list(tmp_path: Path) -> None:
    project = project_at_plan(tmp_path / "p")
    shown = run_piped("flow", "list", cwd=project.root).stdout
    assert "\n> greenfield     From a problem to a deployed product\n" in shown
    assert "1 Document · 2 Test Spec" in shown
    found = parse_validated("flow-list", run_piped("flow", "list", "--json", cwd=project.root).stdout)
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
    shown = run_piped("flow", "list", cwd=project.root)
    assert "docs           Our handbook, flows/docs.yaml" in shown.stdout, shown.stderr
    # Only what is committed on the base branch counts.
    (project.root / "flows/docs.yaml").write_text(OWN.replace("Our handbook", "Changed by an agent"))
    assert "Our handbook" in run_piped("flow", "list", cwd=project.root).stdout
    (project.root / "flows/docs.yaml").write_text(OWN.replace("- step: Draft", "- step: Draft\n  tries: 99"))
    project.git("commit", "--quiet", "--all", "--message", "A mistake")
    for words in (("flow",), ("flow", "list"), ("flow", "run")):
        done = run_piped(*words, cwd=project.root)
        assert (done.returncode, "flows/docs.yaml:7" in done.stderr) == (4, True), done.stderr


def test_it_is_quick(tmp_path: Path) -> None:
    project = project_at_plan(tmp_path / "p")
    for number in range(2000):
        project.write(f"_docs/02_document/components/{number:04}/description.md", "x")
    began = time.monotonic()
    assert run_piped("flow", cwd=project.root).returncode == 3
    assert time.monotonic() - began < 5, "a look is a look"


# `bmad flow run`, as a user types it: where it stands is said first, then it goes on until only they know how.

TO_END = ["3 Plan", "5 Decompose", "implement 1-1-first", "review 1-1-first"]


def runs_of(project: FlowProject) -> list[str]:
    folder = project.root / "_bmad-output" / ".runs" / "main"
    return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


def test_it_says_where_it_stands_then_goes_on_to_the_end_of_the_session(tmp_path: Path) -> None:
    project = project_in_progress(tmp_path / "p")
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
    project = project_in_progress(tmp_path / "p")
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
    project = project_in_progress(tmp_path / "p")
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
    project = project_in_progress(tmp_path / "p")
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
    project = project_in_progress(tmp_path / "p")
    ran = run_bmad("flow", "run", "existing-code", cwd=project.root)
    assert ran.code == 2
    assert "this project is in another flow: greenfield" in ran.err
    assert "bmad flow run greenfield" in ran.err
    assert f"mv {STATE} " in ran.err
    assert project.ran == []
    unknown = run_bmad("flow", "run", "grenfield", cwd=project.root)
    assert (unknown.code, "there is no such flow" in unknown.err) == (2, True)


def test_rows_of_a_flow_that_nobody_knows_are_not_taken_for_its_own(tmp_path: Path) -> None:
    project = project_in_progress(tmp_path / "p")
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
    project = project_at_plan(tmp_path / "p")
    ran = run_bmad("flow", "run", cwd=project.root)
    assert ran.code == 3
    assert "blocker   The invoice layout is not decided" in ran.out
    assert "has failed 3 times. Try again?" in ran.out
    assert project.ran == []


def test_a_state_file_and_a_folder_that_disagree(tmp_path: Path) -> None:
    behind = FAILED.replace("step: 3\nname: Plan\nstatus: failed", "step: 1\nname: Problem\nstatus: in_progress")
    project = project_at_plan(tmp_path / "p", behind)
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
    assert _autopilot_options(project, options, {}, deliver=False, parallel=None) is None
    wishes = _autopilot_options(project, options, {"gate": "proceed"}, deliver=True, parallel=None)
    assert wishes is not None
    assert (wishes.parallel, wishes.session, wishes.unattended) == (0, "evening", {"gate": "proceed"})
    assert (wishes.bounds.dollars, wishes.bounds.clock) == (2.0, "--max-hours 1")
    several = _autopilot_options(project, options, {}, deliver=False, parallel=3)
    assert several is not None
    assert several.parallel == 3


def test_what_was_said_on_the_command_line_is_not_asked_again() -> None:
    class Anybody:
        def ask(self, question: Mapping[str, Any]) -> str | None:
            return f"asked about {question['cause']}"

    human = _PresetAnswers(Anybody(), {"boundary": "continue"})
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


# `bmad flow skip`, `retry` and `reset`: a person's word on one step, written into the state file.


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
    marks = [
        one["mark"] for one in parse_validated("flow", run_bmad("flow", "--json", cwd=failed.root).out)["steps"]
    ]
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
    project = project_at_plan(tmp_path / "p", None)
    project.write("_docs/02_document/architecture.md")
    project.write("_docs/02_document/FINAL_report.md")
    assert run_bmad("flow", "reset", "3", cwd=project.root).code == 0
    assert project.rows()[-1] == ("3", "Plan", "reset by a person")
    assert [row[:2] for row in project.rows()] == [("1", "Problem"), ("2", "Research"), ("3", "Plan")]
    found = parse_validated("flow", run_bmad("flow", "--json", cwd=project.root).out)
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
    with hold_supervisor_lock(
        str(state), "bmad flow run greenfield", "a-run", workflow_lock_name("main", "greenfield")
    ):
        ran = run_bmad("flow", verb, "3", cwd=failed.root)
        shown = run_bmad("flow", cwd=failed.root)
    assert ran.code == 1
    assert "bmad flow run greenfield (pid " in ran.err
    assert shown.code == 3, "looking is always possible"
    assert (failed.root / STATE).read_bytes() == before


def test_a_hand_edited_file_keeps_what_we_do_not_know(tmp_path: Path) -> None:
    text = FAILED.replace("## Blockers", "## Ideas\r\n- a café  \r\n\r\n## Blockers").replace("\n", "\r\n")
    project = project_at_plan(tmp_path / "p", None)
    (project.root / STATE).write_bytes(text.replace("\r\r", "\r").encode())
    assert run_bmad("flow", "retry", "3", cwd=project.root).code == 0
    after = (project.root / STATE).read_bytes()
    assert "## Ideas\r\n- a café  \r\n".encode() in after
    assert b"status: not_started\r\n" in after


# with runs


def fail_at_plan(root: Path) -> FlowProject:
    project = project_in_progress(root)
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
