"""Runs that other tools have left behind, gone on with."""

import json
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.engine.run_setup import ForeignRunActive
from bmad_autopilot.runs.index import find_run
from bmad_autopilot.runs.layout import make_run, runs_folder
from bmad_autopilot.runs.state_file import RunState, RunStatus, read_state, write_state
from tests.support.lane_projects import LaneProject, Person
from tests.support.sample_projects import make_sample_project as project_of
from tests.support.terminals import run_piped


def leave(sample: LaneProject, status: str = "running", **more: Any) -> Path:
    story = next(key for key in sample.rows() if key.startswith("1-1-"))
    state = {"epicId": "epic-1", "currentStoryKey": story, "startedAt": "2026-02-27", "status": status, **more}
    path = sample.board.parent / ".run-epic-state.json"
    path.write_text(json.dumps(state))
    return path


def ask(sample: LaneProject, **more: Any) -> None:
    story = next(key for key in sample.rows() if key.startswith("1-1-"))
    question = {"id": "q1", "question": "Which store?", "context": "Both are named.", "answer": None, **more}
    state = {"storyKey": story, "phase": "create-story", "blockedAt": "step-2", "questions": [question]}
    (sample.board.parent / f"{story}.agent-state.json").write_text(
        json.dumps(state | {"lastCompletedStep": "step-1"})
    )


def first_prompt(folder: str) -> str:
    return next(Path(folder).glob("steps/01-*/attempt-1/prompt.md")).read_text()


def test_one_that_says_it_is_running_is_not_run_over(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    path = leave(sample)
    before = path.read_text()
    with pytest.raises(ForeignRunActive, match="says that it is at work on epic-1") as refused:
        sample.run("epic", "1")
    assert "bmad resume --adopt" in str(refused.value)
    assert path.read_text() == before


@pytest.mark.real
def test_a_paused_one_stops_nobody(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    leave(sample, "paused")
    assert sample.run("epic", "1").end.status == "completed"


def test_it_is_adopted_with_the_question_that_waits_there(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    path = leave(sample, lastRunSummary="half way")
    ask(sample)
    ran = sample.run("epic", "1", person=Person("SQLite, as the architecture says"), adopt=True)
    assert (ran.end.status, ran.questions) == ("completed", ["left-behind"])
    told = first_prompt(ran.end.folder)
    assert "SQLite, as the architecture says" in told
    assert "step-2" in told
    kept = json.loads((Path(ran.end.folder) / "adopted.json").read_text())
    assert kept["lastRunSummary"] == "half way"
    ours = json.loads(path.read_text())
    assert (ours["runId"], ours["status"]) == (ran.end.run_id, "paused")


@pytest.mark.real
def test_what_was_answered_there_is_told_and_not_asked_again(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    leave(sample, "paused")
    ask(sample, answer="Postgres")
    ran = sample.run("epic", "1", adopt=True)
    assert ran.questions == []
    assert "Postgres" in first_prompt(ran.end.folder)


@pytest.mark.real
def test_resume_offers_it_and_adopts_it(tmp_path: Path) -> None:
    root = project_of(tmp_path / "p", stories=1)
    story = "1-1-list-accounts"
    state = {"phase": "DEVELOP_STORIES", "current_epic": "1", "completed_epics": []}
    (root / ".autopilot").mkdir()
    (root / ".autopilot/state.json").write_text(json.dumps(state))
    offered = run_piped("resume", cwd=root)
    assert offered.returncode == 2
    assert "bmad resume --adopt" in offered.stderr
    done = run_piped("resume", "--adopt", cwd=root)
    assert done.returncode == 0
    assert f"Story {story}" in done.stdout


@pytest.mark.real
def test_a_run_of_ours_that_was_cut_short_is_said_and_paused(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    runs = runs_folder(str(sample.root))
    folder = make_run(runs, "main", "epic-7", 1_800_000_000.0)
    write_state(folder, RunState("epic-7", started_at=1.0, last_checkpoint=1.0, status=RunStatus.RUNNING))
    ran = sample.run("epic", "1")
    assert any("was cut short, and is paused now" in str(data.get("text")) for data in ran.entries("notice"))
    state = read_state(folder)
    assert state is not None
    assert state.status is RunStatus.PAUSED
    assert find_run(runs, "epic-7").state.status is RunStatus.PAUSED


def test_stop_sets_right_what_nobody_looks_after(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    path = leave(sample)
    done = run_piped("stop", cwd=sample.root)
    assert done.returncode == 0
    assert json.loads(path.read_text())["status"] == "paused"
    assert run_piped("stop", cwd=sample.root).returncode == 1
