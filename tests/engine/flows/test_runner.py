"""A flow from its first step: chained, kept in its state file, committed; asked about where only people know."""

from pathlib import Path

import pytest

from bmad_autopilot.core.errors import AutopilotError
from bmad_autopilot.engine.flows.step_commands import reset_step
from bmad_autopilot.project.project import open_project
from bmad_autopilot.workflows.flows import get_flow, load_flows
from tests.support.flow_runs import FlowProject
from tests.support.lane_projects import Person

TO_DECOMPOSE = ["1 Problem", "2 Research", "3 Plan", "5 Decompose"]


def test_steps_chain_until_the_session_ends(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    ran = project.run(person=Person("B", "A"))
    assert ran.end.status == "session-over"
    assert ran.end.exit_code == 0
    assert ran.questions == ["gate", "boundary"]
    assert project.ran == TO_DECOMPOSE
    state = project.state
    assert (state.flow, state.step, state.name, state.status) == ("greenfield", "6", "Implement", "not_started")
    assert [row[:2] for row in project.rows()] == [
        ("1", "Problem"),
        ("2", "Research"),
        ("3", "Plan"),
        ("4", "UI Design"),
        ("5", "Decompose"),
    ]
    assert project.rows()[3][2].startswith("skipped")
    assert state.last.reason == "session boundary"
    assert "Plan is done our way" in state.decisions
    assert project.subjects() == [f"greenfield: {one.split(' ', 1)[1]}" for one in TO_DECOMPOSE]


def test_where_nobody_is_there_it_stops_at_the_decision_and_goes_on_when_answered(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    ran = project.run()
    assert (ran.end.status, ran.end.exit_code) == ("waiting", 3)
    assert ran.questions == ["gate"]
    assert project.state.step == "2"
    assert project.state.status == "in_progress"
    again = project.run()
    assert (again.end.status, again.questions) == ("waiting", [])  # asked once
    assert project.ran == ["1 Problem", "2 Research"]
    through = project.run(person=Person("proceed"))
    assert through.end.status == "waiting"
    assert through.questions == ["boundary"]
    assert project.ran == TO_DECOMPOSE


def test_another_round_of_research_and_then_on(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    ran = project.run(person=Person("A", "B"))
    assert ran.questions[:3] == ["gate", "gate", "boundary"]
    assert project.ran[:4] == ["1 Problem", "2 Research", "2 Research", "3 Plan"]
    assert sorted(path.name for path in (project.root / "_docs/01_solution").iterdir()) == [
        "solution_draft01.md",
        "solution_draft02.md",
    ]
    assert [row[0] for row in project.rows()] == ["1", "2", "3", "4", "5"]


def test_a_gate_outlasts_a_git_gc(tmp_path: Path) -> None:
    """The tree that the step left is in no commit while the gate is open."""
    project = FlowProject(tmp_path / "p")
    assert project.run().questions == ["gate"]
    project.git("gc", "--quiet", "--prune=now")
    ran = project.run(person=Person("proceed"))
    assert ran.end.status == "waiting"
    assert project.ran == ["1 Problem", "2 Research", "3 Plan", "5 Decompose"]
    assert len(project.subjects()) == 4
    (checkpoint,) = [one["checkpoint"] for one in ran.entries("accepted") if one["step"] == "Research"]
    assert project.git("cat-file", "-t", checkpoint["ref"]) == "tree"


def test_choices_in_advance_take_it_over_gates(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    ran = project.run(gate="proceed")
    assert ran.questions == ["gate", "boundary"]
    assert ran.end.exit_code == 3
    assert project.state.step == "6"


def test_three_failures_are_a_blocker_and_are_not_tried_again_by_themselves(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    project.note("fails-Problem", "3")
    ran = project.run()
    assert (ran.end.exit_code, ran.questions) == (3, ["failed"])
    assert project.ran == ["1 Problem"] * 3
    state = project.state
    assert (state.step, state.status, state.retry_count) == ("1", "failed", 3)
    assert [(row.attempt, row.step, row.name) for row in state.retries] == [
        ("1", "1", "Problem"),
        ("2", "1", "Problem"),
        ("3", "1", "Problem"),
    ]
    assert state.blockers[0].startswith("Step 1 Problem: failed 3 times")
    assert state.sub_step == "2 - middle of Problem"
    again = project.run()
    assert again.end.exit_code == 3
    assert project.ran == ["1 Problem"] * 3
    retried = project.run(person=Person("retry"))
    assert retried.questions == ["gate"]
    state = project.state
    assert (state.step, state.retry_count, state.retries, state.blockers) == ("2", 0, (), ())


def test_an_agents_own_commits_hold_no_file_that_was_the_users_before(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    project.note("commits", "")
    project.write("my-private-notes.txt", "mine")
    before = project.git("rev-parse", "HEAD")
    ran = project.run()
    assert ran.questions == ["gate"]
    changed = project.git("log", "--name-only", "--format=%s", f"{before.strip()}..HEAD").splitlines()
    assert "All of it" in changed
    assert "my-private-notes.txt" not in changed
    assert "?? my-private-notes.txt" in project.git("status", "--porcelain").splitlines()


def test_a_failed_step_is_presented_also_where_its_run_is_gone(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    project.write(
        "_docs/_autopilot_state.md",
        "# Autopilot State\n## Current Step\nflow: greenfield\nstep: 1\nname: Problem\nstatus: failed\n"
        "retry_count: 3\n## Blockers\n- Step 1 Problem: failed 3 times: nobody knows the problem\n",
    )
    ran = project.run()
    assert (ran.end.exit_code, ran.questions, project.ran) == (3, ["flow-failed"], [])
    assert "nobody knows the problem" in ran.entries("asked")[0]["context"]
    assert project.state.status == "failed"
    tried = project.run(person=Person("retry"))
    assert tried.questions == ["gate"]
    assert project.state.blockers == ()


def test_a_failed_step_can_be_left_out(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    for name in ("01_solution/solution_draft01.md", "02_document/FINAL_report.md", "02_document/architecture.md"):
        project.write(f"_docs/{name}")
    project.note("fails-Problem", "3")
    ran = project.run(person=Person("skip"))
    assert ran.questions == ["failed", "boundary"]
    assert ("1", "Problem", "skipped by a person") in project.rows()
    assert project.ran == ["1 Problem"] * 3 + ["5 Decompose"]


def test_the_folder_wins_and_the_state_file_is_mended(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    for name in ("problem.md", "restrictions.md", "acceptance_criteria.md", "input_data/a.csv"):
        project.write(f"_docs/00_problem/{name}")
    project.write(
        "_docs/_autopilot_state.md",
        "# Autopilot State\r\n## Current Step\r\nflow: greenfield\r\nstep: 1\r\nname: Problem\r\n"
        "status: in_progress\r\n\r\nOur own words stay.\r\n",
    )
    ran = project.run()
    assert ran.questions == ["gate"]
    assert project.ran == ["2 Research"]
    raw = (project.root / "_docs/_autopilot_state.md").read_bytes()
    assert b"Our own words stay.\r\n" in raw
    assert ("1", "Problem", "found in the folder") in project.rows()
    assert project.state.step == "2"


def test_an_agents_word_without_its_files_completes_nothing(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    text = project.agent.read_text().replace(
        '"Problem": lambda: [put', '"Problem": lambda: [put("x.md"),] or [put'
    )
    project.agent.write_text(text)
    ran = project.run()
    assert (ran.questions, project.ran) == (["failed"], ["1 Problem"] * 3)
    reason = project.state.retries[0].reason
    assert "_docs/00_problem/problem.md" in reason


def test_without_git_it_goes_on_just_the_same(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p", with_git=False)
    ran = project.run(person=Person("proceed", "A"))
    assert ran.end.status == "session-over"
    assert project.state.step == "6"


def test_what_people_had_changed_before_is_in_no_commit_of_ours(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    project.write("notes.txt", "mine\n")
    project.run(person=Person("proceed", "A"))
    assert project.git("status", "--porcelain", "notes.txt") == "?? notes.txt"
    assert "_docs/_autopilot_state.md" in project.git("ls-files")


def test_a_state_file_that_was_there_before_is_committed_with_each_step(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    project.run()  # up to the gate
    state = (project.root / "_docs/_autopilot_state.md").read_text()
    other = FlowProject(tmp_path / "other")
    other.write("_docs/_autopilot_state.md", state.replace("step: 2", "step: 1"))
    other.run(person=Person("proceed", "A"))
    commits = other.git("log", "--committer=autopilot@", "--format=%H").splitlines()
    assert len(commits) == len(TO_DECOMPOSE)
    for commit in commits:
        paths = other.git("diff-tree", "-r", "--no-commit-id", "--name-only", commit).splitlines()
        assert "_docs/_autopilot_state.md" in paths


def test_optional_steps_are_asked_about_one_by_one(tmp_path: Path) -> None:
    project = _until_tests(FlowProject(tmp_path / "p"))
    ran = project.run(optional="skip")
    assert ran.questions == ["optional", "optional"]
    assert ran.end.status == "completed"
    assert project.ran == ["7 Run Tests", "10 Deploy"]
    assert [row for row in project.rows() if row[2].startswith("skipped")] == [
        ("4", "UI Design", "skipped: nothing here needs it"),
        ("8", "Security Audit", "skipped by the settings"),
        ("9", "Performance Test", "skipped by the settings"),
    ]
    assert (project.state.step, project.state.status) == ("done", "completed")


def test_tests_that_fail_are_no_tests_that_were_run(tmp_path: Path) -> None:
    project = _until_tests(FlowProject(tmp_path / "p"))
    settings = (project.root / "bmad-autopilot.toml").read_text().replace("-c pass", "-c 1/0")
    project.write("bmad-autopilot.toml", settings)
    project.git("commit", "--quiet", "--all", "--message", "Failing checks")
    ran = project.run()
    assert (ran.questions, project.ran) == (["failed"], ["7 Run Tests"] * 3)
    assert "ZeroDivisionError" in ran.entries("ended")[0]["message"]


def test_an_implement_step_without_tasks_says_so(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    _planned(project)
    with pytest.raises(AutopilotError, match="Implement has no tasks"):
        project.run()


def test_a_new_task_may_be_followed_by_another(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p", sources=True)
    _tested(project)
    ran = project.run("existing-code", person=Person("C", "A"))
    assert ran.questions == ["boundary", "boundary"]
    assert ran.entries("asked")[0]["options"] == ["new-session", "continue", "another"]
    assert project.ran == ["7 New Task", "7 New Task"]
    assert (project.state.step, project.state.status) == ("8", "not_started")


def test_a_step_that_was_cut_short_is_told_where_it_stood(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    project.note("fails-Problem", "1")
    project.run()
    prompts = sorted((project.root / "_bmad-output/.runs").rglob("steps/01-*/attempt-2/prompt.md"))
    assert "cut short at sub-step 2 - middle of Problem" in prompts[0].read_text()


def test_a_second_turn_goes_through_its_tasks_and_all_that_follows(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p", sources=True)
    _tested(project)
    assert project.run("existing-code", boundary="continue", optional="skip").end.status == "completed"
    first = ["7 New Task", "implement 1-1-export", "review 1-1-export", "9 Run Tests", "12 Deploy"]
    assert project.ran == first
    assert ("8", "Implement", "1 task done, of 2 in all") in project.rows()
    opened = open_project(str(project.root))
    reset_step(opened, get_flow(load_flows(opened.config), "existing-code"), "7")
    project.agent.write_text(project.agent.read_text().replace("03_export", "04_import"))
    assert project.run("existing-code", boundary="continue", optional="skip").end.status == "completed"
    second = ["7 New Task", "implement 2-1-import", "review 2-1-import", "9 Run Tests", "12 Deploy"]
    assert project.ran == first + second


def test_a_task_that_comes_later_has_the_tests_run_again(tmp_path: Path) -> None:
    project = _until_tests(FlowProject(tmp_path / "p"))
    assert project.run(optional="skip").end.status == "completed"
    before = project.ran
    name = "04_more"
    text = f"# {name}\n\n**Task**: {name}\n**Complexity**: 1 points\n**Dependencies**: none\n\nDo it.\n"
    project.write(f"_docs/02_tasks/todo/{name}.md", text)
    assert project.run(optional="skip").end.status == "completed"
    assert project.ran[len(before) :] == ["implement 1-1-more", "review 1-1-more", "7 Run Tests", "10 Deploy"]


def test_a_person_leaves_out_a_step_that_has_an_older_row(tmp_path: Path) -> None:
    project = _until_tests(FlowProject(tmp_path / "p"))
    rows = "".join(
        f"| {step} | {name} | 2026-01-01 | done |\n" for step, name in ((7, "Run Tests"), (8, "Security Audit"))
    )
    project.write(
        "_docs/_autopilot_state.md",
        "# Autopilot State\n## Current Step\nflow: greenfield\nstep: 9\nname: Performance Test\n"
        "status: not_started\n## Completed Steps\n| Step | Name | Completed | Key Outcome |\n|---|---|---|---|\n"
        + rows,
    )
    ran = project.run(optional="skip")
    assert ran.questions == ["optional", "optional"]
    assert ran.end.status == "completed"


def test_a_failed_step_that_is_named_by_a_word_is_not_tried_again(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    project.write(
        "_docs/_autopilot_state.md",
        "# Autopilot State\n## Current Step\nflow: greenfield\nstep: Problem\nname: Problem\nstatus: failed\n"
        "retry_count: 3\n## Blockers\n- Step 9 needs the customer's load profile\n"
        "- Step 1 Problem: failed 3 times: nobody knows\n",
    )
    ran = project.run()
    assert (ran.questions, project.ran) == (["flow-failed"], [])
    project.run(person=Person("retry"))
    assert project.state.blockers == ("Step 9 needs the customer's load profile",)


def test_what_every_round_of_a_step_has_left_is_committed(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    project.run(person=Person("A", "B"))
    assert project.git("ls-files", "_docs/01_solution").splitlines() == [
        "_docs/01_solution/solution_draft01.md",
        "_docs/01_solution/solution_draft02.md",
    ]


def _tested(project: FlowProject) -> None:
    for name in (
        *("02_document/FINAL_report.md", "02_document/tests/traceability-matrix.md"),
        *("02_tasks/_dependencies_table.md", "02_tasks/done/01_test.md"),
        *("03_implementation/implementation_report_tests.md", "04_refactoring/01/FINAL_report.md"),
    ):
        project.write(f"_docs/{name}")


def _planned(project: FlowProject) -> None:
    for name in (
        *("00_problem/problem.md", "00_problem/restrictions.md", "00_problem/acceptance_criteria.md"),
        *("00_problem/input_data/a.csv", "01_solution/solution_draft01.md", "02_document/architecture.md"),
        *("02_document/FINAL_report.md", "02_tasks/_dependencies_table.md", "02_tasks/done/01_first.md"),
    ):
        project.write(f"_docs/{name}")


def _until_tests(project: FlowProject) -> FlowProject:
    _planned(project)
    project.write("_docs/03_implementation/implementation_report_features.md")
    return project


def test_killed_between_the_state_file_and_its_note_nothing_stands_there_twice(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    project.run()
    journal = next((project.root / "_bmad-output/.runs").rglob("journal.jsonl"))
    lines = journal.read_text().splitlines(keepends=True)
    last = max(index for index, line in enumerate(lines) if '"recorded":["step:1"' in line.replace(" ", ""))
    journal.write_text("".join(lines[:last]))
    (project.root / "_bmad-output/.runs/main").joinpath(journal.parent.name, "state.json").unlink()
    project.run()
    assert [row[:2] for row in project.rows()] == [("1", "Problem")]


def test_a_flow_without_checks_says_so_at_its_start(tmp_path: Path) -> None:
    project = FlowProject(tmp_path / "p")
    settings = tmp_path / "p" / "bmad-autopilot.toml"
    settings.write_text(settings.read_text().partition("[commands]")[0])
    project.git("commit", "--quiet", "--all", "--message", "Settings")
    notices = [data["text"] for data in project.run().entries("notice")]
    assert [text for text in notices if text.startswith("no check commands were found: ")] != []
