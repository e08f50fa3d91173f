"""bmad runs: the list, one run, its decisions, as they are typed."""

import json
from pathlib import Path

import pytest

from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.state_file import RunStatus
from bmad_autopilot.runs.supervisor_lock import hold_supervisor_lock
from tests.cli.run_records import printed, refused, small_run, state_of, story_run
from tests.support.bmad_project import ProjectMaker, SampleProject
from tests.support.checkpoint_runs import CheckpointingAgent
from tests.support.schemas import parse_validated
from tests.support.terminals import assert_golden, run_in_terminal, run_piped, strip_colors


@pytest.fixture
def sample(project: ProjectMaker, monkeypatch: pytest.MonkeyPatch) -> SampleProject:
    made = project()
    monkeypatch.chdir(made.root)
    return made


def test_no_run_yet(sample: SampleProject) -> None:
    assert printed(sample.root, "runs") == "there is no run in this project yet: bmad run-epic begins one\n"
    assert parse_validated("runs", printed(sample.root, "runs", "--json"))["runs"] == []
    assert "there is no run in this project yet" in refused(sample.root, "runs", "show")


def test_all_in_the_archive(sample: SampleProject) -> None:
    small_run(sample, "completed")
    printed(sample.root, "runs", "session", "archive", "main")
    assert printed(sample.root, "runs") == "no run but 1 run in the archive: bmad runs --all\n"


def test_the_newest_first_with_what_each_came_to(sample: SampleProject) -> None:
    story_run(sample)
    small_run(sample, "paused", days=3, session="feature-auth")
    small_run(sample, "failed", days=1)
    rows = parse_validated("runs", printed(sample.root, "runs", "--json"))["runs"]
    assert [(row["status"], row["session"]) for row in rows] == [
        ("failed", "main"),
        ("paused", "feature-auth"),
        ("completed", "main"),
    ]
    assert (rows[2]["target"], rows[2]["dollars"], rows[2]["unpriced"], rows[2]["calls"]) == ("epic-1", 1.31, 1, 5)
    lines = printed(sample.root, "runs").splitlines()
    assert lines[0].split() == ["run", "session", "target", "status", "step", "started", "last", "cost"]
    assert lines[3].split()[:5] == ["epic-1-20260101-120000", "main", "epic-1", "completed", "4/6"]
    assert lines[3].endswith("$1.31+")


def test_a_running_one_that_nobody_looks_after_was_cut_short(sample: SampleProject) -> None:
    run = small_run(sample, "running")
    assert "cut short" in printed(sample.root, "runs")
    with hold_supervisor_lock(open_project(str(sample.root)).state_folder, "bmad run-epic 2", run.name):
        shown = printed(sample.root, "runs")
    assert "cut short" not in shown
    assert "running" in shown


def test_one_that_agents_keep_is_running(sample: SampleProject) -> None:
    CheckpointingAgent(sample.root / "_bmad-output/.runs").save(2, total=8)
    (row,) = parse_validated("runs", printed(sample.root, "runs", "--json"))["runs"]
    assert (row["status"], row["protocol"], row["target"], row["step"]) == ("running", True, "create-prd", 2)


def test_twenty_are_shown_and_the_rest_counted(sample: SampleProject) -> None:
    for days in range(22):
        small_run(sample, "paused", days=days)
    lines = printed(sample.root, "runs").splitlines()
    assert (len(lines), lines[-1]) == (23, "… 2 older: bmad runs --all")
    assert len(printed(sample.root, "runs", "--all").splitlines()) == 23


def test_lines_fit_a_narrow_terminal(sample: SampleProject) -> None:
    small_run(sample, "running", session="a-session-with-a-long-name", name="create-a-very-long-architecture")
    shown = strip_colors(run_in_terminal("runs", cwd=sample.root, columns=60))
    assert all(len(line) <= 60 for line in shown.splitlines())
    assert "create-a-very-long-architecture-" in shown
    assert "session a-session-with-a-long-name" in shown.replace("\n ", "")


