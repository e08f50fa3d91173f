"""What people tell a run: at another terminal, in the settings, in advance."""

import os
import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from bmad_autopilot.core.lane_scope import LaneScope
from bmad_autopilot.engine.resume import resume_run
from bmad_autopilot.engine.runner import RunEnd, start_run
from bmad_autopilot.project.project import open_project
from bmad_autopilot.runs.index import find_run
from bmad_autopilot.runs.layout import runs_folder
from bmad_autopilot.runs.question_file import AnswerSource
from bmad_autopilot.runs.questions import questions_of, record_answer
from bmad_autopilot.runs.supervisor_lock import ControlRequest, read_request, write_request
from tests.support.lane_projects import LaneProject, Person, RecordedRun


def resume(sample: LaneProject, *, person: Person | None = None, **options: Any) -> RecordedRun:
    log: list[tuple[str, Mapping[str, Any]]] = []
    project = open_project(str(sample.root))
    run = find_run(runs_folder(str(sample.root)), None)
    end = resume_run(
        project, run, on_event=lambda kind, data, at: log.append((kind, data)), human=person, **options
    )
    return RecordedRun(end, log)


def set_up(sample: LaneProject, *lines: str) -> None:
    """Further settings, committed: what counts is what the base branch has."""
    path = sample.root / "bmad-autopilot.toml"
    path.write_text("\n".join([*(line for line in lines if not line.startswith("[")), path.read_text()]))
    tables = [line for line in lines if line.startswith("[")]
    if tables:
        path.write_text(path.read_text() + "\n" + "\n".join(tables) + "\n")
    sample.git("commit", "--quiet", "--all", "--message", "Settings")


def told_at(sample: LaneProject, kind: str, ask: ControlRequest) -> tuple[RunEnd, list[str]]:
    """Somebody asks for it while this entry is written."""
    kinds: list[str] = []

    def told(found: str, data: Mapping[str, Any], at: float) -> None:
        kinds.append(found)
        if found == kind and kinds.count(kind) == 1:
            run = find_run(runs_folder(str(sample.root)), None)
            threading.Thread(target=write_request, args=(run.folder, ask)).start()

    end = start_run(open_project(str(sample.root)), LaneScope.EPIC, "1", on_event=told)
    return end, kinds


# from another terminal