def test_columns_that_tell_nothing_new_make_room(sample: SampleProject) -> None:
    for days in range(3):
        small_run(sample, "paused", days=days, name="epic-2")
    for columns, heads in ((100, "run session target status"), (78, "run session status"), (70, "run status")):
        lines = strip_colors(run_in_terminal("runs", cwd=sample.root, columns=columns)).splitlines()
        assert " ".join(lines[0].split()).startswith(heads)
        assert all(len(line) <= columns for line in lines)
        assert all("paused" in line for line in lines[1:])


def test_one_run_step_by_step(sample: SampleProject) -> None:
    story_run(sample)
    shown = run_piped("runs", "show", cwd=sample.root, TZ="UTC")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert_golden("runs-show", shown.stdout)
    document = parse_validated("run", printed(sample.root, "runs", "show", "epic-1", "--json"))
    assert [step["status"] for step in document["steps"]] == ["done", "sent back", "open"]
    assert [one["finding"] for one in document["steps"][0]["attempts"]] == ["asked", "good"]
    assert document["steps"][0]["questions"][0]["answer"] == "postgres"


def test_a_state_file_that_is_not_its_own_is_said(sample: SampleProject) -> None:
    run = story_run(sample)
    other = small_run(sample, "paused")
    (run / "state.json").write_bytes((other / "state.json").read_bytes())
    assert f"! state.json is of another run: {other.name}" in printed(sample.root, "runs", "show", "epic-1")
    (run / "state.json").write_text("{")
    assert "what stands here is from the journal" in printed(sample.root, "runs", "show", "epic-1")
    (run / "state.json").unlink()
    with (run / "journal.jsonl").open("a") as file:
        file.write("rubbish\n")
    shown = printed(sample.root, "runs", "show", "epic-1")
    assert "state.json is missing" in shown
    assert "a line that is no entry of ours" in shown


def test_two_runs_with_one_id(sample: SampleProject) -> None:
    run = small_run(sample, "paused")
    twin = sample.root / "_bmad-output/.runs/feature" / run.name
    twin.mkdir(parents=True)
    state_of(twin, RunStatus.PAUSED, 1.0)
    said = refused(sample.root, "runs", "show", run.name)
    assert f"2 runs are called {run.name}" in said
    assert f"feature/{run.name}" in said
    assert "session feature" in printed(sample.root, "runs", "show", f"feature/{run.name}")


def test_why_a_step_went_as_it_did(sample: SampleProject) -> None:
    run = story_run(sample)
    shown = run_piped("runs", "why", cwd=sample.root, TZ="UTC")
    assert shown.returncode == 0, shown.stderr
    assert_golden("runs-why", shown.stdout)
    document = parse_validated("why", printed(sample.root, "runs", "why", run.name, "dev", "--json"))
    assert [one["rule"] for one in document["decisions"]] == ["call", "of-another-version", "good"]
    assert document["decisions"][2]["when"] == {"call": ["good"]}
    said = refused(sample.root, "runs", "why", run.name, "9")
    assert "has no decision at step 9" in said
    assert "1 dev" in said
    small_run(sample, "paused")
    assert "nobody decided anything" in refused(sample.root, "runs", "why")


def test_names_that_steer_a_terminal(sample: SampleProject, tmp_path: Path) -> None:
    run = story_run(sample)
    lines = (run / "journal.jsonl").read_text().splitlines()
    entry = json.loads(lines[5])
    entry["data"]["step"] = "de\x1b[31mv\nx"
    lines[5] = json.dumps(entry)
    (run / "journal.jsonl").write_text("\n".join(lines) + "\n")
    for words in (("runs", "show"), ("runs", "why", run.name, "1")):
        assert "\x1b" not in printed(sample.root, *words)


def test_a_run_that_nobody_can_read_is_named_and_not_passed_over(sample: SampleProject) -> None:
    run = sample.root / "_bmad-output/.runs/main/epic-1-20260101-120000"
    run.mkdir(parents=True)
    (run / "state.json").write_text("{")
    (run / "journal.jsonl").write_text("")
    for words in (["runs"], ["runs", "show"], ["resume"]):
        said = refused(sample.root, *words)
        assert "no run can be read" in said
        assert run.name in said