@pytest.mark.real
def test_a_pause_lets_the_call_end_and_makes_no_other(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", seconds=0.5)
    end, kinds = told_at(sample, "call", ControlRequest.PAUSE)
    assert (end.status, end.exit_code) == ("paused", 3)
    assert kinds.count("call") == kinds.count("accepted") == 1
    assert read_request(end.folder) is ControlRequest.PAUSE
    again = resume(sample)
    assert (again.end.status, read_request(end.folder)) == ("completed", None)
    assert [call["step"] for call in again.entries("call")] == ["dev", "code-review"]


@pytest.mark.real
def test_a_stop_leaves_the_agent_at_work_and_it_is_adopted(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", seconds=1.0)
    end, kinds = told_at(sample, "call", ControlRequest.STOP)
    assert (end.status, end.exit_code, kinds.count("ended")) == ("left", 130, 0)
    again = resume(sample)
    assert again.end.status == "completed"
    assert [call["step"] for call in again.entries("call")] == ["dev", "code-review"]


def test_a_stop_now_ends_the_agent_too(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", seconds=60.0)
    end, _ = told_at(sample, "call", ControlRequest.STOP_NOW)
    assert end.status == "left"
    attempt = Path(end.folder) / "steps" / "01-create-story" / "attempt-1"
    assert (attempt / "result.json").exists()


# in the settings


@pytest.mark.parametrize(
    ("stage", "asked"),
    [
        ("before_dev", ["before_dev", "before_dev"]),
        pytest.param("after_each_story", ["after_each_story"], marks=pytest.mark.real),
        pytest.param("after_each_epic", ["after_each_epic"], marks=pytest.mark.real),
    ],
)
def test_a_human_checkpoint_is_asked_about_and_let_pass_once(tmp_path: Path, stage: str, asked: list[str]) -> None:
    sample = LaneProject(tmp_path / "p", stories=2)
    set_up(sample, f'human_checkpoint = "{stage}"')
    ran = sample.run("epic", "1", person=Person(*["continue"] * len(asked)))
    assert ran.end.status == "completed"
    assert [entry.get("stage") for entry in ran.entries("asked")] == asked


def test_a_human_checkpoint_where_nobody_is_there_waits(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p")
    set_up(sample, 'human_checkpoint = "before_dev"')
    ran = sample.run("epic", "1")
    assert (ran.end.status, ran.end.exit_code) == ("waiting", 3)
    assert [call["step"] for call in ran.entries("call")] == ["create-story"]
    ((path, _),) = questions_of(ran.end.folder)[0]
    record_answer(path, "continue", AnswerSource.HUMAN)
    assert resume(sample).end.status == "completed"


def test_a_choice_for_a_cause_is_made_a_few_times_and_then_left_to_a_person(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "no-change")
    ran = sample.run("epic", "1", unattended={"liar": "retry"})
    assert ran.end.status == "waiting"
    assert [one["by"] for one in ran.entries("answered")] == ["policy", "policy"]
    assert ran.questions == ["failed"] * 3


@pytest.mark.real
def test_a_story_that_is_skipped_by_choice_holds_nobody_up(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "no-change", stories=2)
    ran = sample.run("epic", "1", unattended={"all": "skip", "left-out": "leave"})
    assert ran.end.status == "completed"
    assert [sample.row("1-1"), sample.row("1-2")] == ["blocked", "blocked"]


@pytest.mark.real
def test_a_choice_is_none_where_somebody_is_there(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "no-change")
    person = Person("abort")
    ran = sample.run("epic", "1", person=person, unattended={"liar": "skip"})
    assert (ran.end.status, len(person.asked)) == ("failed", 1)


@pytest.mark.real
def test_a_standing_answer_is_given_at_once_and_recorded_as_such(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", "asking")
    asked = sample.run("epic", "1").entries("asked")[0]
    other = LaneProject(tmp_path / "q", "asking")
    pattern = re.escape(str(asked["text"]).split()[0])
    reply = (asked["options"] or ["The first one, as the architecture says."])[0]
    set_up(other, f"[[standing_answers]]\nquestion = '{pattern}'\nanswer = '{reply}'")
    ran = other.run("epic", "1")
    assert ran.end.status == "completed"
    assert {one["by"] for one in ran.entries("answered")} == {"standing"}


# a run that is gone on with under other settings


def test_changed_settings_are_said_and_asked_about(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", seconds=0.3)
    told_at(sample, "call", ControlRequest.PAUSE)
    set_up(sample, "story_timeout = 11", "max_review_rounds = 1")
    waits = resume(sample)
    assert (waits.end.status, waits.questions) == ("waiting", ["settings"])
    context = waits.entries("asked")[0]["context"]
    assert "story_timeout: 30 → 11" in context
    assert "max_review_rounds: 3 → 1" in context
    person = Person("new")
    again = resume(sample, person=person)
    assert (again.end.status, again.end.record.keeps_initial_settings) == ("completed", False)


@pytest.mark.real
def test_the_settings_of_its_beginning_can_be_kept(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", seconds=0.3)
    end, _ = told_at(sample, "call", ControlRequest.PAUSE)
    before = (sample.root / "bmad-autopilot.toml").read_text()
    (sample.root / "bmad-autopilot.toml").write_text(
        re.sub(r"(?s)\[agents.*", "", before).replace("scripted", "claude")
    )
    sample.git("commit", "--quiet", "--all", "--message", "Another agent")
    again = resume(sample, person=Person("old"))
    assert again.end.status == "completed"
    assert {os.path.basename(end.folder)} == {again.end.run_id}


@pytest.mark.real
def test_settings_that_only_look_different_are_the_same(tmp_path: Path) -> None:
    sample = LaneProject(tmp_path / "p", seconds=0.3)
    told_at(sample, "call", ControlRequest.PAUSE)
    set_up(sample, "# a remark", "story_timeout = 30")
    assert resume(sample).questions == []
